// Compiled without fused products: the sums are those of SciPy's sparse products, bit by bit.
#include "sparse_gram.hpp"

#include <algorithm>
#include <vector>

namespace linearly {
namespace {

constexpr std::int64_t SQUARE = 32;  // rows and columns mirrored at a time, so that both stay in the cache
constexpr std::int64_t DENSE = 8;    // a row with more than 1 / DENSE of its entries is multiplied as a dense one

template <class I>
bool add_rows(const SparseRows& X, const double* weight, const double* scale, const double* D, std::int64_t d,
              double* G, double* C) {
    const I *offsets = static_cast<const I*>(X.offsets), *indices = static_cast<const I*>(X.indices);
    const std::int64_t p = X.p;
    std::vector<double> row(static_cast<std::size_t>(p)), scaled;
    double* z = row.data();
    for (std::int64_t r = 0; r < X.rows; ++r) {
        const std::int64_t first = offsets[r], last = offsets[r + 1];
        if (first < 0 || last < first || last > X.entries) return false;
        const bool dense = (last - first) * DENSE > p;
        scaled.resize(static_cast<std::size_t>(last - first));
        const I* at = indices + first;
        double* v = scaled.data();
        for (std::int64_t e = 0; e < last - first; ++e) {
            const std::int64_t j = at[e];
            if (j < 0 || j >= p) return false;
            v[e] = X.values[first + e] * scale[j];
            if (dense) z[j] = v[e];
        }
        for (std::int64_t e = 0; e < last - first; ++e) {
            const std::int64_t i = at[e];
            const double own = weight ? v[e] * weight[r] : v[e];
            double *sums = G + i * p, *beside = C + i * d;
            if (dense)
                for (std::int64_t j = weight ? 0 : i; j < p; ++j) sums[j] += own * z[j];
            else
                for (std::int64_t f = weight ? 0 : e; f < last - first; ++f) sums[at[f]] += own * v[f];
            for (std::int64_t t = 0; t < d; ++t) beside[t] += own * D[r * d + t];
        }
        if (dense)
            for (std::int64_t e = 0; e < last - first; ++e) z[at[e]] = 0.0;
    }
    if (weight) return true;  // with weights (z_i w) z_j and (z_j w) z_i are rounded differently
    for (std::int64_t top = 0; top < p; top += SQUARE)
        for (std::int64_t left = 0; left <= top; left += SQUARE)
            for (std::int64_t i = top; i < std::min(top + SQUARE, p); ++i)
                for (std::int64_t j = left; j < std::min(left + SQUARE, i); ++j) G[i * p + j] = G[j * p + i];
    return true;
}

}  // namespace

bool sparse_gram(const SparseRows& X, const double* weight, const double* scale, const double* D, std::int64_t d,
                 double* G, double* C) {
    return (X.wide ? add_rows<std::int64_t> : add_rows<std::int32_t>)(X, weight, scale, D, d, G, C);
}

}  // namespace linearly
