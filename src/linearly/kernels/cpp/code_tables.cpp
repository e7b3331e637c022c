#include "code_tables.hpp"

#include <algorithm>
#include <vector>

namespace linearly {

namespace {
constexpr std::int64_t TILE = 128;  // rows that are packed at a time
}

void code_tables(const double* const* columns, std::int64_t q, std::int64_t rows, const double* weight,
                 const double* shift, const double* scale, const Categories& categories, double* sums, double* pairs) {
    const std::int64_t m = 1 + 2 * q, C = categories.count, T = categories.size;
    std::vector<double> tile(std::size_t(TILE * m));
    std::vector<std::int64_t> at(static_cast<std::size_t>(C));
    for (std::int64_t first = 0; first < rows; first += TILE) {
        const std::int64_t n = std::min(TILE, rows - first);
        const double* w = weight ? weight + first : nullptr;
        for (std::int64_t i = 0; i < n; ++i) tile[std::size_t(i * m)] = w ? w[i] : 1.0;
        for (std::int64_t j = 0; j < q; ++j) {
            const double *x = columns[j] + first, s = shift[j], u = scale[j];
            double* z = tile.data() + 1 + j;
            for (std::int64_t i = 0; i < n; ++i) {
                const double own = (x[i] - s) * u;
                z[i * m] = w ? w[i] * own : own;
                z[i * m + q] = z[i * m] * own;
            }
        }
        for (std::int64_t i = 0; i < n; ++i) {
            const double* z = tile.data() + i * m;
            for (std::int64_t a = 0; a < C; ++a) {
                at[std::size_t(a)] = categories.starts[a] + 1 + categories.codes[a][first + i];
                double* sum = sums + at[std::size_t(a)] * m;
                for (std::int64_t j = 0; j < m; ++j) sum[j] += z[j];
                double* row = pairs + at[std::size_t(a)] * T;
                for (std::int64_t b = 0; b < a; ++b) row[at[std::size_t(b)]] += z[0];
            }
        }
    }
}

}  // namespace linearly
