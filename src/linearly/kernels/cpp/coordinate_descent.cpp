// Sweeps of coordinate descent for ½‖residual‖² + Σ λ|w| + ½ Σ μw².
#include <algorithm>
#include <cmath>

#include "kernel_table.hpp"
#include "vectors.hpp"

namespace linearly::ISA {
namespace {

constexpr std::int64_t EVERY =
    10;  // of so many sweeps, one goes over all features, the others over those that are not 0

double dot(const double* a, const double* b, std::int64_t n) {
    vec sum[4]{};
    std::int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int v = 0; v < 4; ++v) sum[v] += load(a + i + v * LANES) * load(b + i + v * LANES);
    for (; i + LANES <= n; i += LANES) sum[0] += load(a + i) * load(b + i);
    double total = total_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; i < n; ++i) total += a[i] * b[i];
    return total;
}

void add(double* a, double factor, const double* b, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + LANES <= n; i += LANES) store(a + i, load(a + i) + factor * load(b + i));
    for (; i < n; ++i) a[i] += factor * b[i];
}

}  // namespace

std::int64_t coordinate_descent(const double* columns, std::int64_t n, const std::int64_t* places, std::int64_t m,
                                const double* squares, const double* lam, const double* mu, double tolerance,
                                std::int64_t most, double* w, double* residual) {
    bool all = true;
    std::int64_t sweep = 0;
    while (sweep < most) {
        double largest = 0;
        for (std::int64_t j = 0; j < m; ++j) {
            if (!all && w[j] == 0) continue;
            const double* column = columns + places[j] * n;
            const double slope = dot(column, residual, n) + squares[j] * w[j], excess = std::fabs(slope) - lam[j];
            const double change = (excess > 0 ? std::copysign(excess / (squares[j] + mu[j]), slope) : 0.0) - w[j];
            if (change == 0) continue;
            add(residual, -change, column, n);
            w[j] = excess > 0 ? w[j] + change : 0.0;
            largest = std::max(largest, std::fabs(change));
        }
        ++sweep;
        if (largest <= tolerance && all) break;
        all = largest <= tolerance || sweep % EVERY == 0;
    }
    return sweep;
}

}  // namespace linearly::ISA
