// See parquet_pages.hpp. Formats: Apache Parquet, Thrift's compact protocol for the headers of pages, and Snappy.
#include "parquet_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#if defined(_WIN32) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#define LINEARLY_READS_PAGES 0
#else
#define LINEARLY_READS_PAGES 1
#include <unistd.h>
#endif

namespace linearly {

std::uint8_t* Room::of(std::size_t size) {
    if (size > size_) {
        bytes_.reset(new std::uint8_t[size]);
        size_ = size;
    }
    return bytes_.get();
}

void Pages::open(int file, std::int64_t offset, std::int64_t length, std::int64_t rows, bool optional, bool snappy) {
    file_ = file, offset_ = offset, left_ = length, rows_ = rows, optional_ = optional, snappy_ = snappy;
    first_ = filled_ = 0, entries_ = -1, coming_ = run_ = placed_ = 0;
}

#if LINEARLY_READS_PAGES
namespace {

constexpr std::size_t AT_ONCE = 1 << 18;         // bytes read from the file at a time: they stay in L2
constexpr std::size_t LONGEST_HEADER = 1 << 14;  // of a page: its statistics are of a few numbers
constexpr std::int64_t LARGEST_PAGE = 1 << 26;
constexpr std::int64_t TOGETHER = 256;  // packed numbers that are unpacked at a time
constexpr std::size_t MOST_FRONT = 64;  // bytes in front of the values of a page that are unpacked in place
constexpr std::size_t SLACK = 8;        // bytes behind a page that may be read, and are not used

enum Encoding : std::int64_t { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };
enum PageKind : std::int64_t { DATA = 0, INDEX = 1, DICTIONARY = 2, DATA_V2 = 3 };

// A reader of bytes. `sound` becomes false at a read beyond the end or of an unexpected value, and stays so.
struct Reader {
    const std::uint8_t *at, *end;
    bool sound = true;

    std::uint8_t byte() {
        if (at < end) return *at++;
        sound = false;
        return 0;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint8_t one = byte();
            value |= std::uint64_t(one & 127) << shift;
            if (one < 128) return value;
        }
        sound = false;
        return 0;
    }
    std::int64_t number() {
        const std::uint64_t value = varint();
        return std::int64_t(value >> 1) ^ -std::int64_t(value & 1);
    }
    void pass(std::uint64_t bytes) {
        sound = sound && bytes <= std::uint64_t(end - at);
        if (sound) at += bytes;
    }
};

// Thrift's kinds of fields, as far as headers of pages have them.
enum Kind : int {
    YES = 1,
    NO = 2,
    BYTE = 3,
    I16 = 4,
    I32 = 5,
    I64 = 6,
    DOUBLE = 7,
    BINARY = 8,
    LIST = 9,
    SET = 10,
    MAP = 11,
    STRUCT = 12
};

// What a list that begins here is of, and how long it is.
std::pair<int, std::uint64_t> list_of(Reader& r) {
    const std::uint8_t head = r.byte();
    const std::uint64_t size = head >> 4;
    return {head & 15, size == 15 ? r.varint() : size};
}

// Calls use(field, kind) for each field of a struct; `use` says whether it has read the field, which is passed over if
// not.
template <class Use>
void each_field(Reader& r, int depth, Use use);

void pass_over(Reader& r, int kind, int depth) {
    if (depth > 16) r.sound = false;
    if (!r.sound) return;
    switch (kind) {
        case YES:
        case NO:
            return;
        case BYTE:
            return r.pass(1);
        case I16:
        case I32:
        case I64:
            r.varint();
            return;
        case DOUBLE:
            return r.pass(8);
        case BINARY:
            return r.pass(r.varint());
        case STRUCT:
            return each_field(r, depth + 1, [](std::int64_t, int) { return false; });
        case LIST:
        case SET: {
            auto [of, size] = list_of(r);
            for (; size > 0 && r.sound; --size) of == YES || of == NO ? r.pass(1) : pass_over(r, of, depth + 1);
            return;
        }
        default:
            r.sound = false;
    }
}

template <class Use>
void each_field(Reader& r, int depth, Use use) {
    std::int64_t field = 0;
    while (r.sound) {
        const std::uint8_t head = r.byte();
        if (head == 0) return;
        field = head >> 4 ? field + (head >> 4) : r.number();
        if (field < 0 || field > INT16_MAX) r.sound = false;
        if (r.sound && !use(field, head & 15)) pass_over(r, head & 15, depth);
    }
}

// Calls use() for each struct of a list, which must be a list of structs.
template <class Use>
void each_struct(Reader& r, Use use) {
    auto [of, size] = list_of(r);
    if (of != STRUCT) r.sound = r.sound && size == 0;
    for (; size > 0 && r.sound; --size) use();
}

// The fields of a page header; −1 for those it does not state.
struct Header {
    std::int64_t kind = -1, unpacked = -1, packed = -1, part = -1;       // the last is the field that says the rest
    std::int64_t values = -1, encoding = -1, levels = -1, repeats = -1;  // of all pages but an index
    std::int64_t nulls = -1, rows = -1, levels_size = -1, repeats_size = -1;  // of a page of version 2
    bool compressed = true;

