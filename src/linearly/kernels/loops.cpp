// Dense float64 loops: the packed Gram, logistic passes, distances and the triangle. Compiled once for each instruction set (see
// CMakeLists.txt); vectors are the compiler's own extension, so there is no intrinsic to port.
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "exact.hpp"

#ifndef ISA
#define ISA baseline
#endif
#define LINEARLY_JOIN_(a, b) a##b
#define LINEARLY_JOIN(a, b) LINEARLY_JOIN_(a, b)
#define LINEARLY_TEXT_(a) #a
#define LINEARLY_TEXT(a) LINEARLY_TEXT_(a)

namespace linearly {
namespace ISA {
namespace {

// LANES: doubles in a vector register. PANEL: columns packed side by side. WIDE: panels on the right-hand
// side of one register tile (PANEL × WIDE·PANEL sums held in registers).
#if defined(__AVX512F__)
constexpr int LANES = 8, PANEL = 8, WIDE = 3;
#elif defined(__AVX2__)
constexpr int LANES = 4, PANEL = 4, WIDE = 3;
#else
constexpr int LANES = 2, PANEL = 4, WIDE = 1;
#endif
constexpr int PARTS = PANEL / LANES;  // registers in a panel row

typedef double vec __attribute__((vector_size(LANES * 8)));
typedef double vec_unaligned __attribute__((vector_size(LANES * 8), aligned(8)));

inline vec load(const double* a) { return *reinterpret_cast<const vec_unaligned*>(a); }
inline vec load(const float* a) {
    vec v;
    for (int l = 0; l < LANES; ++l) v[l] = double(a[l]);
    return v;
}
inline void store(double* a, vec v) { *reinterpret_cast<vec_unaligned*>(a) = v; }

// LANES vectors as the rows of a square become its columns: pairs of lanes 1, 2, 4 … apart change places.
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LINEARLY_SHUFFLES
#endif
#endif
template <int S, bool UPPER, int... L>
inline vec exchanged(vec a, vec b, std::integer_sequence<int, L...>) {
#if defined(LINEARLY_SHUFFLES)
    return __builtin_shufflevector(a, b, ((L & S) != 0 ? LANES + L - (UPPER ? 0 : S) : L + (UPPER ? S : 0))...);
#else
    return vec{((L & S) != 0 ? b[L - (UPPER ? 0 : S)] : a[L + (UPPER ? S : 0)])...};
#endif
}
template <int S = 1>
inline void transpose(vec* square) {
    if constexpr (S < LANES) {
        constexpr auto lanes = std::make_integer_sequence<int, LANES>();
#pragma GCC unroll 8
        for (int i = 0; i < LANES; ++i) {
            if ((i & S) != 0) continue;
            const vec a = square[i], b = square[i + S];
            square[i] = exchanged<S, false>(a, b, lanes);
            square[i + S] = exchanged<S, true>(a, b, lanes);
        }
        transpose<2 * S>(square);
    }
}

struct AlignedDelete {
    void operator()(double* a) const { ::operator delete[](a, std::align_val_t(64)); }
};
using Buffer = std::unique_ptr<double[], AlignedDelete>;
Buffer make_buffer(std::size_t n) {
    auto* a = static_cast<double*>(::operator new[](n * sizeof(double), std::align_val_t(64)));
    std::fill_n(a, n, 0.0);
    return Buffer(a);
}

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

// Packed columns are [X | Y | 1]: the features first, so that a row-major row is copied vector by vector.
struct Packing {
    std::int64_t p, k, columns, panels, depth, stride;
    Buffer rows;  // panels × depth × PANEL, a cache line apart: a stride of 4096 bytes would fight over one set

    Packing(std::int64_t p_, std::int64_t k_)
        : p(p_), k(k_), columns(p_ + k_ + 1), panels((columns + PANEL - 1) / PANEL),
          // 128 packed rows of 50 columns sit in L2 with the right-hand tile in L1; wide data amortise the
          // trip of the sums through L3 over twice as many rows.
          depth(columns > 128 ? 256 : 128), stride(depth * PANEL + 8), rows(make_buffer(std::size_t(panels * stride))) {}

