// Rows packed into panels of columns that stay in the cache, and sums of products of the packed columns.
#pragma once
#include <vector>

#include "prefetch.hpp"
#include "kernel_table.hpp"
#include "vectors.hpp"

namespace linearly::ISA {
namespace {

// One tile of the product: C (PANEL × B·PANEL, row after row) += A'B over `depth` packed rows.
template <int B>
void multiply(const double* a, const double* b, std::int64_t depth, std::int64_t panel_size, double* C) {
    vec sum[PANEL][B * PARTS];
    for (int i = 0; i < PANEL; ++i)
        for (int j = 0; j < B * PARTS; ++j) sum[i][j] = vec{};
    for (std::int64_t r = 0; r < depth; ++r) {
        vec right[B * PARTS];
#pragma GCC unroll 8
        for (int q = 0; q < B; ++q)
#pragma GCC unroll 8
            for (int h = 0; h < PARTS; ++h)
                right[q * PARTS + h] = *reinterpret_cast<const vec*>(b + q * panel_size + r * PANEL + h * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < PANEL; ++i) {
            const double left = a[r * PANEL + i];
#pragma GCC unroll 8
            for (int j = 0; j < B * PARTS; ++j) sum[i][j] += left * right[j];
        }
    }
    for (int i = 0; i < PANEL; ++i)
        for (int j = 0; j < B * PARTS; ++j) {
            double* c = C + (i * B * PARTS + j) * LANES;
            store(c, load(c) + sum[i][j]);
        }
}

// The two tiles at the end of a group at once, where each alone would wait for its sums: `a` with itself and with the
// next panel (C), and that panel with itself (corner).
inline void multiply_corner(const double* a, std::int64_t depth, std::int64_t panel_size, double* C, double* corner) {
    const double* b = a + panel_size;
    vec sum[PANEL][3 * PARTS];
    for (int i = 0; i < PANEL; ++i)
        for (int j = 0; j < 3 * PARTS; ++j) sum[i][j] = vec{};
    for (std::int64_t r = 0; r < depth; ++r) {
        vec first[PARTS], second[PARTS];
        for (int h = 0; h < PARTS; ++h) {
            first[h] = *reinterpret_cast<const vec*>(a + r * PANEL + h * LANES);
            second[h] = *reinterpret_cast<const vec*>(b + r * PANEL + h * LANES);
        }
#pragma GCC unroll 8
        for (int i = 0; i < PANEL; ++i) {
            const double left = a[r * PANEL + i], below = b[r * PANEL + i];
#pragma GCC unroll 8
            for (int h = 0; h < PARTS; ++h) {
                sum[i][h] += left * first[h];
                sum[i][PARTS + h] += left * second[h];
                sum[i][2 * PARTS + h] += below * second[h];
            }
        }
    }
    for (int i = 0; i < PANEL; ++i)
        for (int j = 0; j < 3 * PARTS; ++j) {
            double* c = j < 2 * PARTS ? C + (i * 2 * PARTS + j) * LANES : corner + (i * PARTS + j - 2 * PARTS) * LANES;
            store(c, load(c) + sum[i][j]);
        }
}

// Packed columns are [X | Y | 1]: the features first, so that a row-major row is copied vector by vector.
struct Packing {
    std::int64_t p, k, columns, panels, depth, stride;
    Buffer rows;  // panels × depth × PANEL, a cache line apart: a stride of 4096 bytes would fight over one set

    Packing(std::int64_t p_, std::int64_t k_)
        : p(p_), k(k_), columns(p_ + k_ + 1), panels((columns + PANEL - 1) / PANEL),
          // 128 packed rows of 50 columns sit in L2 with the right-hand tile in L1; wide data amortise the
          // trip of the sums through L3 over twice as many rows.
          depth(columns > 128 ? 256 : 128), stride(depth * PANEL + 8), rows(make_buffer(std::size_t(panels * stride))) {
    }

