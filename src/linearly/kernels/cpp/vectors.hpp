// Vectors of doubles by the compiler's own extension, so there is no intrinsic to port; memory that suits them; exp and
// log of whole vectors. Every instruction set has its own copy of what is here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#ifndef ISA
#define ISA baseline
#endif

namespace linearly::ISA {
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
[[maybe_unused]] Buffer make_buffer(std::size_t n) {
    auto* a = static_cast<double*>(::operator new[](n * sizeof(double), std::align_val_t(64)));
    std::fill_n(a, n, 0.0);
    return Buffer(a);
}

inline double total_of(vec v) {
    double sum = v[0];
    for (int l = 1; l < LANES; ++l) sum += v[l];
    return sum;
}

// f(first lane, number of vectors) for all vectors, three, two or one at a time.
template <class F>
void in_vectors(std::int64_t vectors, F f) {
    std::int64_t v = 0;
    for (; v + 3 <= vectors && v + 4 != vectors; v += 3) f(v * LANES, std::integral_constant<int, 3>());
    for (; v + 2 <= vectors; v += 2) f(v * LANES, std::integral_constant<int, 2>());
    if (v < vectors) f(v * LANES, std::integral_constant<int, 1>());
}

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
    const double inverse[] = {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0,
                              120.0,       24.0,       6.0,       2.0,      1.0,     1.0};
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

}  // namespace
}  // namespace linearly::ISA
