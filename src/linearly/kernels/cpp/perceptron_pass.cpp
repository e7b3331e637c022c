// The perceptron pass over dense and sparse rows, two classes and K, plain and averaged. See perceptron_pass.hpp for
// the order of summation, which is the same everywhere.
#include "perceptron_pass.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#ifndef ISA
#define ISA baseline
#endif
#define LINEARLY_JOIN_(a, b) a##b
#define LINEARLY_JOIN(a, b) LINEARLY_JOIN_(a, b)

namespace linearly {
namespace ISA {
namespace {

#if defined(__AVX512F__)
constexpr int LANES = 8;
#elif defined(__AVX2__)
constexpr int LANES = 4;
#else
constexpr int LANES = 2;
#endif
constexpr int SUMS = 16, PARTS = SUMS / LANES;

// How far ahead of the arithmetic memory is prefetched. Hardware alone stops at the end of every page: 10 % slower on
// 1M × 100 dense rows. It cannot see that an index is an address: a third slower on sparse rows of a million features.
constexpr int BYTES_AHEAD = 1024;
constexpr std::int64_t ENTRIES_AHEAD = 128, ROWS_AHEAD = 2;  // rows: where they are walked out of order

typedef double vec __attribute__((vector_size(LANES * 8)));
typedef double vec_unaligned __attribute__((vector_size(LANES * 8), aligned(8)));
typedef float narrow_unaligned __attribute__((vector_size(LANES * 4), aligned(4)));
typedef long long bits __attribute__((vector_size(LANES * 8)));

inline vec load(const double* a) { return *reinterpret_cast<const vec_unaligned*>(a); }
inline vec load(const float* a) { return __builtin_convertvector(*reinterpret_cast<const narrow_unaligned*>(a), vec); }
inline void store(double* a, vec v) { *reinterpret_cast<vec_unaligned*>(a) = v; }
inline bool is_finite(double a) { return a - a == 0; }

// Adds the upper half of 2·HALF numbers to the lower, and so on until one is left.
template <int HALF, class T>
inline void halve(T* a) {
#pragma GCC unroll 8
    for (int i = 0; i < HALF; ++i) a[i] += a[i + HALF];
    if constexpr (HALF > 1) halve<HALF / 2>(a);
}

// The sixteen partial sums. Entries that do not fill a register come last and are added one by one: the
// registers are never stored in between, a store read back in another width would stall.
struct Sums {
    vec part[PARTS];
    Sums() {
        for (auto& p : part) p = vec{};
    }
    // product(l) for l < count < 16; whole(l) the same for a full register from l on.
    template <class One, class Whole>
    inline void add_rest(std::int64_t count, One&& product, Whole&& whole) {
#pragma GCC unroll 8
        for (int i = 0; i < PARTS; ++i) {
            const std::int64_t left = count - i * LANES;
            if (left >= LANES) {
                part[i] += whole(i * LANES);
            } else if (left > 0) {
                vec last{};
#pragma GCC unroll 8
                for (int l = 0; l < LANES - 1; ++l)
                    if (l < left) last[l] = product(i * LANES + l);
                part[i] += last;
            }
        }
    }
    inline double total() {
        halve<PARTS / 2>(part);
        double lane[LANES];
#pragma GCC unroll 8
        for (int l = 0; l < LANES; ++l) lane[l] = part[0][l];
        halve<LANES / 2>(lane);
        return lane[0];
    }
};

template <class T>
double largest_of(const T* x, std::int64_t n, double so_far) {
    // Without their sign, numbers are in the order of their bits; a NaN is above all.
    bits sign, most[2] = {bits{}, bits{}};
    for (int l = 0; l < LANES; ++l) sign[l] = 0x7fffffffffffffffLL;
    std::int64_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES)
        for (int i = 0; i < 2; ++i) {
            const bits a = reinterpret_cast<bits>(load(x + j + i * LANES)) & sign, larger = a > most[i];
            most[i] = (a & larger) | (most[i] & ~larger);
        }
    for (int i = 0; i < 2; ++i)
        for (int l = 0; l < LANES; ++l) so_far = std::max(so_far, reinterpret_cast<vec>(most[i])[l]);
    for (; j < n; ++j) so_far = std::max(so_far, std::fabs(double(x[j])));
    return so_far;
}

// --- rows: product with weights, addition to weights, largest entry ---------------------------------------------

template <class T>
struct DenseRow {
    const T* x;
    std::int64_t n;