    double* at(std::int64_t r, std::int64_t j) { return rows.get() + (j / PANEL) * stride + r * PANEL + j % PANEL; }
};

template <class T>
void pack_view(Packing& to, const View& from, std::int64_t first, std::int64_t count, std::int64_t offset, const double* shift,
               const double* scale, const double* root) {
    const T* data = static_cast<const T*>(from.data);
    const std::int64_t m = from.cols;
    if (from.col_stride == 1 && offset == 0) {
        // A few rows at a time, so that they stay in L1 while panel after panel takes its columns from them.
        constexpr std::int64_t FEW = 16;
        for (std::int64_t top = 0; top < count; top += FEW) {
            const std::int64_t bottom = std::min(top + FEW, count);
            const T* row[FEW];
            for (std::int64_t r = top; r < bottom; ++r) row[r - top] = data + from.at(first + r) * from.row_stride;
            std::int64_t j = 0;
            for (; j + PANEL <= m; j += PANEL)
                for (int h = 0; h < PARTS; ++h) {
                    const std::int64_t at = j + h * LANES;
                    const vec middle = load(shift + at), factor = load(scale + at);
                    double* cell = to.at(top, j) + h * LANES;
                    if (root)
                        for (std::int64_t r = top; r < bottom; ++r, cell += PANEL)
                            store(cell, (load(row[r - top] + at) - middle) * factor * root[r]);
                    else
                        for (std::int64_t r = top; r < bottom; ++r, cell += PANEL)
                            store(cell, (load(row[r - top] + at) - middle) * factor);
                }
            for (; j < m; ++j) {
                double* cell = to.at(top, j);
                for (std::int64_t r = top; r < bottom; ++r, cell += PANEL)
                    *cell = (double(row[r - top][j]) - shift[j]) * scale[j] * (root ? root[r] : 1.0);
            }
        }
        return;
    }
    std::int64_t done = 0;
    if (from.row_stride == 1 && !from.index && offset == 0)
        // Column after column, as data frames and Parquet have them: squares of LANES rows and columns are turned.
        for (; done + LANES <= m; done += LANES) {
            const T* corner = data + done * from.col_stride + first;
            double* cell = to.at(0, done);
            std::int64_t r = 0;
            for (; r + LANES <= count; r += LANES) {
                vec square[LANES];
                for (int j = 0; j < LANES; ++j) {
                    square[j] = (load(corner + j * from.col_stride + r) - shift[done + j]) * scale[done + j];
                    if (root) square[j] *= load(root + r);
                }
                transpose(square);
                for (int i = 0; i < LANES; ++i) store(cell + (r + i) * PANEL, square[i]);
            }
            for (; r < count; ++r)
                for (int j = 0; j < LANES; ++j)
                    cell[r * PANEL + j] = (double(corner[j * from.col_stride + r]) - shift[done + j]) * scale[done + j] * (root ? root[r] : 1.0);
        }
    for (std::int64_t j = done; j < m; ++j) {
        const T* column = data + j * from.col_stride;
        double* cell = to.at(0, j + offset);
        for (std::int64_t r = 0; r < count; ++r)
            cell[r * PANEL] = (double(column[from.at(first + r) * from.row_stride]) - shift[j]) * scale[j] * (root ? root[r] : 1.0);
    }
}

void pack(Packing& to, const View& X, const View& Y, std::int64_t first, std::int64_t count, Gauge g, const double* root) {
    if (X.is_float32)
        pack_view<float>(to, X, first, count, 0, g.shift, g.scale, root);
    else
        pack_view<double>(to, X, first, count, 0, g.shift, g.scale, root);
    pack_view<double>(to, Y, first, count, to.p, g.shift + to.p, g.scale + to.p, root);
    double* ones = to.at(0, to.p + to.k);
    for (std::int64_t r = 0; r < count; ++r) ones[r * PANEL] = root ? root[r] : 1.0;
}

template <class T>
void residuals_of(const View& X, std::int64_t first, std::int64_t count, Gauge g, const double* coef, double* r) {
    const T* data = static_cast<const T*>(X.data) + first * X.row_stride;
    const std::int64_t p = X.cols;
    if (X.col_stride == 1) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* row = data + i * X.row_stride;
            double sum[8] = {};
            std::int64_t j = 0;
            for (; j + 8 <= p; j += 8)
                for (int l = 0; l < 8; ++l) sum[l] += (double(row[j + l]) - g.shift[j + l]) * g.scale[j + l] * coef[j + l];
            for (; j < p; ++j) sum[0] += (double(row[j]) - g.shift[j]) * g.scale[j] * coef[j];
            r[i] -= ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        }
        return;
    }
    for (std::int64_t j = 0; j < p; ++j) {
        const T* column = data + j * X.col_stride;
        const double b = g.scale[j] * coef[j];
        for (std::int64_t i = 0; i < count; ++i) r[i] -= (double(column[i * X.row_stride]) - g.shift[j]) * b;
    }
}

// Row weights as square roots, because both sides of the product carry them.
bool weigh(const View& X, const View& Y, const double* weight, Gauge g, const double* coef, std::int64_t first,
           std::int64_t count, double* root) {
    if (coef) {
        const double* y = static_cast<const double*>(Y.data) + first * Y.row_stride;
        const std::int64_t p = X.cols;
        for (std::int64_t i = 0; i < count; ++i) root[i] = (y[i * Y.row_stride] - g.shift[p]) * g.scale[p] - coef[p];
        if (X.is_float32)
            residuals_of<float>(X, first, count, g, coef, root);
        else
            residuals_of<double>(X, first, count, g, coef, root);
        if (weight)
            for (std::int64_t i = 0; i < count; ++i) root[i] *= std::sqrt(weight[first + i]);
        return true;
    }
    if (weight)
        for (std::int64_t i = 0; i < count; ++i) root[i] = std::sqrt(weight[X.at(first + i)]);
    return weight != nullptr;
}

// The rows to come, cache line by cache line, in runs that lie together: rows, columns, or all rows at once.
class Ahead {
  public:
    std::int64_t lines = 0;