    // Whether it says all that a page of its kind has to say, of a flat column in which nothing is missing.
    bool plain() const {
        const bool sizes = values >= 0 && encoding >= 0;
        if (kind == DICTIONARY) return part == 7 && sizes;
        if (kind == DATA) return part == 5 && sizes && levels >= 0 && repeats >= 0;
        return kind == DATA_V2 && part == 8 && sizes && nulls == 0 && rows == values && repeats_size == 0 &&
               levels_size >= 0 && levels_size <= std::min(packed, unpacked);
    }
};

// Numbers of a struct: of field i to *to[i − 1]; other fields are passed over.
template <std::size_t N>
void numbers_of(Reader& r, std::int64_t* const (&to)[N], bool* flag = nullptr, std::int64_t flag_field = 0) {
    each_field(r, 1, [&](std::int64_t field, int kind) {
        if (flag && field == flag_field && (kind == YES || kind == NO)) return *flag = kind == YES, true;
        if (field < 1 || field > std::int64_t(N) || kind != I32) return false;
        *to[field - 1] = r.number();
        return true;
    });
}

bool header_of(Reader& r, Header& h) {
    each_field(r, 0, [&](std::int64_t field, int kind) {
        if (kind == I32 && field <= 3)
            return (field == 1 ? h.kind : field == 2 ? h.unpacked : h.packed) = r.number(), true;
        if (kind != STRUCT) return false;
        h.part = field;
        if (field == 5) return numbers_of(r, {&h.values, &h.encoding, &h.levels, &h.repeats}), true;
        if (field == 7) return numbers_of(r, {&h.values, &h.encoding}), true;
        if (field == 8)
            return numbers_of(r, {&h.values, &h.nulls, &h.rows, &h.encoding, &h.levels_size, &h.repeats_size},
                              &h.compressed, 7),
                   true;
        return false;
    });
    return r.sound && h.packed >= 0 && h.unpacked >= 0 && h.packed <= LARGEST_PAGE && h.unpacked <= LARGEST_PAGE;
}

// `size` bytes from a Snappy block that says it has so many.
bool unsnap(const std::uint8_t* from, std::size_t length, std::uint8_t* out, std::size_t size) {
    Reader r{from, from + length};
    if (r.varint() != size) return false;
    std::uint8_t *to = out, *const stop = out + size;
    while (r.sound && r.at < r.end) {
        const std::uint8_t tag = *r.at++;
        std::size_t count = tag >> 2, back = 0;
        if ((tag & 3) == 0) {
            const std::size_t more = count < 60 ? 0 : count - 59;  // bytes that say how many
            if (more) count = 0;
            for (std::size_t i = 0; i < more; ++i) count |= std::size_t(r.byte()) << (8 * i);
            ++count;
            if (!r.sound || count > std::size_t(r.end - r.at) || count > std::size_t(stop - to)) return false;
            std::memcpy(to, r.at, count);
            r.at += count, to += count;
            continue;
        }
        if ((tag & 3) == 1) {
            count = 4 + (count & 7);
            back = std::size_t(tag >> 5) << 8 | r.byte();
        } else {
            ++count;
            for (int i = 0; i < ((tag & 3) == 2 ? 2 : 4); ++i) back |= std::size_t(r.byte()) << (8 * i);
        }
        if (!r.sound || back == 0 || back > std::size_t(to - out) || count > std::size_t(stop - to)) return false;
        if (back >= count)
            std::memcpy(to, to - back, count), to += count;
        else
            for (; count > 0; --count, ++to) *to = *(to - back);
    }
    return r.sound && to == stop;
}

// Whether levels of one bit, in runs, are 1 for all of `count` rows: none is missing.
bool all_present(const std::uint8_t* from, const std::uint8_t* end, std::int64_t count) {
    Reader r{from, end};
    while (count > 0 && r.sound) {
        const std::uint64_t head = r.varint();
        if (!(head & 1)) {
            const std::int64_t run = std::int64_t(std::min<std::uint64_t>(head >> 1, std::uint64_t(count)));
            if (run == 0 || r.byte() != 1) return false;
            count -= run;
            continue;
        }
        if (head < 2 || head >> 1 > std::uint64_t(r.end - r.at)) return false;
        for (std::uint64_t i = 0; i < head >> 1 && count > 0; ++i, count -= 8) {
            const int wanted = count >= 8 ? 255 : (1 << count) - 1;
            if ((r.byte() & wanted) != wanted) return false;
        }
    }
    return r.sound;
}

inline std::uint64_t word_at(const std::uint8_t* at, const std::uint8_t* end) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, std::min<std::size_t>(8, std::size_t(end - at)));
    return word;
}

