// Squared Mahalanobis distances of rows from K centres, each with its own metric.
#include <algorithm>
#include <vector>

#include "scaled_rows.hpp"

namespace linearly::ISA {
namespace {

// The first S of V vectors of zR for TOGETHER rows: columns j … end − 1 of the rows join.
template <int S, int V>
void join(const double* z, std::int64_t row, std::int64_t j, std::int64_t end, const double* R, std::int64_t stride,
          vec (&sum)[TOGETHER][V]) {
    for (; j < end; ++j) {
        vec right[S];
        for (int v = 0; v < S; ++v) right[v] = load(R + j * stride + v * LANES);
        for (int r = 0; r < TOGETHER; ++r)
            for (int v = 0; v < S; ++v) sum[r][v] += z[r * row + j] * right[v];
    }
}

// Σ over V vectors of (zR − moved)² for TOGETHER rows. Vector v of R is zero above its row begin[v]: of a triangle the
// vectors join one after another.
template <int V>
void add_squares(const double* z, std::int64_t row, const std::int64_t* begin, std::int64_t p, const double* R,
                 const double* moved, std::int64_t stride, vec* squares) {
    vec sum[TOGETHER][V];
    for (auto& sums : sum)
        for (int v = 0; v < V; ++v) sums[v] = -load(moved + v * LANES);
    std::int64_t from = *std::min_element(begin, begin + V);
    if (std::is_sorted(begin, begin + V)) {
        if constexpr (V > 1) join<1>(z, row, from, begin[1], R, stride, sum), from = begin[1];
        if constexpr (V > 2) join<2>(z, row, from, begin[2], R, stride, sum), from = begin[2];
    }
    join<V>(z, row, from, p, R, stride, sum);
    for (int r = 0; r < TOGETHER; ++r)
        for (int v = 0; v < V; ++v) squares[r] += sum[r][v] * sum[r][v];
}

}  // namespace

void mahalanobis(const View& X, ColumnScaling g, const double* roots, const double* moved, std::int64_t K,
                 std::int64_t width, double* out) {
    const std::int64_t p = X.cols, few = Gauged::few(p), vectors = (width + LANES - 1) / LANES,
                       stride = vectors * LANES;
    Gauged z(p, few + Gauged::ROWS);
    Buffer R = make_buffer(std::size_t(K * p * stride)), centre = make_buffer(std::size_t(K * stride));
    std::vector<std::int64_t> first_row(std::size_t(K * vectors),
                                        p);  // of each vector of columns: half of a triangle is zero
    for (std::int64_t k = 0; k < K; ++k) {
        std::copy_n(moved + k * width, width, centre.get() + k * stride);
        for (std::int64_t j = p - 1; j >= 0; --j)
            for (std::int64_t c = 0; c < width; ++c) {
                const double value = roots[j * K * width + k * width + c];
                R[std::size_t((k * p + j) * stride + c)] = value;
                if (value != 0) first_row[std::size_t(k * vectors + c / LANES)] = j;
            }
    }
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t count = std::min(few, X.rows - first);
        scale_rows(z, 0, X, first, count, g);
        Prefetch next(X, first + count, std::min(few, X.rows - first - count));
        const std::int64_t lines = next.lines * TOGETHER / (K * count) + 1;
        for (std::int64_t k = 0; k < K; ++k)  // whose triangle stays in L1 while the rows pass by
            for (std::int64_t i = 0; i < count; i += TOGETHER) {
                next.fetch(lines);
                vec squares[TOGETHER]{};
                in_vectors(vectors, [&](std::int64_t at, auto V) {
                    const auto* begin = first_row.data() + k * vectors + at / LANES;
                    add_squares<V()>(z.row(i), z.stride, begin, p, R.get() + k * p * stride + at,
                                     centre.get() + k * stride + at, stride, squares);
                });
                for (std::int64_t r = 0; r < std::min<std::int64_t>(TOGETHER, count - i); ++r)
                    out[(first + i + r) * K + k] = total_of(squares[r]);
            }
    }
}

}  // namespace linearly::ISA
