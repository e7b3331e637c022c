// The triangle of QR, updated by a tile of rows at a time.
#include <cmath>
#include <vector>

#include "kernel_table.hpp"
#include "vectors.hpp"

namespace linearly::ISA {
namespace {

constexpr double NOTHING = 1e-280;  // a sum of squares that is no longer exact to 16 digits
constexpr int REFLECTORS = 4;       // applied together: a column is read and written once for four of them

// Rows of [1 | X | Y], column after column, so that a reflection walks contiguous memory.
struct Tile {
    std::int64_t depth, columns;
    Buffer cells;
    Tile(std::int64_t columns_) : depth(256), columns(columns_), cells(make_buffer(std::size_t(depth * columns_))) {}
    double* column(std::int64_t j) { return cells.get() + j * depth; }
};

template <class T>
void tile_view(Tile& to, const View& from, std::int64_t first, std::int64_t count, std::int64_t offset,
               const double* shift, const double* scale, const double* root) {
    const T* data = static_cast<const T*>(from.data) + first * from.row_stride;
    for (std::int64_t j = 0; j < from.cols; ++j) {
        double* cell = to.column(j + offset);
        const T* column = data + j * from.col_stride;
        for (std::int64_t r = 0; r < count; ++r)
            cell[r] = (double(column[r * from.row_stride]) - shift[j]) * scale[j] * (root ? root[r] : 1.0);
        std::fill(cell + count, cell + to.depth, 0.0);
    }
}

double dot(const double* a, const double* b, std::int64_t n) {
    vec s0{}, s1{}, s2{}, s3{};
    for (std::int64_t r = 0; r < n; r += 4 * LANES) {
        s0 += load(a + r) * load(b + r);
        s1 += load(a + r + LANES) * load(b + r + LANES);
        s2 += load(a + r + 2 * LANES) * load(b + r + 2 * LANES);
        s3 += load(a + r + 3 * LANES) * load(b + r + 3 * LANES);
    }
    s0 = (s0 + s1) + (s2 + s3);
    double sum = 0;
    for (int l = 0; l < LANES; ++l) sum += s0[l];
    return sum;
}

// Applies REFLECTORS reflections (columns v of the tile, below row `at` of R) to C columns from c on.
// The product of the reflections is I − V S V' with S upper triangular (compact WY).
template <int C>
void reflect(double* const* v, const double* S, Tile& z, std::int64_t c, double* R, std::int64_t at, int reflectors) {
    const std::int64_t n = z.depth, m = z.columns;
    double* column[C];
    for (int q = 0; q < C; ++q) column[q] = z.column(c + q);
    vec sum[REFLECTORS][C];
    for (auto& row : sum)
        for (auto& s : row) s = vec{};
    for (std::int64_t r = 0; r < n; r += LANES) {
        vec value[C];
        for (int q = 0; q < C; ++q) value[q] = load(column[q] + r);
#pragma GCC unroll 4
        for (int i = 0; i < REFLECTORS; ++i) {
            const vec a = load(v[i] + r);
#pragma GCC unroll 4
            for (int q = 0; q < C; ++q) sum[i][q] += a * value[q];
        }
    }
    double W[REFLECTORS][C];
    for (int q = 0; q < C; ++q) {
        double inner[REFLECTORS] = {};
        for (int i = 0; i < reflectors; ++i) {
            inner[i] = R[(at + i) * m + c + q];
            for (int l = 0; l < LANES; ++l) inner[i] += sum[i][q][l];
        }
        for (int i = 0; i < REFLECTORS; ++i) {  // S' times inner: reflections apply from the first to the last
            W[i][q] = 0;
            for (int h = 0; h <= i && i < reflectors; ++h) W[i][q] += S[h * REFLECTORS + i] * inner[h];
        }
        for (int i = 0; i < reflectors; ++i) R[(at + i) * m + c + q] -= W[i][q];
    }
    for (std::int64_t r = 0; r < n; r += LANES) {
        vec value[C];
        for (int q = 0; q < C; ++q) value[q] = load(column[q] + r);
#pragma GCC unroll 4
        for (int i = 0; i < REFLECTORS; ++i) {
            const vec a = load(v[i] + r);
#pragma GCC unroll 4
            for (int q = 0; q < C; ++q) value[q] -= a * W[i][q];
        }
        for (int q = 0; q < C; ++q) store(column[q] + r, value[q]);
    }
}

}  // namespace

void qr_update(const View& X, const View& Y, const double* weight, ColumnScaling g, double* R) {
    const std::int64_t p = X.cols, m = 1 + p + Y.cols;
    Tile z(m);
    std::vector<double> root(static_cast<std::size_t>(z.depth)), none(static_cast<std::size_t>(z.depth));
    for (std::int64_t first = 0; first < X.rows; first += z.depth) {
        const std::int64_t count = std::min(z.depth, X.rows - first);
        for (std::int64_t i = 0; i < count && weight; ++i) root[std::size_t(i)] = std::sqrt(weight[first + i]);
        const double* w = weight ? root.data() : nullptr;
        for (std::int64_t r = 0; r < z.depth; ++r) z.column(0)[r] = r < count ? (w ? w[r] : 1.0) : 0.0;
        if (X.is_float32)
            tile_view<float>(z, X, first, count, 1, g.shift, g.scale, w);
        else
            tile_view<double>(z, X, first, count, 1, g.shift, g.scale, w);
        tile_view<double>(z, Y, first, count, 1 + p, g.shift + p, g.scale + p, w);

        for (std::int64_t at = 0; at < m; at += REFLECTORS) {
            const int reflectors = int(std::min<std::int64_t>(REFLECTORS, m - at));
            double* v[REFLECTORS];
            double S[REFLECTORS * REFLECTORS] = {};
            for (int i = 0; i < REFLECTORS; ++i) v[i] = i < reflectors ? z.column(at + i) : none.data();
            for (int i = 0; i < reflectors; ++i) {
                double* column = v[i];
                double& diagonal = R[(at + i) * m + at + i];
                const double square = dot(column, column, z.depth);
                double tau = 0;
                // Of columns that are equal each leaves 1e-16 of the one before. Where squares lose their digits to
                // underflow a reflection would not be one, and what is left is nothing beside columns of size 1.
                if (square > NOTHING) {
                    const double length = std::sqrt(diagonal * diagonal + square);
                    const double reflected = diagonal > 0 ? -length : length;
                    tau = (reflected - diagonal) / reflected;
                    const double unit = 1 / (diagonal - reflected);
                    for (std::int64_t r = 0; r < z.depth; ++r) column[r] *= unit;
                    diagonal = reflected;
                }
                for (int c = i + 1; c < reflectors; ++c) {
                    double& head = R[(at + i) * m + at + c];
                    const double s = tau * (head + dot(column, v[c], z.depth));
                    head -= s;
                    for (std::int64_t r = 0; r < z.depth; ++r) v[c][r] -= s * column[r];
                }
                S[i * REFLECTORS + i] = tau;
                for (int h = 0; h < i; ++h) {
                    double sum = 0;
                    for (int l = h; l < i; ++l) sum += S[h * REFLECTORS + l] * dot(v[l], column, z.depth);
                    S[h * REFLECTORS + i] = -tau * sum;
                }
            }
            std::int64_t c = at + reflectors;
            for (; c + 2 <= m; c += 2) reflect<2>(v, S, z, c, R, at, reflectors);
            for (; c < m; ++c) reflect<1>(v, S, z, c, R, at, reflectors);
        }
    }
}

}  // namespace linearly::ISA