    Ahead(const View& X, std::int64_t first, std::int64_t count) : X_(X), run_(first) {
        if (count <= 0) return;
        std::int64_t cells = 0, runs = 0;
        if (X.col_stride == 1) {
            const bool together = !X.index && X.row_stride == X.cols;
            cells = (together ? count : 1) * X.cols, runs = together ? 1 : count;
        } else if (X.row_stride == 1 && !X.index) {
            columns_ = static_cast<const char*>(X.data) + first * width(), run_ = 0;
            cells = count, runs = X.cols;
        }
        a_run_ = (cells * width() + 63) / 64 + (runs > 1 ? 1 : 0);
        lines = runs * a_run_;
        if (lines > 0) begin_run();
    }

    const char* next() {
        const char* line = here_;
        here_ += 64;
        if (--left_ == 0) {
            ++run_;
            if ((lines -= a_run_) > 0) begin_run();
        }
        return line;
    }

  private:
    const View& X_;
    std::int64_t run_, a_run_ = 0, left_ = 0;
    const char *here_ = nullptr, *columns_ = nullptr;

    std::int64_t width() const { return X_.is_float32 ? 4 : 8; }
    void begin_run() {
        here_ = columns_ ? columns_ + run_ * X_.col_stride * width()
                         : static_cast<const char*>(X_.data) + X_.at(run_) * X_.row_stride * width();
        left_ = a_run_;
    }
};

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