    inline double dot(const double* w) const {
        Sums s;
        std::int64_t j = 0;
        for (; j + SUMS <= n; j += SUMS) {
            for (int line = 0; line < SUMS * int(sizeof(T)); line += 64)
                __builtin_prefetch(reinterpret_cast<const char*>(x + j) + BYTES_AHEAD + line);
#pragma GCC unroll 8
            for (int i = 0; i < PARTS; ++i) s.part[i] += load(x + j + i * LANES) * load(w + j + i * LANES);
        }
        s.add_rest(
            n - j, [&](std::int64_t l) { return double(x[j + l]) * w[j + l]; },
            [&](std::int64_t l) { return load(x + j + l) * load(w + j + l); });
        return s.total();
    }
    void dots(const Weights& weights, double* scores, double*) const {
        for (std::int64_t k = 0; k < weights.classes; ++k) scores[k] = dot(weights.w + k * n);
    }
    void add(double* w, double* u, double sign, double before, std::int64_t k, std::int64_t) const {
        w += k * n;
        for (std::int64_t j = 0; j < n; ++j) w[j] += sign * double(x[j]);
        if (!u) return;
        u += k * n;
        for (std::int64_t j = 0; j < n; ++j) u[j] += before * sign * double(x[j]);
    }
    double largest(double so_far) const { return largest_of(x, n, so_far); }
    bool indices_below(std::int64_t) const { return true; }
};

template <class T, class I>
struct SparseRow {
    const T* x;
    const I* at;
    std::int64_t n;
    std::int64_t ahead;  // entries from the start of this row on that may be looked at

    static inline vec gather(const double* w, const I* at) {
        vec g;
#pragma GCC unroll 8
        for (int l = 0; l < LANES; ++l) g[l] = w[at[l]];
        return g;
    }
    inline double dot(const double* w) const {
        Sums s;
        std::int64_t j = 0;
        for (; j + SUMS <= n; j += SUMS) {
            const I* later = at + (j + ENTRIES_AHEAD + SUMS <= ahead ? j + ENTRIES_AHEAD : j);
#pragma GCC unroll 16
            for (int l = 0; l < SUMS; ++l) __builtin_prefetch(w + later[l]);
            for (int line = 0; line < SUMS * int(sizeof(T)); line += 64)
                __builtin_prefetch(reinterpret_cast<const char*>(x + j) + BYTES_AHEAD + line, 0, 0);
            __builtin_prefetch(reinterpret_cast<const char*>(at + j) + BYTES_AHEAD, 0, 0);
#pragma GCC unroll 8
            for (int i = 0; i < PARTS; ++i) s.part[i] += load(x + j + i * LANES) * gather(w, at + j + i * LANES);
        }
        s.add_rest(
            n - j, [&](std::int64_t l) { return double(x[j + l]) * w[at[j + l]]; },
            [&](std::int64_t l) { return load(x + j + l) * gather(w, at + j + l); });
        return s.total();
    }
    void dots(const Weights& weights, double* scores, double* lanes) const {
        const std::int64_t K = weights.classes;
        std::fill_n(lanes, SUMS * K, 0.0);
        for (std::int64_t j = 0; j < n; ++j) {
            const double a = double(x[j]);
            const double* w = weights.w + std::int64_t(at[j]) * K;
            double* lane = lanes + (j % SUMS) * K;
            for (std::int64_t k = 0; k < K; ++k) lane[k] += a * w[k];
        }
        for (int half = SUMS / 2; half; half /= 2)
            for (std::int64_t i = 0; i < half * K; ++i) lanes[i] += lanes[i + half * K];
        std::copy_n(lanes, K, scores);
    }
    void add(double* w, double* u, double sign, double before, std::int64_t k, std::int64_t K) const {
        for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t cell = std::int64_t(at[j]) * K + k;
            const double a = sign * double(x[j]);
            w[cell] += a;
            if (u) u[cell] += before * a;
        }
    }
    double largest(double so_far) const { return largest_of(x, n, so_far); }
    bool indices_below(std::int64_t cols) const {
        std::make_unsigned_t<I> most = 0;  // a negative index is a large one
        for (std::int64_t j = 0; j < n; ++j) most = std::max(most, std::make_unsigned_t<I>(at[j]));
        return n == 0 || std::uint64_t(most) < std::uint64_t(cols);
    }
};

// --- where rows come from ---------------------------------------------------------------------------------------

template <class T>
struct Contiguous {
    const T* data;
    std::int64_t stride, cols;
    const std::int64_t* order;
    std::int64_t steps;

