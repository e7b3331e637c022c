// Dense float64 loops: the packed Gram and the triangle. Compiled once for each instruction set (see
// CMakeLists.txt); vectors are the compiler's own extension, so there is no intrinsic to port.
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
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
    for (std::int64_t j = 0; j < m; ++j) {
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

// The rows to come, cache line by cache line; none where they are not stored row by row.
class Ahead {
  public:
    std::int64_t lines = 0;

    Ahead(const View& X, std::int64_t first, std::int64_t count) : X_(X), row_(first) {
        if (X.col_stride != 1 || count <= 0) return;
        const bool together = !X.index && X.row_stride == X.cols;
        a_row_ = ((together ? count : 1) * X.cols * width() + 63) / 64 + (X.index ? 1 : 0);
        lines = together ? a_row_ : count * a_row_;
        begin_row();
    }

    const char* next() {
        const char* line = here_;
        here_ += 64;
        if (--left_ == 0) {
            ++row_;
            if ((lines -= a_row_) > 0) begin_row();
        }
        return line;
    }

  private:
    const View& X_;
    std::int64_t row_, a_row_ = 0, left_ = 0;
    const char* here_ = nullptr;

    std::int64_t width() const { return X_.is_float32 ? 4 : 8; }
    void begin_row() {
        here_ = static_cast<const char*>(X_.data) + X_.at(row_) * X_.row_stride * width();
        left_ = a_row_;
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

template <class T>
void add_rows(const View& X, std::int64_t first, std::int64_t count, Gauge g, const double* r, double* sums) {
    const T* data = static_cast<const T*>(X.data) + first * X.row_stride;
    const std::int64_t p = X.cols;
    if (X.col_stride == 1) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* row = data + i * X.row_stride;
            for (std::int64_t j = 0; j < p; ++j) sums[j] += r[i] * ((double(row[j]) - g.shift[j]) * g.scale[j]);
        }
        return;
    }
    for (std::int64_t j = 0; j < p; ++j) {
        const T* column = data + j * X.col_stride;
        double sum = 0;
        for (std::int64_t i = 0; i < count; ++i) sum += r[i] * (double(column[i * X.row_stride]) - g.shift[j]);
        sums[j] += sum * g.scale[j];
    }
}

void logistic(const View& X, const double* y, const double* weight, Gauge g, const double* beta, double* H, double* gradient,
              LogisticSums& total) {
    const std::int64_t p = X.cols;
    const View nothing{nullptr, X.rows, 0, 0, 0, false, nullptr};
    Packing z(p, 0);
    Product product(z.panels);
    std::vector<double> logit(static_cast<std::size_t>(z.depth)), r(logit), root(logit);
    for (std::int64_t first = 0; first < X.rows; first += z.depth) {
        const std::int64_t count = std::min(z.depth, X.rows - first);
        std::fill(logit.begin(), logit.end(), -beta[0]);
        if (X.is_float32)
            residuals_of<float>(X, first, count, g, beta + 1, logit.data());
        else
            residuals_of<double>(X, first, count, g, beta + 1, logit.data());
        vec losses{}, largest{}, wrong{};
        for (std::int64_t i = 0; i < count; i += LANES) {
            vec target{}, w{};
            for (int l = 0; l < LANES; ++l)
                if (i + l < count) {
                    target[l] = y[first + i + l];
                    w[l] = weight ? weight[first + i + l] : 1.0;
                }
            const vec zero{}, one = constant(1.0), eta = -load(&logit[std::size_t(i)]);
            const vec size = eta < zero ? -eta : eta;
            const vec e = exp_of_negative(-size), share = one / (one + e), rest = e * share;
            const vec up = eta < zero ? rest : share, down = eta < zero ? share : rest;
            store(&r[std::size_t(i)], w * (target > 0.5 ? -down : up));
            store(&root[std::size_t(i)], w * share * rest);
            losses += w * (log_of_one_plus(e) + (eta > zero ? eta : zero) - target * eta);
            const vec margin = target > 0.5 ? eta : -eta;
            largest = (w > zero) & (size > largest) ? size : largest;
            wrong += (w > zero) & (margin <= zero) ? one : zero;
        }
        for (int l = 0; l < LANES; ++l) {
            total.loss += losses[l];
            total.largest = std::max(total.largest, largest[l]);
            total.mistakes += std::int64_t(wrong[l]);
        }
        for (std::int64_t i = 0; i < count; ++i) gradient[0] += r[std::size_t(i)];
        if (X.is_float32)
            add_rows<float>(X, first, count, g, r.data(), gradient + 1);
        else
            add_rows<double>(X, first, count, g, r.data(), gradient + 1);
        if (!H) continue;
        for (std::int64_t i = 0; i < count; ++i) root[std::size_t(i)] = std::sqrt(root[std::size_t(i)]);
        pack(z, X, nothing, first, count, g, root.data());
        const std::int64_t after = first + count, ahead = std::min(z.depth, X.rows - after);
        product.add(z, count, Ahead(X, after, ahead));
    }
    if (H) product.unpack(z, H);
}

constexpr std::int64_t TILE = 64;  // rows of logits at a time: their features stay in L2 for the second half
constexpr int TOGETHER = 4;        // rows that share a load of B, or a load and a store of the gradient

// Rows of the tile in the gauge, row after row.
template <class T>
void gauge_rows(const View& X, std::int64_t first, std::int64_t count, Gauge g, double* to) {
    const T* data = static_cast<const T*>(X.data) + first * X.row_stride;
    const std::int64_t p = X.cols;
    if (X.col_stride == 1) {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t j = 0; j < p; ++j) to[i * p + j] = (double(data[i * X.row_stride + j]) - g.shift[j]) * g.scale[j];
        return;
    }
    for (std::int64_t j = 0; j < p; ++j)
        for (std::int64_t i = 0; i < count; ++i)
            to[i * p + j] = (double(data[i * X.row_stride + j * X.col_stride]) - g.shift[j]) * g.scale[j];
}