    void add(const Packing& z, std::int64_t depth, Ahead next) {
        const std::int64_t calls = panels_ * (groups_ + 1) / 2 + 1, lines = next.lines / calls + 1;
        // Left panels in runs that stay in L2 (about 256 kB) while the right-hand tiles stream past.
        const std::int64_t run = std::max<std::int64_t>(WIDE, (1 << 18) / (z.stride * 8));
        for (std::int64_t first = 0; first < panels_; first += run)
            for (std::int64_t g = 0; g < groups_; ++g)
                for (std::int64_t i = first; i < std::min(first + run, begin(g + 1)); ++i) {
                    // The next rows travel from memory while these are multiplied: 1.3 times faster at p = 50.
                    for (std::int64_t l = 0; l < lines && next.lines > 0; ++l) __builtin_prefetch(next.next(), 0, 2);
                    const std::int64_t from = std::max(i, begin(g)), wide = begin(g + 1) - from;
                    const double *left = z.rows.get() + i * z.stride, *right = z.rows.get() + from * z.stride;
                    if (wide == 3)
                        multiply<3>(left, right, depth, z.stride, tile(g, i));
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
    double* tile(std::int64_t g, std::int64_t i) { return sums_.get() + starts_[std::size_t(g)] + i * PANEL * WIDE * PANEL; }

    std::int64_t panels_, groups_;
    std::vector<std::size_t> starts_;
    Buffer sums_;
};

void gram(const View& X, const View& Y, const double* weight, Gauge g, const double* coef, double* G) {
    Packing z(X.cols, Y.cols);
    Product product(z.panels);
    std::vector<double> root(static_cast<std::size_t>(z.depth));
    for (std::int64_t first = 0; first < X.rows; first += z.depth) {
        const std::int64_t count = std::min(z.depth, X.rows - first);
        const bool weighted = weigh(X, Y, weight, g, coef, first, count, root.data());
        pack(z, X, Y, first, count, g, weighted ? root.data() : nullptr);
        const std::int64_t after = first + count, ahead = std::min(z.depth, X.rows - after);
        product.add(z, count, Ahead(X, after, ahead));
    }
    product.unpack(z, G);
}

// ---------------------------------------------------------------------------------------------- logistic

typedef std::int64_t ivec __attribute__((vector_size(LANES * 8)));

inline vec constant(double a) { return a - vec{}; }

// exp for x ≤ 0, to the last bit or two: 2^k · exp(r) with |r| ≤ ½ log 2 and thirteen terms of the series.
inline vec exp_of_negative(vec x) {
    const vec tiny = constant(-708.0);
    x = x > tiny ? x : tiny;
    const vec magic = constant(6755399441055744.0);  // 1.5 · 2⁵²: adding it rounds to a whole number
    const vec shifted = x * 1.4426950408889634 + magic;
    const vec k = shifted - magic;
    const vec r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    vec e = constant(1.0 / 6227020800.0);
    const double inverse[] = {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0};
    for (double factorial : inverse) e = e * r + 1.0 / factorial;
    // A cast between vectors of one size keeps the bits: the whole number sits at the low end of `shifted`.
    const ivec power = ((ivec)shifted - (ivec)magic + 1023) << 52;
    return e * (vec)power;
}

// log(1 + u) for 0 ≤ u ≤ 1: 2 artanh(s) with s = u / (2 + u) ≤ ⅓, without cancellation for small u.
inline vec log_of_one_plus(vec u) {
    const vec s = u / (2.0 + u), square = s * s;
    vec sum = constant(1.0 / 35);
    for (int k = 33; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
    return 2.0 * s * sum;
}

// Some rows in the gauge, row after row, each padded with zeros to whole panels.
struct Gauged {
    std::int64_t p, stride;
    Buffer cells;

    Gauged(std::int64_t p_, std::int64_t depth)
        : p(p_), stride((p_ + PANEL - 1) / PANEL * PANEL), cells(make_buffer(std::size_t(depth * stride))) {}

    double* row(std::int64_t i) { return cells.get() + i * stride; }

    // Rows that stay in L1 between their scores and their share of the gradient.
    static std::int64_t few(std::int64_t p) { return std::clamp<std::int64_t>(2048 / std::max<std::int64_t>(p, 1) / ROWS * ROWS, ROWS, 64); }

    static constexpr int ROWS = 8;  // rows that share a load of the coefficients, or a load and a store of the gradient
};

template <class T>
void gauge_view(Gauged& to, std::int64_t at, const View& X, std::int64_t first, std::int64_t count, Gauge g) {
    const T* data = static_cast<const T*>(X.data) + first * X.row_stride;
    std::int64_t done = 0;
    if (X.col_stride == 1) {
        done = X.cols / LANES * LANES;
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t j = 0; j < done; j += LANES)
                store(to.row(at + i) + j, (load(data + i * X.row_stride + j) - load(g.shift + j)) * load(g.scale + j));
    } else if (X.row_stride == 1)
        for (; done + LANES <= X.cols; done += LANES) {
            const T* corner = data + done * X.col_stride;
            std::int64_t i = 0;
            for (; i + LANES <= count; i += LANES) {
                vec square[LANES];
                for (int j = 0; j < LANES; ++j)
                    square[j] = (load(corner + j * X.col_stride + i) - g.shift[done + j]) * g.scale[done + j];
                transpose(square);
                for (int l = 0; l < LANES; ++l) store(to.row(at + i + l) + done, square[l]);
            }
            for (; i < count; ++i)
                for (int j = 0; j < LANES; ++j)
                    to.row(at + i)[done + j] = (double(corner[j * X.col_stride + i]) - g.shift[done + j]) * g.scale[done + j];
        }
    for (std::int64_t j = done; j < X.cols; ++j)
        for (std::int64_t i = 0; i < count; ++i)
            to.row(at + i)[j] = (double(data[i * X.row_stride + j * X.col_stride]) - g.shift[j]) * g.scale[j];
    for (std::int64_t i = count; i % Gauged::ROWS != 0; ++i) std::fill_n(to.row(at + i), to.stride, 0.0);
}

void gauge_rows(Gauged& to, std::int64_t at, const View& X, std::int64_t first, std::int64_t count, Gauge g) {
    if (X.is_float32)
        gauge_view<float>(to, at, X, first, count, g);
    else
        gauge_view<double>(to, at, X, first, count, g);
}

inline double total_of(vec v) {
    double sum = v[0];
    for (int l = 1; l < LANES; ++l) sum += v[l];
    return sum;
}

// to = start + Zb for ROWS rows.
void scores_of(const double* z, std::int64_t stride, const double* b, double start, double* to) {
    vec sum[Gauged::ROWS]{};
    for (std::int64_t j = 0; j < stride; j += LANES) {
        const vec c = load(b + j);
        for (int i = 0; i < Gauged::ROWS; ++i) sum[i] += load(z + i * stride + j) * c;
    }
    for (int i = 0; i < Gauged::ROWS; ++i) to[i] = start + total_of(sum[i]);
}

// sums += Z'r for ROWS rows.
void add_rows(const double* z, std::int64_t stride, const double* r, double* sums) {
    for (std::int64_t j = 0; j < stride; j += LANES) {
        vec even = load(sums + j), odd{};
        for (int i = 0; i < Gauged::ROWS; i += 2) {
            even += r[i] * load(z + i * stride + j);
            odd += r[i + 1] * load(z + (i + 1) * stride + j);
        }
        store(sums + j, even + odd);
    }
}

// What logits of two classes say of `count` rows: residuals p − y, curvatures p(1 − p), both weighted, and the loss.
void judge(const double* logits, const double* y, const double* weight, std::int64_t count, double* residuals, double* curvatures,
           LogisticSums& total) {
    vec losses{}, largest{}, wrong{};
    const vec zero{}, one = constant(1.0);
    for (std::int64_t i = 0; i < count; i += LANES) {
        vec target{}, w{};
        if (i + LANES <= count) {
            target = load(y + i);
            w = weight ? load(weight + i) : one;
        } else
            for (int l = 0; l < count - i; ++l) {
                target[l] = y[i + l];
                w[l] = weight ? weight[i + l] : 1.0;
            }
        const vec eta = load(logits + i);
        const vec size = eta < zero ? -eta : eta;
        const vec e = exp_of_negative(-size), share = one / (one + e), rest = e * share;
        const vec up = eta < zero ? rest : share, down = eta < zero ? share : rest;
        store(residuals + i, w * (target > 0.5 ? -down : up));
        store(curvatures + i, w * share * rest);
        losses += w * (log_of_one_plus(e) + (eta > zero ? eta : zero) - target * eta);
        const vec margin = target > 0.5 ? eta : -eta;
        largest = (w > zero) & (size > largest) ? size : largest;
        wrong += (w > zero) & (margin <= zero) ? one : zero;
    }
    total.loss += total_of(losses);
    total.mistakes += std::int64_t(total_of(wrong));
    for (int l = 0; l < LANES; ++l) total.largest = std::max(total.largest, largest[l]);
}

void logistic(const View& X, const double* y, const double* weight, Gauge g, const double* beta, double* H, double* gradient,
              LogisticSums& total) {
    const std::int64_t p = X.cols, few = Gauged::few(p);
    Packing packed(p, 0);
    Product product(packed.panels);
    const std::int64_t depth = H ? packed.depth : few;
    Gauged z(p, depth + Gauged::ROWS);
    Buffer slopes = make_buffer(std::size_t(z.stride)), coef = make_buffer(std::size_t(z.stride));
    std::copy_n(beta + 1, p, coef.get());
    std::vector<double> logits(std::size_t(depth + Gauged::ROWS)), r(logits), root(logits), zeros(std::size_t(p) + 1, 0.0), ones(std::size_t(p) + 1, 1.0);
    const View nothing{nullptr, X.rows, 0, 0, 0, false, nullptr};
    for (std::int64_t first = 0; first < X.rows; first += depth) {
        const std::int64_t count = std::min(depth, X.rows - first);
        for (std::int64_t top = 0; top < count; top += few) {
            const std::int64_t rows = std::min(few, count - top);
            gauge_rows(z, top, X, first + top, rows, g);
            double *eta = logits.data() + top, *residual = r.data() + top;
            for (std::int64_t i = 0; i < rows; i += Gauged::ROWS) scores_of(z.row(top + i), z.stride, coef.get(), beta[0], eta + i);
            judge(eta, y + first + top, weight ? weight + first + top : nullptr, rows, residual, root.data() + top, total);
            std::fill(residual + rows, residual + (rows + Gauged::ROWS - 1) / Gauged::ROWS * Gauged::ROWS, 0.0);
            for (std::int64_t i = 0; i < rows; i += Gauged::ROWS) add_rows(z.row(top + i), z.stride, residual + i, slopes.get());
            for (std::int64_t i = 0; i < rows; ++i) gradient[0] += residual[i];
        }
        if (!H) continue;
        for (std::int64_t i = 0; i < count; ++i) root[std::size_t(i)] = std::sqrt(root[std::size_t(i)]);
        const View gauged{z.cells.get(), count, p, z.stride, 1, false, nullptr};
        pack(packed, gauged, nothing, 0, count, Gauge{zeros.data(), ones.data()}, root.data());
        const std::int64_t after = first + count, ahead = std::min(depth, X.rows - after);
        product.add(packed, count, Ahead(X, after, ahead));
    }
    for (std::int64_t j = 0; j < p; ++j) gradient[1 + j] += slopes[std::size_t(j)];
    if (H) product.unpack(packed, H);
}

constexpr int TOGETHER = 4;  // rows whose logits, or columns whose slopes, are formed at a time

// V vectors of logits for TOGETHER rows.
template <int V>
void logits_of(const double* z, std::int64_t row, std::int64_t p, const double* B, std::int64_t stride, double* logits) {
    vec sum[TOGETHER][V];
    for (auto& sums : sum)
        for (int v = 0; v < V; ++v) sums[v] = load(B + v * LANES);
    for (std::int64_t j = 0; j < p; ++j) {
        vec b[V];
        for (int v = 0; v < V; ++v) b[v] = load(B + (1 + j) * stride + v * LANES);
        for (int r = 0; r < TOGETHER; ++r)
            for (int v = 0; v < V; ++v) sum[r][v] += z[r * row + j] * b[v];
    }
    for (int r = 0; r < TOGETHER; ++r)
        for (int v = 0; v < V; ++v) store(logits + r * stride + v * LANES, sum[r][v]);
}

// V vectors of the gradient for TOGETHER columns, from the residuals of some rows.
template <int V>
void slopes_of(const double* z, std::int64_t row, std::int64_t rows, const double* residual, std::int64_t stride, double* G) {
    vec sum[TOGETHER][V]{};
    for (std::int64_t i = 0; i < rows; ++i) {
        vec r[V];
        for (int v = 0; v < V; ++v) r[v] = load(residual + i * stride + v * LANES);
        for (int j = 0; j < TOGETHER; ++j)
            for (int v = 0; v < V; ++v) sum[j][v] += z[i * row + j] * r[v];
    }
    for (int j = 0; j < TOGETHER; ++j)
        for (int v = 0; v < V; ++v) store(G + j * stride + v * LANES, load(G + j * stride + v * LANES) + sum[j][v]);
}

// f(first lane, number of vectors) for all vectors, three, two or one at a time.
template <class F>
void in_vectors(std::int64_t vectors, F f) {
    std::int64_t v = 0;
    for (; v + 3 <= vectors && v + 4 != vectors; v += 3) f(v * LANES, std::integral_constant<int, 3>());
    for (; v + 2 <= vectors; v += 2) f(v * LANES, std::integral_constant<int, 2>());
    if (v < vectors) f(v * LANES, std::integral_constant<int, 1>());
}

// Logits of one row become residuals P − Y; `own` is the lane of its class, the reference being lane c. `lane` counts
// lanes; those beyond c are copies of the reference and are not kept.
void judge(double* eta, std::int64_t c, std::int64_t stride, const double* lane, const double* keep, std::int64_t own, double w,
           LogisticSums& total) {
    const double mine = eta[own], from = double(own), to = double(own == c ? stride : own + 1);
    vec highest = constant(-INFINITY), lowest{};
    for (std::int64_t k = 0; k < stride; k += LANES) {
        const vec v = load(eta + k), at = load(lane + k);
        highest = (v > highest) & ((at < from) | (at >= to)) ? v : highest;
        lowest = v < lowest ? v : lowest;
    }
    double rival = highest[0];
    for (int l = 1; l < LANES; ++l) rival = std::max(rival, highest[l]);
    const double top = std::max(mine, rival);
    vec sum{};
    for (std::int64_t k = 0; k < stride; k += LANES) {
        const vec e = exp_of_negative(load(eta + k) - top) * load(keep + k);
        sum += e;
        store(eta + k, e);
    }
    const double whole = total_of(sum), share = w / whole;
    for (std::int64_t k = 0; k < stride; k += LANES)
        store(eta + k, load(eta + k) * share - (load(lane + k) == from ? constant(w) : vec{}));
    total.loss += w * (top + std::log(whole) - mine);
    total.mistakes += mine <= rival;
    total.largest = std::max(total.largest, top);
    for (int l = 0; l < LANES; ++l) total.largest = std::max(total.largest, -lowest[l]);
}

void softmax(const View& X, const std::int32_t* codes, const double* weight, Gauge g, const double* B, std::int64_t c, double* gradient,
             LogisticSums& total) {
    const std::int64_t p = X.cols, few = Gauged::few(p), vectors = c / LANES + 1, stride = vectors * LANES;
    Gauged z(p, few + Gauged::ROWS);
    Buffer padded = make_buffer(std::size_t((1 + p) * stride)), slopes = make_buffer(std::size_t((1 + z.stride) * stride));
    Buffer logits = make_buffer(std::size_t((few + Gauged::ROWS) * stride)), keep = make_buffer(std::size_t(stride));
    Buffer lane = make_buffer(std::size_t(stride));
    for (std::int64_t j = 0; j <= p; ++j) std::copy_n(B + j * c, c, padded.get() + j * stride);
    std::fill_n(keep.get(), c + 1, 1.0);
    std::iota(lane.get(), lane.get() + stride, 0.0);
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t count = std::min(few, X.rows - first);
        gauge_rows(z, 0, X, first, count, g);
        for (std::int64_t i = 0; i < count; i += TOGETHER)
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                logits_of<V()>(z.row(i), z.stride, p, padded.get() + at, stride, logits.get() + i * stride + at);
            });
        for (std::int64_t i = 0; i < count; ++i) {
            double* eta = logits.get() + i * stride;
            const double w = weight ? weight[first + i] : 1.0;
            if (w == 0)
                std::fill_n(eta, stride, 0.0);
            else
                judge(eta, c, stride, lane.get(), keep.get(), codes[first + i] < 0 ? c : codes[first + i], w, total);
        }
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < stride; ++k) slopes[std::size_t(k)] += logits[std::size_t(i * stride + k)];
        for (std::int64_t j = 0; j < p; j += TOGETHER)
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                slopes_of<V()>(z.row(0) + j, z.stride, count, logits.get() + at, stride, slopes.get() + (1 + j) * stride + at);
            });
    }
    for (std::int64_t j = 0; j <= p; ++j)
        for (std::int64_t k = 0; k < c; ++k) gradient[j * c + k] += slopes[std::size_t(j * stride + k)];
}

