// Sums by the levels of categories, whose columns of 0 and 1 are never formed.
#pragma once
#include <cstdint>

namespace linearly {

// Categories of the same rows. The codes of category c are −1 … width − 1; code k has row starts[c] + 1 + k of a table.
struct Categories {
    const std::int32_t* const* codes;
    const std::int64_t* starts;
    std::int64_t count, size;  // categories, and rows of the table
};

// sums (size × (1 + 2q)) += Σ w [1 | z | z²] by code, for q columns z = (x − shift) · scale of float64.
// pairs (size × size) += Σ w by the codes of two categories, below the diagonal: the later category gives the row.
void code_tables(const double* const* columns, std::int64_t q, std::int64_t rows, const double* weight,
                 const double* shift, const double* scale, const Categories& categories, double* sums, double* pairs);

}  // namespace linearly
