// Compiled without fused products: every sum and product is rounded as NumPy rounds it.
#include "small_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace linearly {
namespace {

using std::int64_t;

constexpr double EPS = std::numeric_limits<double>::epsilon(), SAFE = 4.0, NEGLIGIBLE = 1e-4;
constexpr int64_t SAMPLE = 64;  // rows that determine the scaling
constexpr double UNDERFLOW_SQUARES = 1e-280, OFF_CENTER = 1e3;
constexpr double RANK_TOL = 1e-13, ROUNDING = 64 * EPS;
constexpr double LEAST_SQUARES = 1e-290, MOST_SQUARES = 1e300;
constexpr double PERFECT = 1e-10;  // share of the squares below which the residuals of the triangle matter

double number(const View& V, int64_t i, int64_t j) {
    const int64_t at = i * V.row_stride + j * V.col_stride;
    return V.is_float32 ? double(static_cast<const float*>(V.data)[at]) : static_cast<const double*>(V.data)[at];
}

double power_of_two(double size, int step) {
    int exponent = 0;
    if (size > 0 && size < std::numeric_limits<double>::infinity()) std::frexp(size, &exponent);
    if (step > 1) exponent = (exponent > 0 ? (exponent + step - 1) / step : -(-exponent / step)) * step;
    return std::ldexp(1.0, std::min(std::max(exponent, -1021), 1022));
}

// The sum of n numbers term(i) in the order of NumPy's sum along contiguous memory, for n up to 128.
template <class F>
double pairwise(int64_t n, F term) {
    if (n < 8) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; ++i) sum += term(i);
        return sum;
    }
    double part[8];
    for (int j = 0; j < 8; ++j) part[j] = term(j);
    int64_t i = 8;
    for (; i < n - n % 8; i += 8)
        for (int j = 0; j < 8; ++j) part[j] += term(i + j);
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; ++i) sum += term(i);
    return sum;
}

// Double-double numbers as in double_double.py.
struct Two {
    double high, low;
};

Two two_sum(double a, double b) {
    const double s = a + b, back = s - a;
    return {s, (a - (s - back)) + (b - back)};
}

Two normal(double high, double low) {
    const double s = high + low;
    return {s, low - (s - high)};
}

Two add(Two a, Two b) {
    const Two s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
    const Two u = normal(s.high, s.low + t.high);
    return normal(u.high, u.low + t.low);
}

Two multiply(Two a, double b) {
    const double product = a.high * b, a_wide = 134217729.0 * a.high, b_wide = 134217729.0 * b;
    const double a_high = a_wide - (a_wide - a.high), b_high = b_wide - (b_wide - b);
    const double a_low = a.high - a_high, b_low = b - b_high;
    const double error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return normal(product, error + (a.high * 0.0 + a.low * b));
}

// The correctly rounded sum (Shewchuk 1997), as Python's math.fsum.
double exact_sum(const std::vector<double>& terms) {
    std::vector<double> partials;
    for (double x : terms) {
        std::size_t kept = 0;
        for (double y : partials) {
            if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
            const double high = x + y, low = y - (high - x);
            if (low != 0.0) partials[kept++] = low;
            x = high;
        }
        partials.resize(kept);
        partials.push_back(x);
    }
    if (partials.empty()) return 0.0;
    std::size_t n = partials.size();
    double high = partials[--n], low = 0.0;
    while (n > 0) {
        const double x = high, y = partials[--n];
        high = x + y;
        low = y - (high - x);
        if (low != 0.0) break;
    }
    // Half an even step: the sign of what follows decides.
    if (n > 0 && ((low < 0.0 && partials[n - 1] < 0.0) || (low > 0.0 && partials[n - 1] > 0.0))) {
        const double y = low * 2.0, x = high + y;
        if (y == x - high) high = x;
    }
    return high;
}

int exponent_of(double a) {
    int exponent;
    std::frexp(a, &exponent);
    return exponent;
}

double digits_of_error(double error) { return std::min(std::max(-std::log10(std::max(error, 1e-16)), 0.0), 16.0); }