// ---------------------------------------------------------------------------------------------- distances

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

void distances(const View& X, Gauge g, const double* roots, const double* moved, std::int64_t K, std::int64_t width, double* out) {
    const std::int64_t p = X.cols, few = Gauged::few(p), vectors = (width + LANES - 1) / LANES, stride = vectors * LANES;
    Gauged z(p, few + Gauged::ROWS);
    Buffer R = make_buffer(std::size_t(K * p * stride)), centre = make_buffer(std::size_t(K * stride));
    std::vector<std::int64_t> first_row(std::size_t(K * stride), p);  // of each column: half of a triangle is zero
    for (std::int64_t k = 0; k < K; ++k) {
        std::copy_n(moved + k * width, width, centre.get() + k * stride);
        for (std::int64_t j = p - 1; j >= 0; --j)
            for (std::int64_t c = 0; c < width; ++c) {
                const double value = roots[j * K * width + k * width + c];
                R[std::size_t((k * p + j) * stride + c)] = value;
                if (value != 0) first_row[std::size_t(k * stride + c)] = j;
            }
    }
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t count = std::min(few, X.rows - first);
        gauge_rows(z, 0, X, first, count, g);
        for (std::int64_t i = 0; i < count; i += TOGETHER)
            for (std::int64_t k = 0; k < K; ++k) {
                vec squares[TOGETHER]{};
                in_vectors(vectors, [&](std::int64_t at, auto V) {
                    const auto* begin = first_row.data() + k * stride + at;
                    const std::int64_t from = *std::min_element(begin, begin + V() * LANES);
                    add_squares<V()>(z.row(i), z.stride, from, p, R.get() + k * p * stride + at, centre.get() + k * stride + at, stride, squares);
                });
                for (std::int64_t r = 0; r < std::min<std::int64_t>(TOGETHER, count - i); ++r)
                    out[(first + i + r) * K + k] = total_of(squares[r]);
            }
    }
}

