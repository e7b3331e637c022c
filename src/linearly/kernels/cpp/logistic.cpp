// Logistic regression of two classes: loss, gradient and Hessian in one read of the rows; probabilities in another.
#include <cmath>

#include "scaled_rows.hpp"
#include "packing.hpp"

namespace linearly::ISA {
namespace {

constexpr int ROWS = Gauged::ROWS;

// Rows as the loops below read them: in place if each row is contiguous and in float64, else from a scaled copy.
// Columns beyond the last full vector always come from a copy, whose rows end with zeros.
class Lines {
  public:
    Lines(const View& X, ColumnScaling g, const double* coef)
        : X_(X), scaling_(g), few_(std::min<std::int64_t>(Gauged::few(X.cols), 2 * ROWS)), copy_(X.cols, few_ + ROWS),
          whole_(X.cols / LANES * LANES), rest_(make_buffer(std::size_t((few_ + ROWS) * LANES))),
          zeros_(make_buffer(std::size_t(copy_.stride))), direct_(make_buffer(std::size_t(copy_.stride))),
          copied_(make_buffer(std::size_t(copy_.stride))), direct_sums_(make_buffer(std::size_t(copy_.stride))),
          copied_sums_(make_buffer(std::size_t(copy_.stride))) {
        // A scale far from 1 is left to the copy: its product with a coefficient could underflow.
        in_place_ = X.col_stride == 1 && !X.is_float32;
        for (std::int64_t j = 0; j < X.cols; ++j) {
            in_place_ = in_place_ && g.scale[j] > 0x1p-300 && g.scale[j] < 0x1p300;
            copied_[std::size_t(j)] = coef[j];
            direct_[std::size_t(j)] = coef[j] * g.scale[j];
        }
    }

    std::int64_t few() const { return few_; }

    // The rows that `scores` and `add` process: at most few().
    void read(std::int64_t first, std::int64_t count) {
        first_ = first, count_ = count;
        together_ = in_place_ ? count / ROWS * ROWS : 0;
        scale_rows(copy_, 0, X_, first + together_, count - together_, scaling_);
    }

    // to = start + Zb, for the rows and for as many more as fill up ROWS.
    void scores(double start, double* to) const {
        each([&](std::int64_t i, const double* x, std::int64_t stride, const double* shift, const double* b,
                 double* rest, std::int64_t whole) {
            // Row after row, as hardware fetches them: side by side they take 1.4 times as long to arrive.
            for (int r = 0; r < ROWS; ++r, x += stride) {
                vec part[4]{};
                std::int64_t j = 0;
                for (; j + 4 * LANES <= whole; j += 4 * LANES)
                    for (int k = 0; k < 4; ++k)
                        part[k] += (load(x + j + k * LANES) - load(shift + j + k * LANES)) * load(b + j + k * LANES);
                for (; j < whole; j += LANES) part[0] += (load(x + j) - load(shift + j)) * load(b + j);
                double sum = start;
                if (rest)
                    for (j = whole; j < X_.cols; ++j) {
                        const double z = x[j] - shift[j];
                        rest[r * LANES + j - whole] = z;
                        sum += z * b[j];
                    }
                to[i + r] = sum + total_of((part[0] + part[1]) + (part[2] + part[3]));
            }
        });
    }

    // Adds Z'r to the sums.
    void add(const double* r) {
        each([&](std::int64_t i, const double* x, std::int64_t stride, const double* shift, const double*,
                 const double* rest, std::int64_t whole) {
            double* sums = i < together_ ? direct_sums_.get() : copied_sums_.get();
            for (std::int64_t j = 0; j < whole; j += LANES) {
                const vec middle = load(shift + j);
                vec even = load(sums + j), odd{};
                for (int k = 0; k < ROWS; k += 2) {
                    even += r[i + k] * (load(x + k * stride + j) - middle);
                    odd += r[i + k + 1] * (load(x + (k + 1) * stride + j) - middle);
                }
                store(sums + j, even + odd);
            }
            if (!rest) return;
            vec sum = load(sums + whole);
            for (int k = 0; k < ROWS; ++k) sum += r[i + k] * load(rest + k * LANES);
            store(sums + whole, sum);
        });
    }

    double sum(std::int64_t j) const {
        return direct_sums_[std::size_t(j)] * scaling_.scale[j] + copied_sums_[std::size_t(j)];
    }