// Largest quotient so far; a size of 0 does not count.
void raise(double& largest, double error, double size) {
    if (size > 0) largest = std::max(largest, error / size);
}

}  // namespace

void powers_of_two(const double* size, int64_t n, int step, double* power) {
    std::transform(size, size + n, power, [step](double one) { return power_of_two(one, step); });
}

bool sample_scaling(const View& X, const View& Y, int coarse, double* shift, double* scale) {
    const int64_t n = X.rows, p = X.cols, k = Y.cols, step = std::max<int64_t>(1, n / SAMPLE);
    const int64_t rows = n == 0 ? 0 : (n - 1) / step + 1;
    // NumPy adds rows one after another, and columns that lie together in its pairwise order.
    const bool by_rows = X.col_stride == 1 && X.row_stride >= p && p > 1;
    const bool by_columns = X.row_stride == 1 && X.col_stride >= n && p > 1 && k <= 1;
    if (rows < 2 || !(by_rows || by_columns)) return false;
    for (int64_t j = 0; j < p + k; ++j) {
        const View& V = j < p ? X : Y;
        const int64_t at = j < p ? j : j - p;
        const double first = number(V, 0, at);
        auto moved = [&](int64_t i) { return number(V, i * step, at) - first; };
        double sum = 0.0, least = 0.0, most = 0.0;  // the first row is zero
        bool finite = true;
        for (int64_t i = 0; i < rows; ++i) {
            const double z = moved(i);
            finite &= std::isfinite(z);
            sum += z, least = std::min(least, z), most = std::max(most, z);
        }
        if (by_columns) sum = pairwise(rows, moved);
        const double middle = sum / double(rows), spread = std::max(most - middle, middle - least);
        shift[j] = first + middle;
        if (!finite || !std::isfinite(spread) || !std::isfinite(shift[j])) return false;
        scale[j] = power_of_two(spread > 0 ? spread : std::fabs(shift[j]), coarse);
    }
    return true;
}

bool centre_moments(const double* G, int64_t n, int64_t m, double* mean, double* cross, double* rounding) {
    const double weight = G[0], grain = (1 + std::sqrt(double(n)) / 64) * EPS;
    if (!(weight > 0)) return false;
    for (int64_t j = 0; j < m; ++j) mean[j] = G[1 + j] / weight;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) cross[i * m + j] = G[(1 + i) * (m + 1) + 1 + j] - (mean[i] * mean[j]) * weight;
    rounding[0] = std::max(weight * grain, 0.0);
    for (int64_t j = 0; j < m; ++j) {
        const double about_shift = G[(1 + j) * (m + 2)], about_mean = cross[j * (m + 1)];
        if (!std::isfinite(about_shift) || about_shift < UNDERFLOW_SQUARES) return false;
        if (about_shift > OFF_CENTER * std::max(about_mean, 0.0)) return false;
        rounding[1 + j] = std::max((mean[j] * mean[j] * weight + about_mean) * grain, 0.0);
    }
    return true;
}

bool scale_normal_equations(const CentredGram& gram, ScaledColumns to) {
    const int64_t p = gram.p, m = gram.p + gram.k;
    const double* bound = gram.rounding + 1;
    if (gram.n < 1 || !(gram.weight > 0)) return false;
    // Very uneven weights: the length of y does not bound what a coefficient could be.
    if (std::log(gram.weight / double(gram.n)) - gram.log_weight / double(gram.n) > std::log(1024.0)) return false;
    for (int64_t j = 0; j < m; ++j) {
        const double squares = gram.cross[j * (m + 1)];
        if (j < p && !(squares > 64 * bound[j])) return false;  // only rounding errors may be left of this column
        to.size[j] = power_of_two(std::sqrt(std::max(squares, 0.0)), 1);
        to.noise[j] = std::sqrt(bound[j]) / to.size[j];
        const Two mean = add({gram.mean[j], 0.0}, {gram.shift[j] / gram.scale[j], 0.0});
        to.mean[j] = mean.high, to.mean_low[j] = mean.low;
        to.center[j] = mean.high / to.size[j];
    }
    for (int64_t i = 0; i < p; ++i) {
        for (int64_t j = 0; j < p; ++j) to.A[i * p + j] = gram.cross[i * m + j] / to.size[j] / to.size[i];
        for (int64_t t = p; t < m; ++t) to.C[i * gram.k + t - p] = gram.cross[i * m + t] / to.size[i] / to.size[t];
    }
    for (int64_t t = p; t < m; ++t) to.squares[t] = gram.cross[t * (m + 1)] / (to.size[t] * to.size[t]);
    // Counts of categories have smaller errors, of another kind.
    for (int64_t j = 0; j < p; ++j)
        if (2 * to.noise[j] * to.noise[j] < EPS * to.A[j * (p + 1)]) return false;
    return std::all_of(to.A, to.A + p * p, [](double a) { return std::isfinite(a); });
}