// ---------------------------------------------------------------------------------------------- triangle

constexpr int REFLECTORS = 4;  // applied together: a column is read and written once for four of them

// Rows of [1 | X | Y], column after column, so that a reflection walks contiguous memory.
struct Tile {
    std::int64_t depth, columns;
    Buffer cells;
    Tile(std::int64_t columns_) : depth(256), columns(columns_), cells(make_buffer(std::size_t(depth * columns_))) {}
    double* column(std::int64_t j) { return cells.get() + j * depth; }
};

template <class T>
void tile_view(Tile& to, const View& from, std::int64_t first, std::int64_t count, std::int64_t offset, const double* shift,
               const double* scale, const double* root) {
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

void triangle(const View& X, const View& Y, const double* weight, Gauge g, double* R) {
    const std::int64_t p = X.cols, m = 1 + p + Y.cols;
    Tile z(m);
    std::vector<double> root(static_cast<std::size_t>(z.depth)), none(static_cast<std::size_t>(z.depth));
    for (std::int64_t first = 0; first < X.rows; first += z.depth) {
        const std::int64_t count = std::min(z.depth, X.rows - first);
        const bool weighted = weigh(X, Y, weight, g, nullptr, first, count, root.data());
        const double* w = weighted ? root.data() : nullptr;
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
                if (square != 0) {
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

const Loops table = {LINEARLY_TEXT(ISA), gram, exact::ISA::exact_gram, logistic, softmax, distances, triangle, exact::ISA::exact_residual};

}  // namespace
}  // namespace ISA

const Loops* LINEARLY_JOIN(loops_, ISA)() { return &ISA::table; }

}  // namespace linearly