// V vectors of logits for TOGETHER rows, or of the gradient from their residuals.
template <int V>
void logits_of(const double* z, std::int64_t p, const double* B, std::int64_t stride, double* logits) {
    vec sum[TOGETHER][V];
    for (auto& row : sum)
        for (int v = 0; v < V; ++v) row[v] = load(B + v * LANES);
    for (std::int64_t j = 0; j < p; ++j) {
        vec b[V];
        for (int v = 0; v < V; ++v) b[v] = load(B + (1 + j) * stride + v * LANES);
        for (int r = 0; r < TOGETHER; ++r)
            for (int v = 0; v < V; ++v) sum[r][v] += z[r * p + j] * b[v];
    }
    for (int r = 0; r < TOGETHER; ++r)
        for (int v = 0; v < V; ++v) store(logits + r * stride + v * LANES, sum[r][v]);
}

template <int V>
void slopes_of(const double* z, std::int64_t p, const double* residual, std::int64_t stride, double* G) {
    vec r[TOGETHER][V];
    for (int i = 0; i < TOGETHER; ++i)
        for (int v = 0; v < V; ++v) r[i][v] = load(residual + i * stride + v * LANES);
    for (int v = 0; v < V; ++v) store(G + v * LANES, load(G + v * LANES) + ((r[0][v] + r[1][v]) + (r[2][v] + r[3][v])));
    for (std::int64_t j = 0; j < p; ++j)
        for (int v = 0; v < V; ++v) {
            double* cell = G + (1 + j) * stride + v * LANES;
            vec g = load(cell);
            for (int i = 0; i < TOGETHER; ++i) g += z[i * p + j] * r[i][v];
            store(cell, g);
        }
}

