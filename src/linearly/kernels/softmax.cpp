// Logistic regression of K classes: loss and gradient in one read of the rows.
#include <cmath>
#include <numeric>

#include "gauged.hpp"

namespace linearly::ISA {
namespace {

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

}  // namespace

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
        Ahead next(X, first + count, std::min(few, X.rows - first - count));
        const std::int64_t lines = next.lines / (count + p / TOGETHER) + 1;
        for (std::int64_t i = 0; i < count; i += TOGETHER)
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                logits_of<V()>(z.row(i), z.stride, p, padded.get() + at, stride, logits.get() + i * stride + at);
            });
        for (std::int64_t i = 0; i < count; ++i) {
            next.fetch(lines);
            double* eta = logits.get() + i * stride;
            const double w = weight ? weight[first + i] : 1.0;
            if (w == 0)
                std::fill_n(eta, stride, 0.0);
            else
                judge(eta, c, stride, lane.get(), keep.get(), codes[first + i] < 0 ? c : codes[first + i], w, total);
        }
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < stride; ++k) slopes[std::size_t(k)] += logits[std::size_t(i * stride + k)];
        for (std::int64_t j = 0; j < p; j += TOGETHER) {
            next.fetch(lines);
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                slopes_of<V()>(z.row(0) + j, z.stride, count, logits.get() + at, stride, slopes.get() + (1 + j) * stride + at);
            });
        }
    }
    for (std::int64_t j = 0; j <= p; ++j)
        for (std::int64_t k = 0; k < c; ++k) gradient[j * c + k] += slopes[std::size_t(j * stride + k)];
}

}  // namespace linearly::ISA
