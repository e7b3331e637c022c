// Sums of products in double-double: each sum carries a second float64 with what rounding left over, so a Gram
// keeps about 30 digits (Ogita, Rump & Oishi 2005, Accurate sum and dot product).
#include "extended.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace linearly::extended::ISA {
namespace {

#if defined(__AVX512F__)
constexpr int LANES = 8;
#elif defined(__AVX2__)
constexpr int LANES = 4;
#else
constexpr int LANES = 2;
#endif
constexpr std::int64_t DEPTH = 128;  // packed rows; the four packed copies of 50 columns sit in L2

typedef double vec __attribute__((vector_size(LANES * 8), aligned(8)));

inline vec load(const double* a) { return *reinterpret_cast<const vec*>(a); }

// What rounding took from a·b. Without a fused instruction Dekker's splitting gives the same bits.
inline double product_error(double a, double b, double product) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, -product);
#else
    const double ca = 134217729.0 * a, cb = 134217729.0 * b;
    const double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
#endif
}

inline vec product_error(vec a, vec b, vec product) {
    vec error;
    for (int l = 0; l < LANES; ++l) error[l] = product_error(a[l], b[l], product[l]);
    return error;
}

// (s, c) += (x, e): s stays the float64 sum, c collects every error (Knuth's two-sum).
template <class V>
inline void accumulate(V& s, V& c, V x, V e) {
    const V t = s + x, back = t - s;
    c += ((s - (t - back)) + (x - back)) + e;
    s = t;
}

// (s, c) with c small beside s.
inline void renormalise(double& s, double& c) {
    const double t = s + c;
    c = c - (t - s);
    s = t;
}

struct Pairs {
    std::vector<double> high, low;
    explicit Pairs(std::int64_t n) : high(std::size_t(n)), low(std::size_t(n)) {}
};

double value(const View& v, std::int64_t i, std::int64_t j) {
    const std::int64_t at = i * v.row_stride + j * v.col_stride;
    return v.is_float32 ? double(static_cast<const float*>(v.data)[at]) : static_cast<const double*>(v.data)[at];
}

// Column j of Z = [1 | X | Y] in the scaling, `count` rows from `first`, zeros up to DEPTH.
void column_of(const View& X, const View& X_low, const View& Y, ColumnScaling g, std::int64_t j, std::int64_t first,
               std::int64_t count, double* high, double* low, std::int64_t stride) {
    const std::int64_t p = X.cols;
    for (std::int64_t r = 0; r < DEPTH; ++r) {
        double h = 0, l = 0;
        if (r < count) {
            if (j == 0) {
                h = 1;
            } else {
                const double x = j <= p ? value(X, first + r, j - 1) : value(Y, first + r, j - 1 - p);
                const double s = g.shift[j - 1], unit = g.scale[j - 1];
                h = x - s;
                const double back = h - x;
                l = (x - (h - back)) - (s + back);
                if (j <= p && X_low.cols) l += value(X_low, first + r, j - 1);
                renormalise(h, l);
                h *= unit;
                l *= unit;
            }
        }
        high[r * stride] = h;
        low[r * stride] = l;
    }
}

// Panels of LANES columns: [panel][row][lane].
void pack(const View& X, const View& X_low, const View& Y, ColumnScaling g, std::int64_t first, std::int64_t count,
          std::int64_t columns, Pairs& to) {
    for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t at = (j / LANES) * DEPTH * LANES + j % LANES;
        column_of(X, X_low, Y, g, j, first, count, to.high.data() + at, to.low.data() + at, LANES);
    }
}

}  // namespace

