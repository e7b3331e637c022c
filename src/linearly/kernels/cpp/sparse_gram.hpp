// Cross-products of sparse rows.
#pragma once
#include <cstdint>

namespace linearly {

// Rows of a CSR matrix with p columns, the columns of a row in increasing order; indices are 32 or 64 bits.
struct SparseRows {
    std::int64_t rows, p, entries;
    const void *offsets, *indices;
    bool wide;  // 64-bit indices
    const double* values;
};

// G (p × p) += Z'WZ and C (p × d) += Z'WD for z = x · scale and dense columns D (rows × d), each sum in the order of
// the rows. Returns false, with G and C in any state, if an offset or an index is out of range.
bool sparse_gram(const SparseRows& X, const double* weight, const double* scale, const double* D, std::int64_t d,
                 double* G, double* C);

}  // namespace linearly
