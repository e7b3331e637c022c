// Squared distances of rows from K centres, each in a metric of its own.
#include <vector>

#include "gauged.hpp"

namespace linearly::ISA {
namespace {

// Σ over V vectors of (zR − moved)² for TOGETHER rows; R begins at row `from`, being zero above it.
template <int V>
void add_squares(const double* z, std::int64_t row, std::int64_t from, std::int64_t p, const double* R, const double* moved,
                 std::int64_t stride, vec* squares) {
    vec sum[TOGETHER][V];
    for (auto& sums : sum)
        for (int v = 0; v < V; ++v) sums[v] = -load(moved + v * LANES);
    for (std::int64_t j = from; j < p; ++j) {
        vec right[V];
        for (int v = 0; v < V; ++v) right[v] = load(R + j * stride + v * LANES);
        for (int r = 0; r < TOGETHER; ++r)
            for (int v = 0; v < V; ++v) sum[r][v] += z[r * row + j] * right[v];
    }
    for (int r = 0; r < TOGETHER; ++r)
        for (int v = 0; v < V; ++v) squares[r] += sum[r][v] * sum[r][v];
}

}  // namespace

void distances(const View& X, Gauge g, const double* roots, const double* moved, std::int64_t K, std::int64_t width, double* out) {
    const std::int64_t p = X.cols, few = Gauged::few(p), vectors = (width + LANES - 1) / LANES, stride = vectors * LANES;
    Gauged z(p, few + Gauged::ROWS);
    Buffer R = make_buffer(std::size_t(K * p * stride)), centre = make_buffer(std::size_t(K * stride));
    std::vector<std::int64_t> first_row(std::size_t(K * vectors), p);  // of each vector of columns: half of a triangle is zero
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
        gauge_rows(z, 0, X, first, count, g);
        Ahead next(X, first + count, std::min(few, X.rows - first - count));
        const std::int64_t lines = next.lines * TOGETHER / (K * count) + 1;
        for (std::int64_t k = 0; k < K; ++k)  // whose triangle stays in L1 while the rows pass by
            for (std::int64_t i = 0; i < count; i += TOGETHER) {
                next.fetch(lines);
                vec squares[TOGETHER]{};
                in_vectors(vectors, [&](std::int64_t at, auto V) {
                    const auto* begin = first_row.data() + k * vectors + at / LANES;
                    const std::int64_t from = *std::min_element(begin, begin + V());
                    add_squares<V()>(z.row(i), z.stride, from, p, R.get() + k * p * stride + at, centre.get() + k * stride + at, stride, squares);
                });
                for (std::int64_t r = 0; r < std::min<std::int64_t>(TOGETHER, count - i); ++r)
                    out[(first + i + r) * K + k] = total_of(squares[r]);
            }
    }
}

}  // namespace linearly::ISA
