// Logistic regression of two classes: loss, gradient and Hessian in one read of the rows; probabilities in another.
#include <cmath>

#include "gauged.hpp"
#include "packing.hpp"

namespace linearly::ISA {
namespace {

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

}  // namespace

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

void probabilities(const View& X, const double* beta, double* out) {
    const std::int64_t p = X.cols, few = Gauged::few(p);
    Gauged z(p, few + Gauged::ROWS);
    Buffer coef = make_buffer(std::size_t(z.stride));
    std::copy_n(beta + 1, p, coef.get());
    const std::vector<double> zeros(std::size_t(p) + 1, 0.0), ones(std::size_t(p) + 1, 1.0);
    std::vector<double> logits(std::size_t(few + Gauged::ROWS));
    const vec zero{}, one = constant(1.0);
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t rows = std::min(few, X.rows - first);
        gauge_rows(z, 0, X, first, rows, Gauge{zeros.data(), ones.data()});
        for (std::int64_t i = 0; i < rows; i += Gauged::ROWS) scores_of(z.row(i), z.stride, coef.get(), beta[0], logits.data() + i);
        for (std::int64_t i = 0; i < rows; i += LANES) {
            const vec eta = load(logits.data() + i);
            const vec e = exp_of_negative(eta < zero ? eta : -eta);
            const vec share = one / (one + e) + (eta - eta), rest = e * share;  // NaN where the logit is no number
            const vec up = eta < zero ? rest : share, down = eta < zero ? share : rest;
            double* cell = out + 2 * (first + i);
            for (int l = 0; l < std::min<std::int64_t>(LANES, rows - i); ++l) cell[2 * l] = down[l], cell[2 * l + 1] = up[l];
        }
    }
}

}  // namespace linearly::ISA