void softmax(const View& X, const std::int32_t* codes, const double* weight, Gauge g, const double* B, std::int64_t c, double* gradient,
             LogisticSums& total) {
    const std::int64_t p = X.cols, vectors = (c + LANES - 1) / LANES, stride = vectors * LANES;
    Buffer padded = make_buffer(std::size_t((1 + p) * stride)), slopes = make_buffer(std::size_t((1 + p) * stride));
    Buffer z = make_buffer(std::size_t(TILE * p)), logits = make_buffer(std::size_t(TILE * stride));
    for (std::int64_t j = 0; j <= p; ++j)
        for (std::int64_t k = 0; k < stride; ++k) padded[std::size_t(j * stride + k)] = k < c ? B[j * c + k] : 0.0;
    for (std::int64_t first = 0; first < X.rows; first += TILE) {
        const std::int64_t count = std::min(TILE, X.rows - first);
        if (X.is_float32)
            gauge_rows<float>(X, first, count, g, z.get());
        else
            gauge_rows<double>(X, first, count, g, z.get());
        if (count < TILE) std::fill(z.get() + count * p, z.get() + TILE * p, 0.0);
        for (std::int64_t i = 0; i < count; i += TOGETHER) {
            std::int64_t v = 0;
            for (; v + 2 <= vectors; v += 2)
                logits_of<2>(z.get() + i * p, p, padded.get() + v * LANES, stride, logits.get() + i * stride + v * LANES);
            for (; v < vectors; ++v)
                logits_of<1>(z.get() + i * p, p, padded.get() + v * LANES, stride, logits.get() + i * stride + v * LANES);
        }
        for (std::int64_t i = 0; i < TILE; ++i) {
            double* eta = logits.get() + i * stride;
            const double w = i < count ? (weight ? weight[first + i] : 1.0) : 0.0;
            if (w == 0) {
                std::fill(eta, eta + stride, 0.0);
                continue;
            }
            const std::int32_t own = codes[first + i];
            double top = 0, rival = own < 0 ? -INFINITY : 0.0, largest = 0;
            for (std::int64_t k = 0; k < c; ++k) {
                top = std::max(top, eta[k]);
                largest = std::max(largest, std::fabs(eta[k]));
                if (k != own) rival = std::max(rival, eta[k]);
            }
            const double mine = own < 0 ? 0.0 : eta[own];
            total.largest = std::max(total.largest, largest);
            total.mistakes += mine <= rival;
            vec sum{};
            for (std::int64_t k = 0; k < stride; k += LANES) {
                vec e = exp_of_negative(load(eta + k) - top);
                if (k + LANES > c)
                    for (int l = 0; l < LANES; ++l)
                        if (k + l >= c) e[l] = 0;
                sum += e;
                store(eta + k, e);
            }
            double whole = std::exp(-top);
            for (int l = 0; l < LANES; ++l) whole += sum[l];
            total.loss += w * (top + std::log(whole) - mine);
            for (std::int64_t k = 0; k < stride; k += LANES) store(eta + k, load(eta + k) * (w / whole));
            if (own >= 0) eta[own] -= w;
        }
        for (std::int64_t i = 0; i < count; i += TOGETHER) {
            std::int64_t v = 0;
            for (; v + 2 <= vectors; v += 2)
                slopes_of<2>(z.get() + i * p, p, logits.get() + i * stride + v * LANES, stride, slopes.get() + v * LANES);
            for (; v < vectors; ++v)
                slopes_of<1>(z.get() + i * p, p, logits.get() + i * stride + v * LANES, stride, slopes.get() + v * LANES);
        }
    }
    for (std::int64_t j = 0; j <= p; ++j)
        for (std::int64_t k = 0; k < c; ++k) gradient[j * c + k] += slopes[std::size_t(j * stride + k)];
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

const Loops table = {LINEARLY_TEXT(ISA), gram, exact::ISA::exact_gram, logistic, softmax, triangle, exact::ISA::exact_residual};

}  // namespace
}  // namespace ISA

const Loops* LINEARLY_JOIN(loops_, ISA)() { return &ISA::table; }

}  // namespace linearly