  private:
    const View& X_;
    ColumnScaling scaling_;
    std::int64_t few_;
    Gauged copy_;
    std::int64_t whole_, first_ = 0, count_ = 0, together_ = 0;
    Buffer rest_, zeros_;
    Buffer direct_, copied_;            // coefficients of rows in place, and of scaled rows
    Buffer direct_sums_, copied_sums_;  // and the sums over such rows
    bool in_place_ = false;

    const double* line(std::int64_t i) const {
        return static_cast<const double*>(X_.data) + (first_ + i) * X_.row_stride;
    }

    // f for ROWS rows at a time.
    template <class F>
    void each(F f) const {
        for (std::int64_t i = 0; i < together_; i += ROWS)
            f(i, line(i), X_.row_stride, scaling_.shift, direct_.get(),
              whole_ < X_.cols ? rest_.get() + i * LANES : nullptr, whole_);
        for (std::int64_t i = together_; i < count_; i += ROWS)
            f(i, copy_.row(i - together_), copy_.stride, zeros_.get(), copied_.get(), nullptr, copy_.stride);
    }
};

// Weighted residuals p − y and curvatures p(1 − p), and the loss, of the logits of `count` rows of two classes.
void judge(const double* logits, const double* y, const double* weight, std::int64_t count, double* residuals,
           double* curvatures, LogisticSums& total) {
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

void logistic(const View& X, const double* y, const double* weight, ColumnScaling g, const double* beta, double* H,
              double* gradient, LogisticSums& total) {
    const std::int64_t p = X.cols;
    Lines lines(X, g, beta + 1);
    Packing packed(p, 0);
    Product product(packed.panels);
    const std::int64_t few = lines.few(), depth = H ? packed.depth : few;
    std::vector<double> logits(std::size_t(few + ROWS)), r(logits), root(std::size_t(depth + ROWS));
    const View nothing{nullptr, X.rows, 0, 0, 0, false, nullptr};
    for (std::int64_t first = 0; first < X.rows; first += depth) {
        const std::int64_t count = std::min(depth, X.rows - first);
        for (std::int64_t top = 0; top < count; top += few) {
            const std::int64_t rows = std::min(few, count - top);
            lines.read(first + top, rows);
            lines.scores(beta[0], logits.data());
            judge(logits.data(), y + first + top, weight ? weight + first + top : nullptr, rows, r.data(),
                  root.data() + top, total);
            std::fill(r.data() + rows, r.data() + (rows + ROWS - 1) / ROWS * ROWS, 0.0);
            lines.add(r.data());
            for (std::int64_t i = 0; i < rows; ++i) gradient[0] += r[std::size_t(i)];
        }
        if (!H) continue;
        for (std::int64_t i = 0; i < count; ++i) root[std::size_t(i)] = std::sqrt(root[std::size_t(i)]);
        pack(packed, X, nothing, first, count, g, root.data());
        const std::int64_t after = first + count, ahead = std::min(depth, X.rows - after);
        product.add(packed, count, Prefetch(X, after, ahead));
    }
    for (std::int64_t j = 0; j < p; ++j) gradient[1 + j] += lines.sum(j);
    if (H) product.unpack(packed, H);
}

void probabilities(const View& X, const double* beta, double* out) {
    const std::vector<double> zeros(std::size_t(X.cols) + 1, 0.0), ones(std::size_t(X.cols) + 1, 1.0);
    Lines lines(X, ColumnScaling{zeros.data(), ones.data()}, beta + 1);
    const std::int64_t few = lines.few();
    std::vector<double> logits(std::size_t(few + ROWS));
    const vec zero{}, one = constant(1.0);
    for (std::int64_t first = 0; first < X.rows; first += few) {
        const std::int64_t rows = std::min(few, X.rows - first);
        lines.read(first, rows);
        lines.scores(beta[0], logits.data());
        for (std::int64_t i = 0; i < rows; i += LANES) {
            const vec eta = load(logits.data() + i);
            const vec e = exp_of_negative(eta < zero ? eta : -eta);
            const vec share = one / (one + e) + (eta - eta), rest = e * share;  // NaN if the logit is not finite
            const vec up = eta < zero ? rest : share, down = eta < zero ? share : rest;
            double* cell = out + 2 * (first + i);
            for (int l = 0; l < std::min<std::int64_t>(LANES, rows - i); ++l)
                cell[2 * l] = down[l], cell[2 * l + 1] = up[l];
        }
    }
}

}  // namespace linearly::ISA
