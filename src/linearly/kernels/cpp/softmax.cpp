// Logistic regression of K classes: loss, gradient and Hessian in one read of the rows; probabilities in another.
#include <cmath>
#include <optional>
#include <vector>

#include "packing.hpp"
#include "scaled_rows.hpp"

namespace linearly::ISA {
namespace {

// V vectors of logits for TOGETHER rows.
template <int V>
void logits_of(const double* z, std::int64_t row, std::int64_t p, const double* B, std::int64_t stride,
               double* logits) {
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
void slopes_of(const double* z, std::int64_t row, std::int64_t rows, const double* residual, std::int64_t stride,
               double* G) {
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

// Classes that are too few to fill a vector have their columns in the lanes: their coefficients lie class after class,
// each as long as a row with its zeros.
template <int R>
void rest_of_logits(const double* z, std::int64_t row, const double* B, const double* constants, double* logits,
                    std::int64_t stride) {
    constexpr int APART = 2;  // sums of one logit, so that an addition need not wait for the one before
    vec sum[R][APART][TOGETHER]{};
    auto add = [&](std::int64_t j, int a) {
        for (int k = 0; k < R; ++k) {
            const vec b = load(B + k * row + j);
            for (int r = 0; r < TOGETHER; ++r) sum[k][a][r] += load(z + r * row + j) * b;
        }
    };
    std::int64_t j = 0;
    for (; j + APART * LANES <= row; j += APART * LANES)
        for (int a = 0; a < APART; ++a) add(j + a * LANES, a);
    if (j < row) add(j, 0);
    for (int k = 0; k < R; ++k)
        for (int r = 0; r < TOGETHER; ++r)
            logits[r * stride + k] = constants[k] + total_of(sum[k][0][r] + sum[k][1][r]);
}

// The gradient of such classes for V vectors of columns, from the residuals of some rows.
template <int R, int V>
void rest_of_slopes(const double* z, std::int64_t row, std::int64_t rows, const double* residual, std::int64_t stride,
                    double* G) {
    vec sum[R][V];
    for (int k = 0; k < R; ++k)
        for (int v = 0; v < V; ++v) sum[k][v] = load(G + k * row + v * LANES);
    for (std::int64_t i = 0; i < rows; ++i)
        for (int v = 0; v < V; ++v) {
            const vec x = load(z + i * row + v * LANES);
            for (int k = 0; k < R; ++k) sum[k][v] += residual[i * stride + k] * x;
        }
    for (int k = 0; k < R; ++k)
        for (int v = 0; v < V; ++v) store(G + k * row + v * LANES, sum[k][v]);
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

// Loss and residuals from the logits of c classes and a reference of logit 0. A vector is a class, its lanes are rows.
class Judge {
  public:
    Judge(std::int64_t c, std::int64_t stride, std::int64_t few)
        : c_(c), stride_(stride), columns_(make_buffer(std::size_t(stride * LANES))),
          own_(make_buffer(std::size_t(few + LANES))), weights_(make_buffer(std::size_t(few + LANES))) {}

    // Logits of some rows become weighted residuals P − Y, and those of rows that fill up a vector 0. With `shares`,
    // their weighted probabilities go there, class after class (the reference last), `apart` doubles from one another.
    void rows(double* eta, const std::int32_t* codes, const double* weight, std::int64_t count, double* shares,
              std::int64_t apart) {
        const std::int64_t end = (count + LANES - 1) / LANES * LANES;
        for (std::int64_t i = 0; i < end; ++i) {
            own_[std::size_t(i)] = double(i >= count || codes[i] < 0 ? c_ : codes[i]);
            weights_[std::size_t(i)] = i >= count ? 0.0 : weight ? weight[i] : 1.0;
            if (weights_[std::size_t(i)] == 0) std::fill_n(eta + i * stride_, stride_, 0.0);
        }
        vec sums = constant(1.0);
        for (std::int64_t i = 0; i < end; i += LANES) {
            const vec sum = some(eta + i * stride_, load(own_.get() + i), load(weights_.get() + i),
                                 shares ? shares + i : nullptr, apart);
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
    vec some(double* eta, vec own, vec w, double* shares, std::int64_t apart) {
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
        if (shares)
            for (std::int64_t k = 0; k <= c_; ++k) store(shares + k * apart, column[k] * share);
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

// The logits of c classes and the slopes that their residuals make, of a few rows at a time.
//
// Whole vectors of classes are multiplied by one number of a row after the other. What remains of them, if it is at
// most a quarter of a vector, costs less the other way round.
class Products {
  public:
    static constexpr int MOST_REST = LANES > 4 ? LANES / 4 : 1;
    const std::int64_t
        stride;  // doubles between the logits of one row and the next: the classes, the reference, and zeros

    Products(std::int64_t p, std::int64_t row, const double* B, std::int64_t c)
        : stride((c / LANES + 1) * LANES), p_(p), row_(row), c_(c), rest_(c % LANES <= MOST_REST ? c % LANES : 0),
          vectors_((c - rest_ + LANES - 1) / LANES), B_(make_buffer(std::size_t((1 + p) * stride))),
          slopes_(make_buffer(std::size_t((1 + row) * stride))), rest_B_(make_buffer(std::size_t(rest_ * row))),
          rest_slopes_(make_buffer(std::size_t(rest_ * row))) {
        for (std::int64_t j = 0; j <= p; ++j) std::copy_n(B + j * c, c, B_.get() + j * stride);
        for (std::int64_t k = 0; k < rest_; ++k)
            for (std::int64_t j = 0; j < p; ++j) rest_B_[std::size_t(k * row + j)] = B[(1 + j) * c + c - rest_ + k];
    }

    // Logits of TOGETHER rows.
    void logits(const double* z, double* eta) const {
        in_vectors(vectors_,
                   [&](std::int64_t at, auto V) { logits_of<V()>(z, row_, p_, B_.get() + at, stride, eta + at); });
        const std::int64_t at = c_ - rest_;
        with_rest([&](auto R) { rest_of_logits<R()>(z, row_, rest_B_.get(), B_.get() + at, eta + at, stride); });
        for (std::int64_t k = std::max(c_, vectors_ * LANES); k < stride; ++k)  // the reference, and what fills up
            for (int r = 0; r < TOGETHER; ++r) eta[r * stride + k] = 0;
    }

    // Slopes of columns j … j + TOGETHER − 1 from some rows and their residuals.
    void slopes(const double* z, std::int64_t j, std::int64_t rows, const double* residual) {
        in_vectors(vectors_, [&](std::int64_t at, auto V) {
            slopes_of<V()>(z + j, row_, rows, residual + at, stride, slopes_.get() + (1 + j) * stride + at);
        });
    }

    // Slopes of the constant and of the classes that remain.
    void other_slopes(const double* z, std::int64_t rows, const double* residual) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t k = 0; k < stride; ++k) slopes_[std::size_t(k)] += residual[i * stride + k];
        with_rest([&](auto R) {
            constexpr int V = 8 / R();
            const double* own = residual + c_ - rest_;
            std::int64_t j = 0;
            for (; j + V * LANES <= row_; j += V * LANES)
                rest_of_slopes<R(), V>(z + j, row_, rows, own, stride, rest_slopes_.get() + j);
            for (; j < row_; j += LANES) rest_of_slopes<R(), 1>(z + j, row_, rows, own, stride, rest_slopes_.get() + j);
        });
    }

    void add_to(double* gradient) const {
        for (std::int64_t j = 0; j <= p_; ++j)
            for (std::int64_t k = 0; k < c_; ++k)
                gradient[j * c_ + k] += j > 0 && k >= c_ - rest_
                                            ? rest_slopes_[std::size_t((k - c_ + rest_) * row_ + j - 1)]
                                            : slopes_[std::size_t(j * stride + k)];
    }

  private:
    std::int64_t p_, row_, c_, rest_, vectors_;
    Buffer B_, slopes_, rest_B_, rest_slopes_;

    template <int R = MOST_REST, class F>
    void with_rest(F f) const {
        if (rest_ == R) return f(std::integral_constant<int, R>());
        if constexpr (R > 1) with_rest<R - 1>(f);
    }
};

// The Hessian: one weighted Gram for each pair of logits, with weights w p_a (1 − p_a), or w p_a p_b to be subtracted.
class Curvature {
  public:
    Curvature(std::int64_t p, std::int64_t c)
        : packed_(p, 0), c_(c), apart_(packed_.depth + Gauged::ROWS),
          shares_(make_buffer(std::size_t((c + 1) * apart_))), root_(make_buffer(std::size_t(apart_))) {
        for (std::int64_t pair = 0; pair < c * (c + 1) / 2; ++pair) products_.emplace_back(packed_.panels);
    }

    std::int64_t depth() const { return packed_.depth; }
    std::int64_t apart() const { return apart_; }
    double* shares(std::int64_t row) const { return shares_.get() + row; }

    // Adds rows whose weighted probabilities are in `shares`.
    void add(const View& X, const double* weight, ColumnScaling g, std::int64_t first, std::int64_t count) {
        const View nothing{nullptr, X.rows, 0, 0, 0, false, nullptr};
        const std::int64_t after = first + count;
        std::int64_t ahead = std::min(packed_.depth, X.rows - after);
        auto product = products_.begin();
        for (std::int64_t a = 0; a < c_; ++a)
            for (std::int64_t b = 0; b <= a; ++b, ++product, ahead = 0) {
                const double *left = shares_.get() + a * apart_, *right = shares_.get() + b * apart_;
                for (std::int64_t i = 0; i < count; ++i) {
                    double other = right[i];
                    if (a == b) {  // 1 − p has no digits for p close to 1
                        other = 0;
                        for (std::int64_t k = 0; k <= c_; ++k)
                            other += k == a ? 0.0 : shares_[std::size_t(k * apart_ + i)];
                    }
                    const double w = weight ? weight[first + i] : 1.0, curve = left[i] * (other / w);
                    root_[std::size_t(i)] = curve > NOTHING * w ? std::sqrt(curve) : 0.0;
                }
                pack(packed_, X, nothing, first, count, g, root_.get());
                product->add(packed_, count, Prefetch(X, after, ahead));
            }
    }

    // H is (c·m)², logit by logit, m = 1 + p.
    void add_to(double* H) {
        const std::int64_t m = packed_.columns, side = c_ * m;
        std::vector<double> G(std::size_t(m * m));
        auto product = products_.begin();
        for (std::int64_t a = 0; a < c_; ++a)
            for (std::int64_t b = 0; b <= a; ++b, ++product) {
                std::fill(G.begin(), G.end(), 0.0);
                product->unpack(packed_, G.data());
                for (std::int64_t i = 0; i < m; ++i)
                    for (std::int64_t j = 0; j < m; ++j) {
                        const double value = a == b ? G[std::size_t(i * m + j)] : -G[std::size_t(i * m + j)];
                        H[(a * m + i) * side + b * m + j] += value;
                        if (a != b) H[(b * m + i) * side + a * m + j] += value;
                    }
            }
    }

  private:
    static constexpr double NOTHING = 0x1p-900;  // exp(−708) stands for all smaller numbers, and for 0

    Packing packed_;
    std::int64_t c_, apart_;
    Buffer shares_, root_;
    std::vector<Product> products_;
};

}  // namespace

void softmax(const View& X, const std::int32_t* codes, const double* weight, ColumnScaling g, const double* B,
             std::int64_t c, double* H, double* gradient, LogisticSums& total) {
    const std::int64_t p = X.cols, few = Gauged::few(p);
    Gauged z(p, few + Gauged::ROWS);
    Products products(p, z.stride, B, c);
    const std::int64_t stride = products.stride;
    Buffer logits = make_buffer(std::size_t((few + Gauged::ROWS) * stride));
    Judge judge(c, stride, few);
    std::optional<Curvature> curvature;
    if (H) curvature.emplace(p, c);
    const std::int64_t depth = H ? curvature->depth() : few;
    for (std::int64_t start = 0; start < X.rows; start += depth) {
        const std::int64_t end = std::min(start + depth, X.rows);
        for (std::int64_t first = start; first < end; first += few) {
            const std::int64_t count = std::min(few, end - first);
            scale_rows(z, 0, X, first, count, g);
            Prefetch next(X, first + count, std::min(few, X.rows - first - count));
            const std::int64_t lines = next.lines * TOGETHER / (count + p) + 1;
            for (std::int64_t i = 0; i < count; i += TOGETHER) {
                next.fetch(lines);
                products.logits(z.row(i), logits.get() + i * stride);
            }
            judge.rows(logits.get(), codes + first, weight ? weight + first : nullptr, count,
                       H ? curvature->shares(first - start) : nullptr, H ? curvature->apart() : 0);
            products.other_slopes(z.row(0), count, logits.get());
            for (std::int64_t j = 0; j < p; j += TOGETHER) {
                next.fetch(lines);
                products.slopes(z.row(0), j, count, logits.get());
            }
        }
        if (H) curvature->add(X, weight, g, start, end - start);
    }
    judge.add_to(total);
    products.add_to(gradient);
    if (H) curvature->add_to(H);
}

void softmax_probabilities(const View& X, const double* B, std::int64_t K, double* out) {
    const std::int64_t p = X.cols, few = Gauged::few(p);
    const std::vector<double> zeros(std::size_t(p) + 1, 0.0), ones(std::size_t(p) + 1, 1.0);
    const ColumnScaling as_it_is{zeros.data(), ones.data()};
    Gauged z(p, few + Gauged::ROWS);
    const Products products(p, z.stride, B, K);
    const std::int64_t stride = products.stride;
    Buffer scores = make_buffer(std::size_t((few + Gauged::ROWS) * stride)),
           columns = make_buffer(std::size_t(stride * LANES));
    vec* column = reinterpret_cast<vec*>(columns.get());
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t count = std::min(few, X.rows - first);
        scale_rows(z, 0, X, first, count, as_it_is);
        Prefetch next(X, first + count, std::min(few, X.rows - first - count));
        const std::int64_t lines = next.lines * TOGETHER / count + 1;
        for (std::int64_t i = 0; i < count; i += TOGETHER) {
            next.fetch(lines);
            products.logits(z.row(i), scores.get() + i * stride);
        }
        for (std::int64_t i = 0; i < count; i += LANES) {
            turn_logits(scores.get() + i * stride, stride, column);
            vec top = column[0], sum{}, none{};
            for (std::int64_t k = 0; k < K; ++k) {
                top = column[k] > top ? column[k] : top;
                none += column[k] - column[k];  // NaN if a score is not finite
            }
            for (std::int64_t k = 0; k < K; ++k) sum += column[k] = exp_of_negative(column[k] - top);
            const vec share = 1.0 / sum + none;
            for (std::int64_t k = 0; k < K; ++k) column[k] *= share;
            turn_back(column, stride, scores.get() + i * stride);
        }
        for (std::int64_t i = 0; i < count; ++i) std::copy_n(scores.get() + i * stride, K, out + (first + i) * K);
    }
}

}  // namespace linearly::ISA