void gram_extended(const View& X, const View& X_low, const View& Y, const double* weight, ColumnScaling g, double* high,
                   double* low) {
    const std::int64_t m = 1 + X.cols + Y.cols, panels = (m + LANES - 1) / LANES, size = DEPTH * LANES;
    Pairs plain(panels * size), weighted(weight ? panels * size : 0);
    Pairs sums(panels * panels * LANES * LANES);
    for (std::int64_t first = 0; first < X.rows; first += DEPTH) {
        const std::int64_t count = std::min(DEPTH, X.rows - first);
        pack(X, X_low, Y, g, first, count, m, plain);
        if (weight)
            for (std::int64_t q = 0; q < panels; ++q)
                for (std::int64_t r = 0; r < DEPTH; ++r) {
                    const double w = r < count ? weight[first + r] : 0.0;
                    for (int l = 0; l < LANES; ++l) {
                        const std::int64_t at = q * size + r * LANES + l;
                        const double product = w * plain.high[at];
                        weighted.high[at] = product;
                        weighted.low[at] = product_error(w, plain.high[at], product) + w * plain.low[at];
                    }
                }
        const Pairs& left = weight ? weighted : plain;
        for (std::int64_t i = 0; i < panels; ++i)
            for (std::int64_t j = i; j < panels; ++j) {
                const double *ah = left.high.data() + i * size, *al = left.low.data() + i * size;
                const double *bh = plain.high.data() + j * size, *bl = plain.low.data() + j * size;
                vec s[LANES], c[LANES];
                for (int a = 0; a < LANES; ++a) s[a] = c[a] = vec{};
                for (std::int64_t r = 0; r < count; ++r) {
                    const vec b = load(bh + r * LANES), b_low = load(bl + r * LANES);
#pragma GCC unroll 8
                    for (int a = 0; a < LANES; ++a) {
                        const vec x = vec{} + ah[r * LANES + a], x_low = vec{} + al[r * LANES + a];
                        const vec product = x * b;
                        accumulate(s[a], c[a], product, product_error(x, b, product) + (x * b_low + x_low * b));
                    }
                }
                double *sh = sums.high.data() + (i * panels + j) * LANES * LANES,
                       *sl = sums.low.data() + (i * panels + j) * LANES * LANES;
                for (int a = 0; a < LANES; ++a)
                    for (int b = 0; b < LANES; ++b) accumulate(sh[a * LANES + b], sl[a * LANES + b], s[a][b], c[a][b]);
            }
    }
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = i; j < m; ++j) {
            const std::int64_t at =
                ((i / LANES) * panels + j / LANES) * LANES * LANES + (i % LANES) * LANES + j % LANES;
            double h = high[i * m + j], l = low[i * m + j];
            accumulate(h, l, sums.high[at], sums.low[at]);
            renormalise(h, l);
            high[i * m + j] = high[j * m + i] = h;
            low[i * m + j] = low[j * m + i] = l;
        }
}

void residual_extended(const View& X, const View& X_low, const View& Y, const double* weight, ColumnScaling g,
                       const double* B_high, const double* B_low, double* high, double* low) {
    const std::int64_t p = X.cols, k = Y.cols, m = 1 + p;
    Pairs z(m * DEPTH), r(DEPTH), wr(DEPTH);
    Pairs sums((m + 1) * k);
    for (std::int64_t first = 0; first < X.rows; first += DEPTH) {
        const std::int64_t count = std::min(DEPTH, X.rows - first);
        for (std::int64_t j = 0; j < m; ++j)
            column_of(X, X_low, Y, g, j, first, count, z.high.data() + j * DEPTH, z.low.data() + j * DEPTH, 1);
        for (std::int64_t t = 0; t < k; ++t) {
            double *rh = r.high.data(), *rl = r.low.data();
            column_of(X, X_low, Y, g, m + t, first, count, rh, rl, 1);
            for (std::int64_t j = 0; j < m; ++j) {
                const double *zh = z.high.data() + j * DEPTH, *zl = z.low.data() + j * DEPTH;
                const double bh = -B_high[j * k + t], bl = -B_low[j * k + t];
                for (std::int64_t i = 0; i < DEPTH; ++i) {
                    const double product = zh[i] * bh;
                    accumulate(rh[i], rl[i], product, product_error(zh[i], bh, product) + (zh[i] * bl + zl[i] * bh));
                }
            }
            for (std::int64_t i = 0; i < DEPTH; ++i) renormalise(rh[i], rl[i]);
            for (std::int64_t i = 0; i < DEPTH; ++i) {
                const double w = i < count ? (weight ? weight[first + i] : 1.0) : 0.0;
                const double product = w * rh[i];
                wr.high[i] = product;
                wr.low[i] = product_error(w, rh[i], product) + w * rl[i];
            }
            for (std::int64_t j = 0; j <= m; ++j) {
                const double *zh = j < m ? z.high.data() + j * DEPTH : rh, *zl = j < m ? z.low.data() + j * DEPTH : rl;
                double &sh = sums.high[j * k + t], &sl = sums.low[j * k + t];
                for (std::int64_t i = 0; i < DEPTH; ++i) {
                    const double a = zh[i], b = wr.high[i], product = a * b;
                    accumulate(sh, sl, product, product_error(a, b, product) + (a * wr.low[i] + zl[i] * b));
                }
            }
        }
    }
    for (std::int64_t i = 0; i < (m + 1) * k; ++i) {
        double h = high[i], l = low[i];
        accumulate(h, l, sums.high[i], sums.low[i]);
        renormalise(h, l);
        high[i] = h;
        low[i] = l;
    }
}

}  // namespace linearly::extended::ISA