    double* at(std::int64_t r, std::int64_t j) { return rows.get() + (j / PANEL) * stride + r * PANEL + j % PANEL; }
};

template <class T>
const T* column_of(const View& X, std::int64_t j) {
    if constexpr (std::is_same_v<T, double>)
        if (X.columns) return X.columns[j];
    return static_cast<const T*>(X.data) + j * X.col_stride;
}

// N rows of a view, each of which lies together: row `first + r` becomes row r of the packed. Shifts and scales are
// loaded once for all of them.
template <int N, bool WEIGHTED, class T>
inline void pack_few(Packing& to, const View& from, std::int64_t first, std::int64_t r, const double* shift,
                     const double* scale, const double* root) {
    const T* row[N];
    for (int i = 0; i < N; ++i) row[i] = static_cast<const T*>(from.data) + from.at(first + r + i) * from.row_stride;
    std::int64_t j = 0;
    double* panel = to.at(r, 0);
    for (; j + PANEL <= from.cols; j += PANEL, panel += to.stride)
#pragma GCC unroll 8
        for (int h = 0; h < PANEL; h += LANES) {
            const vec middle = load(shift + j + h), factor = load(scale + j + h);
#pragma GCC unroll 8
            for (int i = 0; i < N; ++i) {
                const vec z = (load(row[i] + j + h) - middle) * factor;
                store(panel + i * PANEL + h, WEIGHTED ? z * root[r + i] : z);
            }
        }
    for (; j < from.cols; ++j, ++panel)
        for (int i = 0; i < N; ++i)
            panel[i * PANEL] = (double(row[i][j]) - shift[j]) * scale[j] * (WEIGHTED ? root[r + i] : 1.0);
}

template <bool WEIGHTED, class T>
void pack_together(Packing& to, const View& from, std::int64_t first, std::int64_t count, const double* shift,
                   const double* scale, const double* root) {
    std::int64_t r = 0;
    for (; r + 2 <= count; r += 2) pack_few<2, WEIGHTED, T>(to, from, first, r, shift, scale, root);
    if (r < count) pack_few<1, WEIGHTED, T>(to, from, first, r, shift, scale, root);
}

// The columns of `from`, from the one `begin` on, where the first belongs at `offset`.
template <class T>
void pack_view(Packing& to, const View& from, std::int64_t begin, std::int64_t first, std::int64_t count,
               std::int64_t offset, const double* shift, const double* scale, const double* root) {
    const std::int64_t m = from.cols;
    if (from.col_stride == 1 && offset == 0) {
        if (root)
            pack_together<true, T>(to, from, first, count, shift, scale, root);
        else
            pack_together<false, T>(to, from, first, count, shift, scale, root);
        return;
    }
    for (std::int64_t j = begin; j < m; ++j) {
        const T* column = column_of<T>(from, j);
        double* cell = to.at(0, j + offset);
        for (std::int64_t r = 0; r < count; ++r)
            cell[r * PANEL] =
                (double(column[from.at(first + r) * from.row_stride]) - shift[j]) * scale[j] * (root ? root[r] : 1.0);
    }
}

// Column after column, as data frames and Parquet have them: squares of LANES rows and columns are turned. Returns how
// many columns are done: all, those of Y and the ones too, or as many of X as fill squares.
template <class T>
std::int64_t pack_columns(Packing& to, const View& X, const View& Y, std::int64_t first, std::int64_t count,
                          ColumnScaling g, const double* root) {
    const bool alike = std::is_same_v<T, double> && (Y.cols == 0 || Y.row_stride == 1);
    const std::int64_t ready = alike ? to.p + to.k : to.p, end = alike ? to.columns : to.p / LANES * LANES;
    for (std::int64_t done = 0; done < end; done += LANES) {
        const int there = int(std::min<std::int64_t>(LANES, ready - done));
        const T* column[LANES];
        double shift[LANES], scale[LANES];
        for (int l = 0; l < there; ++l) {
            const std::int64_t j = done + l;
            column[l] = (j < to.p ? column_of<T>(X, j) : column_of<T>(Y, j - to.p)) + first;
            shift[l] = g.shift[j], scale[l] = g.scale[j];
        }
        double* cell = to.at(0, done);
        std::int64_t r = 0;
        auto turn = [&](auto full) {
            for (; r + LANES <= count; r += LANES) {
                vec square[LANES];
                for (int l = 0; l < LANES; ++l) {
                    const bool number = full || l < there;
                    square[l] = number ? (load(column[l] + r) - shift[l]) * scale[l] : constant(l == there ? 1.0 : 0.0);
                    if (root) square[l] *= load(root + r);
                }
                transpose(square);
                for (int i = 0; i < LANES; ++i) store(cell + (r + i) * PANEL, square[i]);
            }
        };
        if (there == LANES)
            turn(std::true_type());
        else
            turn(std::false_type());
        for (; r < count; ++r)
            for (int l = 0; l < std::min<std::int64_t>(LANES, end - done); ++l)
                cell[r * PANEL + l] =
                    (l < there ? (double(column[l][r]) - shift[l]) * scale[l] : 1.0) * (root ? root[r] : 1.0);
    }
    return end;
}

template <class T>
void pack_rows(Packing& to, const View& X, const View& Y, std::int64_t first, std::int64_t count, ColumnScaling g,
               const double* root) {
    const bool by_columns = X.row_stride == 1 && X.col_stride != 1 && !X.index;
    const std::int64_t done = by_columns ? pack_columns<T>(to, X, Y, first, count, g, root) : 0;
    if (done == to.columns) return;
    pack_view<T>(to, X, done, first, count, 0, g.shift, g.scale, root);
    pack_view<double>(to, Y, 0, first, count, to.p, g.shift + to.p, g.scale + to.p, root);
    double* ones = to.at(0, to.p + to.k);
    for (std::int64_t r = 0; r < count; ++r) ones[r * PANEL] = root ? root[r] : 1.0;
}

inline void pack(Packing& to, const View& X, const View& Y, std::int64_t first, std::int64_t count, ColumnScaling g,
                 const double* root) {
    if (X.is_float32)
        pack_rows<float>(to, X, Y, first, count, g, root);
    else
        pack_rows<double>(to, X, Y, first, count, g, root);
}

// Sums of products of packed columns, kept tile by tile in the order the loop visits them. The right-hand
// panels come in groups of WIDE or one fewer: 13 panels as 3+3+3+2+2, because a lone panel runs at half speed.
class Product {
  public:
    explicit Product(std::int64_t panels) : panels_(panels), groups_((panels + WIDE - 1) / WIDE) {
        std::size_t size = 0;
        for (std::int64_t g = 0; g < groups_; ++g) {
            starts_.push_back(size);
            size += std::size_t(begin(g + 1) * PANEL * WIDE * PANEL);
        }
        sums_ = make_buffer(size);
    }