bool scale_to_unit(const View& A, double* size, double* scaled) {
    const int64_t p = A.cols;
    for (int64_t j = 0; j < p; ++j) size[j] = power_of_two(std::sqrt(std::max(number(A, j, j), 0.0)), 1);
    bool finite = true;
    for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < p; ++j)
            finite &= std::isfinite(scaled[i * p + j] = number(A, i, j) / size[j] / size[i]);
    return finite;
}

bool is_independent(const View& R, const View& T) {
    const int64_t p = R.cols;
    std::vector<double> length(static_cast<std::size_t>(p));
    for (int64_t j = 0; j < p; ++j) {
        double squares = 0.0, shares = 0.0;
        for (int64_t i = 0; i <= j; ++i) squares += number(R, i, j) * number(R, i, j);
        const double own = number(R, j, j);
        length[std::size_t(j)] = std::sqrt(squares);
        if (!(own * own > 65 * EPS * std::sqrt(double(p))) || !(std::fabs(own) > 2 * RANK_TOL * length[std::size_t(j)]))
            return false;
        for (int64_t i = 0; i <= j; ++i) shares += length[std::size_t(i)] * std::fabs(number(T, i, j));
        if (!(ROUNDING * shares < 0.5)) return false;  // the column may be a combination of others
    }
    return true;
}