// `count` numbers of `width` bits, the first of them `first` bits after `from`. They lie before `end`.
void unpack(const std::uint8_t* from, const std::uint8_t* end, std::int64_t first, int width, std::int64_t count,
            std::uint32_t* to) {
    const std::uint32_t mask = std::uint32_t((std::uint64_t(1) << width) - 1);
    if (end - from < (first + count * width) / 8 + 8) {
        for (std::int64_t i = 0, bit = first; i < count; ++i, bit += width)
            to[i] =
                std::uint32_t(word_at(from + std::min<std::int64_t>(bit >> 3, end - from), end) >> (bit & 7)) & mask;
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t bit = first + i * width;
        std::uint64_t word;
        std::memcpy(&word, from + (bit >> 3), 8);
        to[i] = std::uint32_t(word >> (bit & 7)) & mask;
    }
}

// Whether any of the numbers, all below 2³¹, is larger than the last. A difference's sign costs less than a maximum.
bool beyond(const std::uint32_t* numbers, std::int64_t count, std::uint32_t last) {
    std::uint32_t signs = 0;
    for (std::int64_t i = 0; i < count; ++i) signs |= last - numbers[i];
    return signs >> 31;
}

}  // namespace

std::vector<ColumnChunk> columns_of(const std::uint8_t* footer, std::int64_t length) {
    std::vector<ColumnChunk> found;
    Reader r{footer, footer + length};
    const auto number = [&](std::int64_t field, int kind) {
        ColumnChunk& here = found.back();
        std::int64_t* const to[] = {&here.type,   nullptr, nullptr,    &here.codec, &here.values,    nullptr,
                                    &here.length, nullptr, &here.data, nullptr,     &here.dictionary};
        if (field < 1 || field > 11 || !to[field - 1] || kind != (field < 5 ? I32 : I64)) return false;
        *to[field - 1] = r.number();
        return true;
    };
    const auto chunk = [&](std::int64_t field, int kind) {
        if (field == 1 || field == 8 || field == 9) found.back().apart = 1;
        if (field != 3 || kind != STRUCT) return false;
        return each_field(r, 3, number), true;
    };
    const auto group = [&](std::int64_t field, int kind) {
        if (field != 1 || kind != LIST) return false;
        return each_struct(r, [&] { found.emplace_back(), each_field(r, 2, chunk); }), true;
    };
    each_field(r, 0, [&](std::int64_t field, int kind) {
        if (field != 4 || kind != LIST) return false;
        return each_struct(r, [&] { each_field(r, 1, group); }), true;
    });
    return r.sound ? found : std::vector<ColumnChunk>();
}