    std::int64_t index(std::int64_t i) const { return order ? order[i] : i; }
    DenseRow<T> row(std::int64_t i) const {
        if (order && i + ROWS_AHEAD < steps) {
            const char* next = reinterpret_cast<const char*>(data + order[i + ROWS_AHEAD] * stride);
            for (std::int64_t line = 0; line < std::min<std::int64_t>(cols * sizeof(T), 4096); line += 64)
                __builtin_prefetch(next + line);
        }
        return {data + index(i) * stride, cols};
    }
};

// Rows whose entries lie apart (column-major arrays): a tile of them at a time is copied side by side.
template <class T>
struct Tiled {
    const View& X;
    const std::int64_t* order;
    std::int64_t steps, depth, first, last;
    std::vector<double> tile;

    Tiled(const View& X_, const PassArgs& walk)
        : X(X_), order(walk.order), steps(walk.steps),
          depth(std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(X.cols, 1), 1, 64)), first(0), last(0),
          tile(std::size_t(depth * X.cols)) {}
    std::int64_t index(std::int64_t i) const { return order ? order[i] : i; }
    DenseRow<double> row(std::int64_t i) {
        if (i >= last) {
            first = i, last = std::min(i + depth, steps);
            const T* data = static_cast<const T*>(X.data);
            for (std::int64_t j = 0; j < X.cols; ++j)
                for (std::int64_t r = first; r < last; ++r)
                    tile[std::size_t((r - first) * X.cols + j)] =
                        double(data[index(r) * X.row_stride + j * X.col_stride]);
        }
        return {tile.data() + (i - first) * X.cols, X.cols};
    }
};

template <class T, class I>
struct Compressed {
    const T* values;
    const I *indices, *offsets;
    const std::int64_t* order;
    std::int64_t steps, entries, classes;
    const double* w;

    std::int64_t index(std::int64_t i) const { return order ? order[i] : i; }
    SparseRow<T, I> at(std::int64_t i) const {
        const std::int64_t r = index(i), start = std::int64_t(offsets[r]), stop = std::int64_t(offsets[r + 1]);
        return {values + start, indices + start, stop - start, (order ? stop : entries) - start};
    }
    SparseRow<T, I> row(std::int64_t i) const {
        if (order && i + ROWS_AHEAD < steps) {
            const SparseRow<T, I> next = at(i + ROWS_AHEAD);
            for (std::int64_t j = 0; j < next.n; ++j) __builtin_prefetch(w + std::int64_t(next.at[j]) * classes);
        }
        return at(i);
    }
};

// --- the passes of two classes and of K classes -----------------------------------------------------------------

template <class Row>
bool measured(const Row& row, const Weights& weights, const PassArgs& walk, PassResult& out) {
    if (!walk.measure) return true;
    if (!row.indices_below(weights.cols)) {
        out.problem = PassResult::bad_index;
        return false;
    }
    out.largest = row.largest(out.largest);
    return true;
}

template <class Rows>
PassResult two_classes(Rows& rows, const Weights& weights, const PassArgs& walk) {
    PassResult out;
    for (; out.walked < walk.steps && out.found < walk.most; ++out.walked) {
        const auto row = rows.row(out.walked);
        if (!measured(row, weights, walk, out)) return out;
        const double score = row.dot(weights.w) + (weights.b ? *weights.b : 0.0);
        const double y = walk.labels[rows.index(out.walked)] ? 1.0 : -1.0;
        if (y * score > 0 && is_finite(score)) continue;
        if (!is_finite(score)) {
            out.problem = PassResult::not_finite;
            return out;
        }
        const double before = walk.seen + double(out.walked);
        row.add(weights.w, weights.u, y, before, 0, 1);
        if (weights.b) *weights.b += y;
        if (weights.b && weights.u) *weights.c += before * y;
        walk.mistakes[out.found++] = out.walked;
    }
    return out;
}