bool finish_solution(const CentredGram& gram, ScaledColumns z, const Factors& f, SmallSolution& to) {
    const int64_t p = gram.p, k = gram.k;
    if (!is_independent(f.R, f.T)) return false;
    std::vector<double> length(std::size_t(1 + p)), far(std::size_t(1 + p)), terms(std::size_t(2 * p));
    double largest = 0.0;
    for (int64_t i = 0; i <= p; ++i) {
        double squares = 0.0;
        for (int64_t j = 0; j < p; ++j) squares += number(f.U, i, j) * number(f.U, i, j);
        length[std::size_t(i)] = std::sqrt(squares);
        far[std::size_t(i)] = std::sqrt(pairwise(p, [&](int64_t j) { return number(f.P, i, j) * number(f.P, i, j); }));
        raise(largest, far[std::size_t(i)], length[std::size_t(i)]);
    }
    const double root_weight = 1 / std::sqrt(gram.weight), mean_error = std::sqrt(gram.rounding[0]) / gram.weight;
    const long double first = length[0], rest_of_it = root_weight;
    length[0] = double(std::sqrt(first * first + rest_of_it * rest_of_it));
    double lost = 0.0, weakest = 0.0, strict = 0.0, relevant = 0.0;
    for (int64_t t = 0; t < k; ++t) {
        auto own_noise = [&](int64_t j) { return z.noise[j] * number(f.b, j, t); };
        const double total = z.squares[p + t], y_noise = z.noise[p + t], y_size = z.size[p + t];
        const double explained = pairwise(p, [&](int64_t j) { return number(f.c, j, t) * number(f.c, j, t); });
        const double rss = std::max(total - explained, 0.0);
        if (!(total > 0) || !(rss > PERFECT)) return false;
        const double fitted = pairwise(p, [&](int64_t j) { return own_noise(j) * own_noise(j); });
        const double load = y_noise + std::sqrt(fitted), y2 = y_noise * y_noise;
        raise(lost, std::sqrt(y2 * y2 + 4 * y2 * fitted + 2 * (fitted * fitted)), std::max(rss, 1e-300));
        const double share = rss / total / double(std::max<int64_t>(gram.n - p - 1, 1));
        for (int64_t i = 0; i <= p; ++i) {
            double error = SAFE * far[std::size_t(i)] * load;
            if (i == 0) error += SAFE * mean_error * load;
            const double reach = length[std::size_t(i)] * std::sqrt(total);
            const double size = std::fabs(i ? number(f.b, i - 1, t) : z.center[p + t] - f.center_b[t]);
            raise(weakest, error, size > 8 * error ? size : std::max(size, reach));
            raise(strict, error, std::max(size, NEGLIGIBLE * reach));
            raise(relevant, error, std::max(size, std::max(std::sqrt(share), NEGLIGIBLE) * reach));
        }
        // The user's units. Scaling by powers of two is exact.
        const double y_unit = gram.scale[p + t] * y_size;
        for (int64_t j = 0; j < p; ++j) {
            const double unit = gram.scale[j] * z.size[j];
            if (!std::isfinite(unit) || !std::isfinite(y_unit)) return false;
            const double coef = std::ldexp(number(f.b, j, t), exponent_of(y_unit) - exponent_of(unit));
            to.coef[t * p + j] = coef;
            const double in_units = std::ldexp(coef, exponent_of(gram.scale[j]) - exponent_of(gram.scale[p + t]));
            const Two part = multiply({z.mean[j], z.mean_low[j]}, in_units);
            if (!std::isfinite(coef) || !std::isfinite(part.high) || !std::isfinite(part.low)) return false;
            terms[std::size_t(j)] = part.high, terms[std::size_t(p + j)] = part.low;
        }
        const double moved = exact_sum(terms);
        terms.push_back(-moved);
        const double moved_low = exact_sum(terms);
        terms.pop_back();
        const Two constant = add({z.mean[p + t], z.mean_low[p + t]}, {-moved, -moved_low});
        const int unit = exponent_of(gram.scale[p + t]) - 1;
        to.intercept[t] = std::ldexp(constant.high, unit), to.intercept_low[t] = std::ldexp(constant.low, unit);
        to.at_mean[t] = std::ldexp(z.mean[p + t], unit) + std::ldexp(z.mean_low[p + t], unit);
        to.rss[t] = rss * y_unit * y_unit;
        to.tss[t] = gram.cross[(p + t) * (p + k + 1)] * gram.scale[p + t] * gram.scale[p + t];
        const auto ordinary = [](double squares) { return squares > LEAST_SQUARES && squares < MOST_SQUARES; };
        if (!std::isfinite(to.intercept[t]) || !ordinary(to.rss[t]) || !ordinary(to.tss[t])) return false;
        double along = 0.0;
        for (int64_t j = 0; j < p; ++j)
            along += std::fabs(std::ldexp(z.mean[j], exponent_of(gram.scale[j]) - 1) * to.coef[t * p + j]);
        to.far |= along > 1e3 * (std::fabs(to.at_mean[t]) + std::sqrt(to.tss[t] / gram.weight));
    }
    for (int64_t j = 0; j < p; ++j) {
        const int unit = exponent_of(gram.scale[j]) - 1;
        to.mean[j] = std::ldexp(z.mean[j], unit), to.mean_low[j] = std::ldexp(z.mean_low[j], unit);
    }
    volatile double two = 2.0;  // Python raises to a power by `pow`
    const double of_errors = 2 * std::pow(largest, two);
    to.digits = digits_of_error(std::max(weakest, lost));
    to.relevant = digits_of_error(std::max(relevant, lost));
    to.strict = digits_of_error(std::max(strict, lost));
    to.of_errors = digits_of_error(std::max(lost, of_errors));
    return std::isfinite(weakest) && std::isfinite(strict) && std::isfinite(relevant) && std::isfinite(of_errors);
}

}  // namespace linearly
