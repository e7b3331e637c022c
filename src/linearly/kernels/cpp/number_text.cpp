// See number_text.hpp. The numbers themselves are read by the standard library, which rounds correctly.
#include "number_text.hpp"

#include <charconv>
#include <cstring>

namespace linearly {

Lines count_rows(const char* text, std::int64_t length) {
    Lines found;
    found.quoted = length > 0 && std::memchr(text, '"', std::size_t(length)) != nullptr;
    const char* end = text + length;
    for (const char* at = text; at < end;) {
        const void* hit = std::memchr(at, '\n', std::size_t(end - at));
        const char* stop = hit ? static_cast<const char*>(hit) : end;
        found.rows += stop - at > 1 || (stop - at == 1 && *at != '\r');
        found.ends += hit != nullptr;
        at = stop + 1;
    }
    return found;
}

#if defined(__cpp_lib_to_chars)
namespace {

// The end of the number that begins at `at`, or null: what a sign, digits, a point and an exponent make, nothing else.
template <class T>
inline const char* read(const char* at, const char* end, T& value) {
    const char* first = at < end && *at == '-' ? at + 1 : at;
    if (first == end || !((*first >= '0' && *first <= '9') || *first == '.')) return nullptr;
    const auto [after, problem] = std::from_chars(at, end, value);
    return problem == std::errc() ? after : nullptr;
}

inline const char* skip(const char* at, const char* end, char delimiter) {
    while (at < end && *at != delimiter && *at != '\n' && *at != '\r') {
        if (*at == '"') return nullptr;
        ++at;
    }
    return at;
}

}  // namespace

std::int64_t read_numbers(const char* text, std::int64_t length, char delimiter, const Field* fields,
                          std::int64_t columns, std::int64_t rows, double* numbers, std::int64_t* wholes) {
    const char *at = text, *end = text + length;
    std::int64_t row = 0;
    for (; at < end; ++row) {
        if (row == rows || *at == '\n' || *at == '\r') return -1;
        double* number = numbers + row;
        std::int64_t* whole = wholes + row;
        for (std::int64_t j = 0; j < columns; ++j) {
            if (fields[j] == Field::number) {
                at = read(at, end, *number);
                number += rows;
            } else if (fields[j] == Field::whole) {
                at = read(at, end, *whole);
                whole += rows;
            } else
                at = skip(at, end, delimiter);
            if (!at) return -1;
            if (j + 1 < columns) {
                if (at == end || *at != delimiter) return -1;
                ++at;
            }
        }
        if (at + 1 < end && *at == '\r') ++at;
        if (at < end && *at++ != '\n') return -1;
    }
    return row;
}
#else
std::int64_t read_numbers(const char*, std::int64_t, char, const Field*, std::int64_t, std::int64_t, double*,
                          std::int64_t*) {
    return -1;
}
#endif
}  // namespace linearly
