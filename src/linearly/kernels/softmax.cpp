// Logistic regression of K classes: loss and gradient in one read of the rows.
#include <cmath>

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

// LANES rows of logits, `stride` apart, become columns of LANES; or back again.
void turn_logits(const double* rows, std::int64_t stride, vec* columns) {
    for (std::int64_t k = 0; k < stride; k += LANES) {
        for (int l = 0; l < LANES; ++l) columns[k + l] = load(rows + l * stride + k);
        transpose(columns + k);
    }
}

void turn_back(vec* columns, std::int64_t stride, double* rows) {
    for (std::int64_t k = 0; k < stride; k += LANES) {
        transpose(columns + k);
        for (int l = 0; l < LANES; ++l) store(rows + l * stride + k, columns[k + l]);
    }
}

// What logits of c classes and a reference, whose logit stays 0, say of rows. A vector is a class, its lanes are rows.
class Judge {
  public:
    Judge(std::int64_t c, std::int64_t stride, std::int64_t few)
        : c_(c), stride_(stride), columns_(make_buffer(std::size_t(stride * LANES))), own_(make_buffer(std::size_t(few + LANES))),
          weights_(make_buffer(std::size_t(few + LANES))) {}

    // Logits of some rows become weighted residuals P − Y, and those of rows that fill up a vector 0.
    void rows(double* eta, const std::int32_t* codes, const double* weight, std::int64_t count) {
        const std::int64_t end = (count + LANES - 1) / LANES * LANES;
        for (std::int64_t i = 0; i < end; ++i) {
            own_[std::size_t(i)] = double(i >= count || codes[i] < 0 ? c_ : codes[i]);
            weights_[std::size_t(i)] = i >= count ? 0.0 : weight ? weight[i] : 1.0;
            if (weights_[std::size_t(i)] == 0) std::fill_n(eta + i * stride_, stride_, 0.0);
        }
        vec sums = constant(1.0);
        for (std::int64_t i = 0; i < end; i += LANES) {
            const vec sum = some(eta + i * stride_, load(own_.get() + i), load(weights_.get() + i));
            sums *= sum;  // of 64 rows at the most: its logarithm is all that is wanted of it
            if (weight)
                for (int l = 0; l < LANES; ++l) loss_ += weights_[std::size_t(i + l)] * std::log(sum[l]);
        }
        if (!weight)
            for (int l = 0; l < LANES; ++l) loss_ += std::log(sums[l]);
    }

    void add_to(LogisticSums& total) const {
        total.loss += loss_ + total_of(losses_);
        total.mistakes += std::int64_t(total_of(wrong_));
        for (int l = 0; l < LANES; ++l) total.largest = std::max(total.largest, largest_[l]);
    }

  private:
    std::int64_t c_, stride_;
    Buffer columns_, own_, weights_;
    double loss_ = 0;
    vec losses_{}, wrong_{}, largest_{};

    // LANES rows. Returns Σ exp(logit − largest), 1 where the weight is 0.
    vec some(double* eta, vec own, vec w) {
        vec* column = reinterpret_cast<vec*>(columns_.get());
        turn_logits(eta, stride_, column);
        const vec zero{}, one = constant(1.0), none = constant(-INFINITY);
        vec mine{}, rival = none, lowest{}, sum{};
        for (std::int64_t k = 0; k <= c_; ++k) {
            const auto is_own = own == double(k);
            mine = is_own ? column[k] : mine;
            const vec other = is_own ? none : column[k];
            rival = other > rival ? other : rival;
            lowest = column[k] < lowest ? column[k] : lowest;
        }
        const vec top = mine > rival ? mine : rival;
        for (std::int64_t k = 0; k <= c_; ++k) sum += column[k] = exp_of_negative(column[k] - top);
        const vec share = w / sum;
        for (std::int64_t k = 0; k <= c_; ++k) column[k] = column[k] * share - (own == double(k) ? w : zero);
        for (std::int64_t k = c_ + 1; k < stride_; ++k) column[k] = zero;
        turn_back(column, stride_, eta);
        const vec size = top > -lowest ? top : -lowest;
        losses_ += w * (top - mine);
        wrong_ += (w > zero) & (mine <= rival) ? one : zero;
        largest_ = (w > zero) & (size > largest_) ? size : largest_;
        return w > zero ? sum : one;
    }
};

}  // namespace

void softmax(const View& X, const std::int32_t* codes, const double* weight, Gauge g, const double* B, std::int64_t c, double* gradient,
             LogisticSums& total) {
    const std::int64_t p = X.cols, few = Gauged::few(p), vectors = c / LANES + 1, stride = vectors * LANES;
    Gauged z(p, few + Gauged::ROWS);
    Buffer padded = make_buffer(std::size_t((1 + p) * stride)), slopes = make_buffer(std::size_t((1 + z.stride) * stride));
    Buffer logits = make_buffer(std::size_t((few + Gauged::ROWS) * stride));
    Judge judge(c, stride, few);
    for (std::int64_t j = 0; j <= p; ++j) std::copy_n(B + j * c, c, padded.get() + j * stride);
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t count = std::min(few, X.rows - first);
        gauge_rows(z, 0, X, first, count, g);
        Ahead next(X, first + count, std::min(few, X.rows - first - count));
        const std::int64_t lines = next.lines * TOGETHER / (count + p) + 1;
        for (std::int64_t i = 0; i < count; i += TOGETHER) {
            next.fetch(lines);
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                logits_of<V()>(z.row(i), z.stride, p, padded.get() + at, stride, logits.get() + i * stride + at);
            });
        }
        judge.rows(logits.get(), codes + first, weight ? weight + first : nullptr, count);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < stride; ++k) slopes[std::size_t(k)] += logits[std::size_t(i * stride + k)];
        for (std::int64_t j = 0; j < p; j += TOGETHER) {
            next.fetch(lines);
            in_vectors(vectors, [&](std::int64_t at, auto V) {
                slopes_of<V()>(z.row(0) + j, z.stride, count, logits.get() + at, stride, slopes.get() + (1 + j) * stride + at);
            });
        }
    }
    judge.add_to(total);
    for (std::int64_t j = 0; j <= p; ++j)
        for (std::int64_t k = 0; k < c; ++k) gradient[j * c + k] += slopes[std::size_t(j * stride + k)];
}

}  // namespace linearly::ISA