// At least `size` of the bytes to come, or null where there are not so many.
const std::uint8_t* Pages::stored(std::size_t size) {
    const std::size_t kept = filled_ - first_, room = std::max(size, AT_ONCE);
    if (kept >= size) return stored_.data() + first_;
    if (std::int64_t(size - kept) > left_) return nullptr;
    if (first_ + room > stored_.size()) {
        Room larger;
        std::uint8_t* front = room > stored_.size() ? larger.of(room) : stored_.data();
        if (kept) std::memmove(front, stored_.data() + first_, kept);
        if (larger.size()) std::swap(stored_, larger);
        first_ = 0, filled_ = kept;
    }
    while (filled_ - first_ < size) {
        const std::size_t more = std::min(std::size_t(left_), first_ + room - filled_);
        const ssize_t got = ::pread(file_, stored_.data() + filled_, more, off_t(offset_));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return nullptr;
        filled_ += std::size_t(got), offset_ += got, left_ -= got;
    }
    return stored_.data() + first_;
}

// Whether what stands in front of the values of a page of version 1 says that all are there: nothing, or levels and
// their size.
bool Pages::all_there(const std::uint8_t* front, std::size_t size, std::int64_t values) const {
    if (!optional_) return size == 0;
    std::uint32_t levels = 0;
    if (size >= 4) std::memcpy(&levels, front, 4);
    return size >= 4 && levels == size - 4 && all_present(front + 4, front + size, values);
}

// Unpacks a page of numbers as they are to where they are wanted. What stands in front of them takes the place of
// numbers that came before, which are put back.
bool Pages::place(const std::uint8_t* packed, std::size_t length, std::int64_t values, std::size_t front, double* out) {
    std::uint8_t before[MOST_FRONT], *to = reinterpret_cast<std::uint8_t*>(out) - front;
    std::memcpy(before, to, front);
    const bool sound = unsnap(packed, length, to, front + std::size_t(values) * 8) && all_there(to, front, values);
    std::memcpy(to, before, front);
    placed_ = sound ? values : 0;
    return sound;
}

bool Pages::next_page(double* out, std::int64_t wanted, std::size_t before) {
    const std::size_t known =
        std::size_t(std::min<std::int64_t>(std::int64_t(LONGEST_HEADER), left_ + std::int64_t(filled_ - first_)));
    const std::uint8_t* from = known ? stored(known) : nullptr;
    if (!from) return false;
    Reader r{from, from + known};
    Header h;
    if (!header_of(r, h)) return false;
    first_ += std::size_t(r.at - from);
    const std::uint8_t* bytes = stored(std::size_t(h.packed));
    if (!bytes) return false;
    first_ += std::size_t(h.packed);
    if (h.kind == INDEX) return true;
    if (!h.plain()) return false;
    const std::int64_t plain = h.kind == DATA_V2 ? h.levels_size : 0;  // bytes in front that are never compressed
    if (h.kind == DATA_V2 && (optional_ ? !all_present(bytes, bytes + plain, h.values) : plain > 0)) return false;
    const std::uint8_t* end = bytes + h.packed;
    bytes += plain;
    const std::size_t size = std::size_t(h.unpacked - plain);
    const std::size_t front = size - std::min(size, std::size_t(h.values) * 8);
    if (snappy_ && h.kind == DATA && h.encoding == PLAIN && h.values > 0 && h.values <= std::min(wanted, rows_) &&
        size >= std::size_t(h.values) * 8 && front <= std::min(before, MOST_FRONT) && (!optional_ || h.levels == RLE))
        return place(bytes, std::size_t(end - bytes), h.values, front, out);
    if (snappy_ && h.compressed) {
        std::uint8_t* to = (h.kind == DICTIONARY ? dictionary_ : page_).of(size + SLACK);
        if (!unsnap(bytes, std::size_t(end - bytes), to, size)) return false;
        bytes = to, end = to + size;
    } else if (std::size_t(end - bytes) != size)
        return false;
    if (h.kind == DICTIONARY) {
        if (entries_ >= 0 || (h.encoding != PLAIN && h.encoding != PLAIN_DICTIONARY) || h.values > (end - bytes) / 8)
            return false;
        if (bytes != dictionary_.data()) std::memcpy(dictionary_.of(size + SLACK), bytes, size);
        entries_ = h.values;
        return true;
    }
    if (h.kind == DATA && optional_) {
        if (h.levels != RLE || end - bytes < 4) return false;
        std::uint32_t levels;
        std::memcpy(&levels, bytes, 4);
        if (levels > end - bytes - 4 || !all_present(bytes + 4, bytes + 4 + levels, h.values)) return false;
        bytes += 4 + levels;
    }
    return begin(bytes, end, h.values, h.encoding);
}

