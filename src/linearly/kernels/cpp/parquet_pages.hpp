// Pages of Parquet files: columns of float64 without missing values, as most writers leave them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace linearly {

// Bytes that are read again and again into the same place, which grows where it must.
class Room {
  public:
    std::uint8_t* of(std::size_t size);
    std::uint8_t* data() const { return bytes_.get(); }
    std::size_t size() const { return size_; }

  private:
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t size_ = 0;
};

// A column of a row group as the footer of its file has it; −1 where it does not say.
struct ColumnChunk {
    std::int64_t type = -1, codec = -1;       // in Parquet's numbers
    std::int64_t values = -1, length = -1;    // how many numbers, how many bytes
    std::int64_t data = -1, dictionary = -1;  // where its pages begin
    std::int64_t apart = 0;                   // 1 if it lies in another file, or is encrypted
};

// The columns of all row groups, one group after another; none where the footer is damaged.
std::vector<ColumnChunk> columns_of(const std::uint8_t* footer, std::int64_t length);

// Columns of row groups, one after another, each read from an open file from its first page on. What is not plain — a
// missing value, an encoding other than PLAIN and dictionaries, a size that does not fit, damage of any kind — ends the
// reading; another reader says what it is. The memory that a column took serves the next.
class Pages {
  public:
    void open(int file, std::int64_t offset, std::int64_t length, std::int64_t rows, bool optional, bool snappy);

    // The next `count` numbers; false where there are no more that are plain.
    bool read(double* out, std::int64_t count);

  private:
    int file_ = -1;
    std::int64_t offset_ = 0, left_ = 0,
                 rows_ = 0;  // where the file is read next; bytes and rows that are still to come
    bool optional_ = false, snappy_ = false;
    Room stored_, page_, dictionary_;
    std::size_t first_ = 0, filled_ = 0;  // of the bytes that are stored
    std::int64_t entries_ = -1;           // of the dictionary; −1 if there is none

    // The values of the current page that are still to come: numbers as they are, or a run of numbers of the
    // dictionary.
    const std::uint8_t *values_ = nullptr, *end_ = nullptr;
    std::int64_t coming_ = 0, run_ = 0;
    std::int64_t placed_ = 0;  // numbers of a page that stand where they are wanted already
    bool coded_ = false, packed_ = false;
    int width_ = 0;               // bits of a packed number
    std::int64_t at_ = 0;         // bits of the run that were read
    std::uint64_t repeated_ = 0;  // the number of a run of equal ones

    const std::uint8_t* stored(std::size_t size);
    bool next_page(double* out, std::int64_t wanted, std::size_t before);
    bool all_there(const std::uint8_t* front, std::size_t size, std::int64_t values) const;
    bool place(const std::uint8_t* packed, std::size_t length, std::int64_t values, std::size_t front, double* out);
    bool begin(const std::uint8_t* values, const std::uint8_t* end, std::int64_t count, std::int64_t encoding);
    bool begin_run();
    bool copy_coded(double* out, std::int64_t count);
};

}  // namespace linearly