template <class Rows>
PassResult many_classes(Rows& rows, const Weights& weights, const PassArgs& walk) {
    PassResult out;
    const std::int64_t K = weights.classes;
    std::vector<double> scores(static_cast<std::size_t>(K)), lanes(static_cast<std::size_t>(SUMS * K));
    for (; out.walked < walk.steps && out.found < walk.most; ++out.walked) {
        const auto row = rows.row(out.walked);
        if (!measured(row, weights, walk, out)) return out;
        row.dots(weights, scores.data(), lanes.data());
        const std::int64_t own = walk.labels[rows.index(out.walked)];
        std::int64_t rival = own == 0;
        bool finite = true;
        for (std::int64_t k = 0; k < K; ++k) {
            if (weights.b) scores[k] += weights.b[k];
            finite &= is_finite(scores[k]);
        }
        if (!finite) {
            out.problem = PassResult::not_finite;
            return out;
        }
        for (std::int64_t k = 0; k < K; ++k)
            if (k != own && scores[k] > scores[rival]) rival = k;
        if (scores[own] > scores[rival]) continue;
        const double before = walk.seen + double(out.walked);
        row.add(weights.w, weights.u, 1.0, before, own, K);
        row.add(weights.w, weights.u, -1.0, before, rival, K);
        if (weights.b) weights.b[own] += 1.0, weights.b[rival] -= 1.0;
        if (weights.b && weights.u) weights.c[own] += before, weights.c[rival] -= before;
        walk.rivals[out.found] = std::int32_t(rival);
        walk.mistakes[out.found++] = out.walked;
    }
    return out;
}

// Counts the rows that fixed weights classify wrongly.
template <class Rows>
PassResult wrong(Rows& rows, const Weights& weights, const PassArgs& walk) {
    PassResult out;
    const std::int64_t K = weights.classes;
    std::vector<double> scores(static_cast<std::size_t>(K)), lanes(static_cast<std::size_t>(SUMS * K));
    for (; out.walked < walk.steps; ++out.walked) {
        const auto row = rows.row(out.walked);
        if (!row.indices_below(weights.cols)) {
            out.problem = PassResult::bad_index;
            return out;
        }
        std::int64_t predicted = 0;
        if (K == 1) {
            predicted = row.dot(weights.w) + (weights.b ? *weights.b : 0.0) >= 0;
        } else {
            row.dots(weights, scores.data(), lanes.data());
            for (std::int64_t k = 0; k < K && weights.b; ++k) scores[k] += weights.b[k];
            predicted = std::max_element(scores.begin(), scores.end()) - scores.begin();
        }
        out.found += predicted != walk.labels[rows.index(out.walked)];
    }
    return out;
}

template <class Rows>
PassResult run_pass(Rows rows, const Weights& weights, const PassArgs& walk) {
    if (!walk.mistakes) return wrong(rows, weights, walk);
    return weights.classes == 1 ? two_classes(rows, weights, walk) : many_classes(rows, weights, walk);
}

template <class T>
PassResult perceptron_pass_dense(const View& X, const Weights& weights, const PassArgs& walk) {
    if (X.col_stride == 1 || X.cols == 1)
        return run_pass(Contiguous<T>{static_cast<const T*>(X.data), X.row_stride, X.cols, walk.order, walk.steps},
                        weights, walk);
    return run_pass(Tiled<T>(X, walk), weights, walk);
}

template <class T, class I>
PassResult perceptron_pass_sparse(const Sparse& X, const Weights& weights, const PassArgs& walk) {
    const I* offsets = static_cast<const I*>(X.offsets);
    return run_pass(Compressed<T, I>{static_cast<const T*>(X.values), static_cast<const I*>(X.indices), offsets,
                                     walk.order, walk.steps, std::int64_t(offsets[X.rows]), weights.classes, weights.w},
                    weights, walk);
}

PassResult dense(const View& X, const Weights& weights, const PassArgs& walk) {
    return X.is_float32 ? perceptron_pass_dense<float>(X, weights, walk)
                        : perceptron_pass_dense<double>(X, weights, walk);
}

PassResult sparse(const Sparse& X, const Weights& weights, const PassArgs& walk) {
    if (X.wide_indices)
        return X.is_float32 ? perceptron_pass_sparse<float, std::int64_t>(X, weights, walk)
                            : perceptron_pass_sparse<double, std::int64_t>(X, weights, walk);
    return X.is_float32 ? perceptron_pass_sparse<float, std::int32_t>(X, weights, walk)
                        : perceptron_pass_sparse<double, std::int32_t>(X, weights, walk);
}

const PassTable table = {dense, sparse};

}  // namespace
}  // namespace ISA

const PassTable* LINEARLY_JOIN(pass_table_, ISA)() { return &ISA::table; }

}  // namespace linearly