bool Pages::begin(const std::uint8_t* values, const std::uint8_t* end, std::int64_t count, std::int64_t encoding) {
    values_ = values, end_ = end, coming_ = count, run_ = 0;
    coded_ = encoding == PLAIN_DICTIONARY || encoding == RLE_DICTIONARY;
    if (count > rows_) return false;
    if (!coded_) return encoding == PLAIN && count <= (end - values) / 8;
    if (entries_ < 1 || (count > 0 && values == end)) return count == 0;
    width_ = count > 0 ? *values_++ : 0;
    return width_ < 32;
}

bool Pages::begin_run() {
    Reader r{values_, end_};
    const std::uint64_t head = r.varint();
    if (!r.sound || head < 2) return false;
    packed_ = head & 1;
    const std::uint64_t size = packed_ ? (head >> 1) * std::uint64_t(width_) : std::uint64_t((width_ + 7) / 8);
    if (head >> 1 > std::uint64_t(LARGEST_PAGE) * 8 || size > std::uint64_t(end_ - r.at)) return false;
    run_ = std::int64_t(head >> 1) * (packed_ ? 8 : 1), at_ = 0;
    repeated_ = packed_ ? 0 : word_at(r.at, r.at + size);
    values_ = r.at + (packed_ ? 0 : size);
    return packed_ || repeated_ < std::uint64_t(entries_);
}

bool Pages::copy_coded(double* out, std::int64_t count) {
    const std::uint8_t* entries = dictionary_.data();
    while (count > 0) {
        if (run_ == 0 && !begin_run()) return false;
        const std::int64_t some = std::min({run_, count, TOGETHER});
        if (!packed_) {
            double value;
            std::memcpy(&value, entries + 8 * repeated_, 8);
            std::fill_n(out, some, value);
        } else {
            std::uint32_t entry[TOGETHER];
            unpack(values_, end_, at_, width_, some, entry);
            if (beyond(entry, some, std::uint32_t(entries_) - 1)) return false;
            for (std::int64_t i = 0; i < some; ++i) std::memcpy(out + i, entries + 8 * std::size_t(entry[i]), 8);
            at_ += some * width_;
        }
        out += some, count -= some, run_ -= some;
        if (packed_ && run_ == 0) values_ += at_ / 8;
    }
    return true;
}

bool Pages::read(double* out, std::int64_t count) {
    const double* start = out;
    while (count > 0) {
        while (coming_ == 0 && placed_ == 0)
            if (!next_page(out, count, std::size_t(out - start) * 8)) return false;
        const std::int64_t some = placed_ > 0 ? placed_ : std::min(coming_, count);
        if (placed_ > 0) {
            placed_ = 0, coming_ = some;
        } else if (coded_) {
            if (!copy_coded(out, some)) return false;
        } else {
            std::memcpy(out, values_, std::size_t(some) * 8);
            values_ += some * 8;
        }
        out += some, count -= some, coming_ -= some, rows_ -= some;
    }
    return true;
}

#else  // no pread, or numbers that lie the other way round

std::vector<ColumnChunk> columns_of(const std::uint8_t*, std::int64_t) { return {}; }
const std::uint8_t* Pages::stored(std::size_t) { return nullptr; }
bool Pages::all_there(const std::uint8_t*, std::size_t, std::int64_t) const { return false; }
bool Pages::place(const std::uint8_t*, std::size_t, std::int64_t, std::size_t, double*) { return false; }
bool Pages::next_page(double*, std::int64_t, std::size_t) { return false; }
bool Pages::begin(const std::uint8_t*, const std::uint8_t*, std::int64_t, std::int64_t) { return false; }
bool Pages::begin_run() { return false; }
bool Pages::copy_coded(double*, std::int64_t) { return false; }
bool Pages::read(double*, std::int64_t) { return false; }

#endif

}  // namespace linearly