    void add(const Packing& z, std::int64_t depth, Prefetch next) {
        const std::int64_t calls = panels_ * (groups_ + 1) / 2 + 1, lines = next.lines / calls + 1;
        // Left panels in runs that stay in L2 (about 256 kB) while the right-hand tiles stream past.
        const std::int64_t run = std::max<std::int64_t>(WIDE, (1 << 18) / (z.stride * 8));
        for (std::int64_t first = 0; first < panels_; first += run)
            for (std::int64_t g = 0; g < groups_; ++g)
                for (std::int64_t i = first; i < std::min(first + run, begin(g + 1)); ++i) {
                    // The next rows travel from memory while these are multiplied: 1.3 times faster at p = 50.
                    next.fetch(lines);
                    const std::int64_t from = std::max(i, begin(g)), wide = begin(g + 1) - from;
                    const double *left = z.rows.get() + i * z.stride, *right = z.rows.get() + from * z.stride;
                    if (wide == 3)
                        multiply<3>(left, right, depth, z.stride, tile(g, i));
                    else if (wide == 2 && from == i && i + 1 < first + run)
                        multiply_corner(left, depth, z.stride, tile(g, i), tile(g, i + 1)), ++i;
                    else if (wide == 2)
                        multiply<2>(left, right, depth, z.stride, tile(g, i));
                    else
                        multiply<1>(left, right, depth, z.stride, tile(g, i));
                }
    }

    // Adds the upper half to G, whose order is [1 | X | Y], and mirrors it.
    void unpack(const Packing& z, double* G) {
        const std::int64_t m = z.columns;
        auto place = [&](std::int64_t j) { return j == m - 1 ? 0 : j + 1; };
        for (std::int64_t g = 0; g < groups_; ++g)
            for (std::int64_t i = 0; i < begin(g + 1); ++i) {
                const std::int64_t from = std::max(i, begin(g)), wide = (begin(g + 1) - from) * PANEL;
                const double* C = tile(g, i);
                for (std::int64_t a = 0; a < PANEL; ++a)
                    for (std::int64_t b = 0; b < wide; ++b) {
                        const std::int64_t left = i * PANEL + a, right = from * PANEL + b;
                        if (left >= m || right >= m || left > right) continue;
                        const double value = C[a * wide + b];
                        const std::int64_t s = place(left), t = place(right);
                        G[s * m + t] += value;
                        if (s != t) G[t * m + s] += value;
                    }
            }
    }

  private:
    // First panel of group g: the first `panels mod groups` groups are one panel wider.
    std::int64_t begin(std::int64_t g) const { return g * (panels_ / groups_) + std::min(g, panels_ % groups_); }
    double* tile(std::int64_t g, std::int64_t i) {
        return sums_.get() + starts_[std::size_t(g)] + i * PANEL * WIDE * PANEL;
    }

    std::int64_t panels_, groups_;
    std::vector<std::size_t> starts_;
    Buffer sums_;
};

}  // namespace
}  // namespace linearly::ISA
