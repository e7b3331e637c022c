// Numbers in text: pieces of CSV files in which every field that is wanted is a plain number.
#pragma once
#include <cstdint>

namespace linearly {

struct Lines {
    std::int64_t rows = 0, ends = 0;  // lines that are not blank, and line ends
    bool quoted = false;              // whether there is a quote: a line end inside quotes ends no row
};
Lines count_rows(const char* text, std::int64_t length);

enum class Field : std::int8_t { skipped = 0, number = 1, whole = 2 };  // what a column of the text is read as

// Reads rows of `columns` fields. Numbers go to the columns of `numbers`, whole numbers to those of `wholes`, both
// `rows` long, one column after another. Returns how many rows there were, or −1 at the first thing that is not plain:
// a quote, an empty or missing field, a blank line, a word, a number that does not fit, a row too many. Where the
// standard library cannot read numbers (libc++ before 20), that is at once.
std::int64_t read_numbers(const char* text, std::int64_t length, char delimiter, const Field* fields,
                          std::int64_t columns, std::int64_t rows, double* numbers, std::int64_t* wholes);

}  // namespace linearly
