// The Python binding of the kernels: checks shapes, releases the interpreter lock, selects the instruction set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(LINEARLY_HAS_AVX512)
#include <cpuid.h>
#endif

#include "code_tables.hpp"
#include "kernel_table.hpp"
#include "parquet_pages.hpp"
#include "perceptron_pass.hpp"
#include "small_fit.hpp"
#include "sparse_gram.hpp"
#include "number_text.hpp"

namespace nb = nanobind;
using linearly::ColumnScaling;
using linearly::KernelTable;
using linearly::PassResult;
using linearly::PassTable;
using linearly::Sparse;
using linearly::View;
using linearly::PassArgs;
using linearly::Weights;

namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Constants = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MaybeMatrix = std::optional<Matrix>;
using MaybeVector = std::optional<Vector>;

// The kernels of one instruction set.
struct Set {
    const KernelTable* kernel_table;
    const PassTable* pass_table;
    const KernelTable* operator->() const { return kernel_table; }
};

#if defined(LINEARLY_HAS_AVX512)
// Zen 4 runs an AVX-512 instruction in two steps: wide registers gain nothing there, and panels of eight columns waste
// more on the edges than panels of four. Least squares at p = 50 takes 0.8 of the time with AVX2.
bool avx2_is_faster() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned ZEN_3_AND_4 = 0x19;
    return __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) &&
           ((a >> 8) & 0xf) + ((a >> 20) & 0xff) == ZEN_3_AND_4;
}
#endif

constexpr int COARSE = 16;  // scales of a Gram are powers of 2¹⁶

// The instruction sets this processor has, the fastest last.
std::vector<Set> available() {
    std::vector<Set> found = {{linearly::kernel_table_baseline(), linearly::pass_table_baseline()}};
#if defined(LINEARLY_HAS_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back({linearly::kernel_table_avx2(), linearly::pass_table_avx2()});
#endif
#if defined(LINEARLY_HAS_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        found.push_back({linearly::kernel_table_avx512(), linearly::pass_table_avx512()});
        if (avx2_is_faster()) std::swap(found.back(), found[found.size() - 2]);
    }
#endif
    return found;
}

Set chosen = available().back();

// Separate contiguous columns of float64.
struct Columns {
    std::vector<Vector> arrays;
    std::vector<const double*> begins;

    explicit Columns(const nb::sequence& given) {
        for (nb::handle one : given) arrays.push_back(nb::cast<Vector>(one));
        for (const Vector& one : arrays) {
            if (one.shape(0) != arrays[0].shape(0)) throw std::invalid_argument("columns must have one length");
            begins.push_back(one.data());
        }
    }

    View view() const {
        const std::int64_t rows = arrays.empty() ? 0 : std::int64_t(arrays[0].shape(0));
        return View{nullptr, rows, std::int64_t(begins.size()), 1, 0, false, nullptr, begins.data()};
    }
};

View view(const MaybeMatrix& m, std::int64_t rows, const char* what) {
    if (!m) return View{nullptr, rows, 0, 0, 0, false};
    const bool f64 = m->dtype() == nb::dtype<double>(), f32 = m->dtype() == nb::dtype<float>();
    if (!f64 && !f32) throw std::invalid_argument(std::string(what) + " must be float64 or float32");
    if (std::int64_t(m->shape(0)) != rows)
        throw std::invalid_argument(std::string(what) + " has the wrong number of rows");
    return View{m->data(), rows, std::int64_t(m->shape(1)), m->stride(0), m->stride(1), f32};
}

const double* weights(const MaybeVector& w, std::int64_t rows) {
    if (w && std::int64_t(w->shape(0)) != rows) throw std::invalid_argument("weight has the wrong number of rows");
    return w ? w->data() : nullptr;
}

ColumnScaling scaling(const Vector& shift, const Vector& scale, std::int64_t columns) {
    if (std::int64_t(shift.shape(0)) != columns || std::int64_t(scale.shape(0)) != columns)
        throw std::invalid_argument("the scaling must have one shift and one scale for each column");
    return ColumnScaling{shift.data(), scale.data()};
}

void expect(std::int64_t rows, std::int64_t cols, std::int64_t want_rows, std::int64_t want_cols) {
    if (rows != want_rows || cols != want_cols) throw std::invalid_argument("the result has the wrong shape");
}

View only_double(View v, const char* what) {
    if (v.is_float32) throw std::invalid_argument(std::string(what) + " must be float64");
    return v;
}

void gram(const Matrix& X, const MaybeMatrix& Y, const MaybeVector& weight, const Vector& shift, const Vector& scale,
          const MaybeVector& coef, Square& G) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const View y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    const ColumnScaling g = scaling(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(G.shape(0)), std::int64_t(G.shape(1)), m, m);
    if (coef && (std::int64_t(coef->shape(0)) != x.cols + 1 || y.cols != 1))
        throw std::invalid_argument("coef needs one target, and one number for each column and the intercept");
    const double* c = coef ? coef->data() : nullptr;
    double* result = G.data();
    nb::gil_scoped_release release;
    chosen->gram(x, y, w, g, c, result);
}

// Rows of `out`: shift, scale, mean, and the m × m centred cross-products. False for rows that need more care.
void power_of_two(const Vector& size, int step, Numbers& power) {
    expect(std::int64_t(power.shape(0)), 1, std::int64_t(size.shape(0)), 1);
    if (step < 1) throw std::invalid_argument("step must be at least 1");
    linearly::powers_of_two(size.data(), std::int64_t(size.shape(0)), step, power.data());
}

bool column_scaling(const Matrix& X, const MaybeMatrix& Y, int coarse, Square& out) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = x.cols + y.cols;
    expect(std::int64_t(out.shape(0)), std::int64_t(out.shape(1)), 2, m);
    if (coarse < 1) throw std::invalid_argument("coarse must be at least 1");
    return linearly::sample_scaling(x, y, coarse, out.data(), out.data() + m);
}

bool centred_gram(const Matrix& X, const Matrix& Y, Square& out, Numbers& rounding) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = x.cols + y.cols;
    expect(std::int64_t(out.shape(0)), std::int64_t(out.shape(1)), 3 + m, m);
    expect(std::int64_t(rounding.shape(0)), 1, 1 + m, 1);
    double *shift = out.data(), *bounds = rounding.data();
    nb::gil_scoped_release release;
    if (!linearly::sample_scaling(x, y, COARSE, shift, shift + m)) return false;
    std::vector<double> factor(static_cast<std::size_t>(m)), G(static_cast<std::size_t>((m + 1) * (m + 1)));
    for (std::int64_t j = 0; j < m; ++j) factor[std::size_t(j)] = 1.0 / shift[m + j];
    chosen->gram(x, y, nullptr, ColumnScaling{shift, factor.data()}, nullptr, G.data());
    return linearly::centre_moments(G.data(), x.rows, m, shift + 2 * m, shift + 3 * m, bounds);
}

linearly::CentredGram centred(std::int64_t n, std::int64_t p, double weight, double log_weight, const Vector& shift,
                              const Vector& scale, const Vector& mean, const Constants& cross, const Vector& rounding) {
    const std::int64_t m = std::int64_t(cross.shape(0));
    if (p < 1 || p >= m || p > 128) throw std::invalid_argument("there must be 1 to 128 features, and a target");
    expect(std::int64_t(cross.shape(1)), std::int64_t(mean.shape(0)), m, m);
    expect(std::int64_t(rounding.shape(0)), 1, 1 + m, 1);
    const ColumnScaling g = scaling(shift, scale, m);
    return {n, p, m - p, weight, log_weight, g.shift, g.scale, mean.data(), cross.data(), rounding.data()};
}

linearly::ScaledColumns scaled_columns(const Square& columns, double* A, double* C) {
    double* at = columns.data();
    const std::int64_t m = std::int64_t(columns.shape(1));
    return {at, at + m, at + 2 * m, at + 3 * m, at + 4 * m, at + 5 * m, A, C};
}

// Rows of `columns`: noise, size, mean, its low part, mean in units of the size, and sums of squares of the targets.
bool scale_normal_equations(std::int64_t n, std::int64_t p, double weight, double log_weight, const Vector& shift,
                            const Vector& scale, const Vector& mean, const Constants& cross, const Vector& rounding,
                            Square& columns, Square& A, Square& C) {
    const auto gram = centred(n, p, weight, log_weight, shift, scale, mean, cross, rounding);
    expect(std::int64_t(columns.shape(0)), std::int64_t(columns.shape(1)), 6, gram.p + gram.k);
    expect(std::int64_t(A.shape(0)), std::int64_t(A.shape(1)), gram.p, gram.p);
    expect(std::int64_t(C.shape(0)), std::int64_t(C.shape(1)), gram.p, gram.k);
    return linearly::scale_normal_equations(gram, scaled_columns(columns, A.data(), C.data()));
}

// `coef` is k × p; rows of `targets`: intercept, its low part, residual and total sums of squares, mean of the target;
// rows of `means`: means of the features, and their low parts. Returns correct digits and whether
// predictions need care, or None.
std::optional<nb::tuple> finish_solution(std::int64_t n, std::int64_t p, double weight, double log_weight,
                                         const Vector& shift, const Vector& scale, const Vector& mean,
                                         const Constants& cross, const Vector& rounding, Square& columns,
                                         const Matrix& R, const Matrix& T, const Matrix& c, const Matrix& b,
                                         const Matrix& U, const Matrix& P, const Vector& center_b, Square& coef,
                                         Square& targets, Square& means) {
    const auto gram = centred(n, p, weight, log_weight, shift, scale, mean, cross, rounding);
    expect(std::int64_t(columns.shape(0)), std::int64_t(columns.shape(1)), 6, gram.p + gram.k);
    auto matrix = [](const Matrix& M, std::int64_t rows, std::int64_t cols) {
        const View v = only_double(view(M, rows, "a matrix"), "a matrix");
        expect(v.rows, v.cols, rows, cols);
        return v;
    };
    expect(std::int64_t(center_b.shape(0)), 1, gram.k, 1);
    expect(std::int64_t(coef.shape(0)), std::int64_t(coef.shape(1)), gram.k, p);
    expect(std::int64_t(targets.shape(0)), std::int64_t(targets.shape(1)), 5, gram.k);
    expect(std::int64_t(means.shape(0)), std::int64_t(means.shape(1)), 2, p);
    const linearly::Factors factors{matrix(R, p, p),      matrix(T, p, p),     matrix(c, p, gram.k),
                                    matrix(b, p, gram.k), matrix(U, 1 + p, p), matrix(P, 1 + p, p),
                                    center_b.data()};
    double *t = targets.data(), *m = means.data();
    linearly::SmallSolution to{coef.data(), t, t + gram.k, t + 2 * gram.k, t + 3 * gram.k, t + 4 * gram.k, m, m + p, 0,
                               0,           0, 0,          false};
    if (!linearly::finish_solution(gram, scaled_columns(columns, nullptr, nullptr), factors, to)) return std::nullopt;
    return nb::make_tuple(to.digits, to.relevant, to.strict, to.of_errors, to.far);
}

bool scale_to_unit(const Matrix& A, Numbers& size, Square& scaled) {
    const std::int64_t p = std::int64_t(A.shape(0));
    const View a = only_double(view(A, p, "A"), "A");
    expect(a.cols, std::int64_t(size.shape(0)), p, p);
    expect(std::int64_t(scaled.shape(0)), std::int64_t(scaled.shape(1)), p, p);
    return linearly::scale_to_unit(a, size.data(), scaled.data());
}

bool is_independent(const Matrix& R, const Matrix& T) {
    const std::int64_t p = std::int64_t(R.shape(0));
    const View r = only_double(view(R, p, "R"), "R"), t = only_double(view(T, p, "T"), "T");
    expect(r.cols, t.cols, p, p);
    return linearly::is_independent(r, t);
}

// The Gram of each class: class k has the rows order[ends[k]] … order[ends[k + 1] − 1].
void gram_by_class(const Matrix& X, const MaybeVector& weight, const Vector& shift, const Vector& scale,
                   const Index& order, const Index& ends, Cube& G) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), nothing = view(std::nullopt, x.rows, "Y");
    const std::int64_t m = 1 + x.cols, K = std::int64_t(G.shape(0)), listed = std::int64_t(order.shape(0));
    const ColumnScaling g = scaling(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(G.shape(1)), std::int64_t(G.shape(2)), m, m);
    if (std::int64_t(ends.shape(0)) != K + 1)
        throw std::invalid_argument("ends needs one number more than there are classes");
    for (std::int64_t k = 0; k <= K; ++k)
        if (ends.data()[k] < (k ? ends.data()[k - 1] : 0) || ends.data()[k] > listed)
            throw std::invalid_argument("ends are out of order");
    for (std::int64_t i = 0; i < listed; ++i)
        if (order.data()[i] < 0 || order.data()[i] >= x.rows)
            throw std::invalid_argument("order has an index out of range");
    const std::int64_t *rows = order.data(), *end = ends.data();
    double* result = G.data();
    nb::gil_scoped_release release;
    for (std::int64_t k = 0; k < K; ++k) {
        View mine = x;
        mine.rows = end[k + 1] - end[k], mine.index = rows + end[k];
        chosen->gram(mine, nothing, w, g, nullptr, result + k * m * m);
    }
}

void gram_columns(const nb::sequence& X, const MaybeMatrix& Y, const MaybeVector& weight, const Vector& shift,
                  const Vector& scale, Square& G) {
    const Columns columns(X);
    const View x = columns.view(), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    const ColumnScaling g = scaling(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(G.shape(0)), std::int64_t(G.shape(1)), m, m);
    double* result = G.data();
    nb::gil_scoped_release release;
    chosen->gram(x, y, w, g, nullptr, result);
}

// Each category has codes −1 … widths[c] − 1.
void code_tables(const nb::sequence& X, const MaybeVector& weight, const Vector& shift, const Vector& scale,
                 const nb::sequence& codes, const Index& widths, Square& sums, Square& pairs) {
    using CodeVector = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    const Columns columns(X);
    std::vector<CodeVector> arrays;
    for (nb::handle one : codes) arrays.push_back(nb::cast<CodeVector>(one));
    if (arrays.empty() || widths.shape(0) != arrays.size()) throw std::invalid_argument("codes need their widths");
    const std::int64_t rows = std::int64_t(arrays[0].shape(0)), q = columns.view().cols;
    if (q && columns.view().rows != rows) throw std::invalid_argument("columns and codes must have one length");
    const ColumnScaling g = scaling(shift, scale, q);
    const double* w = weights(weight, rows);
    std::vector<const std::int32_t*> begins;
    std::vector<std::int64_t> starts;
    std::int64_t size = 0;
    for (std::size_t c = 0; c < arrays.size(); ++c) {
        const std::int32_t* code = arrays[c].data();
        const std::int64_t width = widths.data()[c];
        if (std::int64_t(arrays[c].shape(0)) != rows) throw std::invalid_argument("codes must have one length");
        bool outside = false;
        for (std::int64_t i = 0; i < rows; ++i) outside |= code[i] < -1 || code[i] >= width;
        if (outside) throw std::invalid_argument("a code is outside its category");
        begins.push_back(code), starts.push_back(size), size += 1 + width;
    }
    expect(std::int64_t(sums.shape(0)), std::int64_t(sums.shape(1)), size, 1 + 2 * q);
    expect(std::int64_t(pairs.shape(0)), std::int64_t(pairs.shape(1)), size, size);
    const linearly::Categories categories{begins.data(), starts.data(), std::int64_t(begins.size()), size};
    double *s = sums.data(), *t = pairs.data();
    nb::gil_scoped_release release;
    linearly::code_tables(columns.begins.data(), q, rows, w, g.shift, g.scale, categories, s, t);
}

void gram_extended(const Matrix& X, const MaybeMatrix& X_low, const MaybeMatrix& Y, const MaybeVector& weight,
                   const Vector& shift, const Vector& scale, Square& high, Square& low) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), xl = view(X_low, x.rows, "X_low");
    const View y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    if (xl.cols && xl.cols != x.cols) throw std::invalid_argument("X_low must have the shape of X");
    const ColumnScaling g = scaling(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(high.shape(0)), std::int64_t(high.shape(1)), m, m);
    expect(std::int64_t(low.shape(0)), std::int64_t(low.shape(1)), m, m);
    double *h = high.data(), *l = low.data();
    nb::gil_scoped_release release;
    chosen->gram_extended(x, xl, y, w, g, h, l);
}

void qr_update(const Matrix& X, const MaybeMatrix& Y, const MaybeVector& weight, const Vector& shift,
               const Vector& scale, Square& R) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    const ColumnScaling g = scaling(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(R.shape(0)), std::int64_t(R.shape(1)), m, m);
    double* result = R.data();
    nb::gil_scoped_release release;
    chosen->qr_update(x, y, w, g, result);
}

nb::tuple logistic(const Matrix& X, const Vector& y, const MaybeVector& weight, const Vector& shift,
                   const Vector& scale, const Vector& beta, std::optional<Square> H, Square& gradient) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const std::int64_t m = 1 + x.cols;
    const ColumnScaling g = scaling(shift, scale, x.cols);
    const double* w = weights(weight, x.rows);
    if (std::int64_t(y.shape(0)) != x.rows) throw std::invalid_argument("y has the wrong number of rows");
    if (std::int64_t(beta.shape(0)) != m)
        throw std::invalid_argument("beta needs the intercept and one number a column");
    if (H) expect(std::int64_t(H->shape(0)), std::int64_t(H->shape(1)), m, m);
    expect(std::int64_t(gradient.shape(0)), std::int64_t(gradient.shape(1)), m, 1);
    linearly::LogisticSums sums;
    double *hessian = H ? H->data() : nullptr, *slope = gradient.data();
    {
        nb::gil_scoped_release release;
        chosen->logistic(x, y.data(), w, g, beta.data(), hessian, slope, sums);
    }
    return nb::make_tuple(sums.loss, sums.mistakes, sums.largest);
}

void probabilities(const Matrix& X, const Vector& beta, Square& out) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    if (std::int64_t(beta.shape(0)) != x.cols + 1)
        throw std::invalid_argument("beta needs an intercept and a number for each column");
    expect(std::int64_t(out.shape(0)), std::int64_t(out.shape(1)), x.rows, 2);
    const double* b = beta.data();
    double* result = out.data();
    nb::gil_scoped_release release;
    chosen->probabilities(x, b, result);
}

nb::tuple softmax(const Matrix& X,
                  const nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& codes,
                  const MaybeVector& weight, const Vector& shift, const Vector& scale, const Constants& B,
                  std::optional<Square> H, Square& gradient) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const std::int64_t m = 1 + x.cols, c = std::int64_t(B.shape(1));
    if (c < 1) throw std::invalid_argument("B needs at least one column");
    const ColumnScaling g = scaling(shift, scale, x.cols);
    const double* w = weights(weight, x.rows);
    if (std::int64_t(codes.shape(0)) != x.rows) throw std::invalid_argument("codes have the wrong number of rows");
    for (std::int64_t i = 0; i < x.rows; ++i)
        if (codes.data()[i] < -1 || codes.data()[i] >= c) throw std::invalid_argument("codes must be logits, or −1");
    expect(std::int64_t(B.shape(0)), c, m, c);
    if (H) expect(std::int64_t(H->shape(0)), std::int64_t(H->shape(1)), c * m, c * m);
    expect(std::int64_t(gradient.shape(0)), std::int64_t(gradient.shape(1)), m, c);
    linearly::LogisticSums sums;
    double *hessian = H ? H->data() : nullptr, *slope = gradient.data();
    {
        nb::gil_scoped_release release;
        chosen->softmax(x, codes.data(), w, g, B.data(), c, hessian, slope, sums);
    }
    return nb::make_tuple(sums.loss, sums.mistakes, sums.largest);
}

void softmax_probabilities(const Matrix& X, const Constants& B, Square& out) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const std::int64_t K = std::int64_t(out.shape(1));
    expect(std::int64_t(B.shape(0)), std::int64_t(B.shape(1)), x.cols + 1, K);
    expect(std::int64_t(out.shape(0)), K, x.rows, K);
    if (K == 0) return;
    const double* b = B.data();
    double* result = out.data();
    nb::gil_scoped_release release;
    chosen->softmax_probabilities(x, b, K, result);
}

void residual_extended(const Matrix& X, const MaybeMatrix& X_low, const Matrix& Y, const MaybeVector& weight,
                       const Vector& shift, const Vector& scale, const Constants& B_high, const Constants& B_low,
                       Square& high, Square& low) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), xl = view(X_low, x.rows, "X_low");
    const View y = only_double(view(Y, x.rows, "Y"), "Y");
    if (xl.cols && xl.cols != x.cols) throw std::invalid_argument("X_low must have the shape of X");
    const ColumnScaling g = scaling(shift, scale, x.cols + y.cols);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(B_high.shape(0)), std::int64_t(B_high.shape(1)), 1 + x.cols, y.cols);
    expect(std::int64_t(B_low.shape(0)), std::int64_t(B_low.shape(1)), 1 + x.cols, y.cols);
    expect(std::int64_t(high.shape(0)), std::int64_t(high.shape(1)), 2 + x.cols, y.cols);
    expect(std::int64_t(low.shape(0)), std::int64_t(low.shape(1)), 2 + x.cols, y.cols);
    double *h = high.data(), *l = low.data();
    nb::gil_scoped_release release;
    chosen->residual_extended(x, xl, y, w, g, B_high.data(), B_low.data(), h, l);
}

using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Steps = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Classes = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Raw = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The checked arguments of a pass, without the rows.
struct ScanCall {
    const Labels& labels;
    const std::optional<Order>& order;
    Square& W;
    std::optional<Numbers>& b;
    std::optional<Square>& U;
    std::optional<Numbers>& c;
    double seen;
    std::int64_t most;
    bool measure;
    std::optional<Steps>& mistakes;
    std::optional<Classes>& rivals;

    template <class Pass>
    nb::tuple run(std::int64_t rows, std::int64_t cols, bool interleaved, Pass&& run_pass) {
        const std::int64_t K = std::int64_t(W.shape(interleaved ? 1 : 0));
        if (K < 1) throw std::invalid_argument("W needs at least one vector of weights");
        expect(std::int64_t(W.shape(interleaved ? 0 : 1)), K, cols, K);
        if (U)
            expect(std::int64_t(U->shape(0)), std::int64_t(U->shape(1)), std::int64_t(W.shape(0)),
                   std::int64_t(W.shape(1)));
        for (const auto* v : {&b, &c})
            if (*v && std::int64_t((*v)->shape(0)) != K)
                throw std::invalid_argument("there must be one intercept for each class");
        if (U && b && !c) throw std::invalid_argument("an average needs c where there is an intercept");
        if (std::int64_t(labels.shape(0)) != rows) throw std::invalid_argument("there must be one label for each row");
        const std::int64_t steps = order ? std::int64_t(order->shape(0)) : rows;
        const std::int64_t room = mistakes ? std::int64_t(mistakes->shape(0)) : steps;
        if (room < std::min(steps, most) || (mistakes && K > 1 && (!rivals || std::int64_t(rivals->shape(0)) < room)))
            throw std::invalid_argument("there is no room for the mistakes");
        const Weights weights{W.data(), b ? b->data() : nullptr, U ? U->data() : nullptr, c ? c->data() : nullptr, cols,
                              K};
        const PassArgs walk{labels.data(),
                            order ? order->data() : nullptr,
                            steps,
                            seen,
                            most,
                            measure,
                            mistakes ? mistakes->data() : nullptr,
                            rivals ? rivals->data() : nullptr};
        PassResult out;
        {
            nb::gil_scoped_release release;
            for (std::int64_t i = 0; i < steps && walk.order; ++i)
                if (walk.order[i] < 0 || walk.order[i] >= rows)
                    throw std::invalid_argument("the order names a row that is not there");
            for (std::int64_t r = 0; r < rows; ++r)
                if (walk.labels[r] < 0 || walk.labels[r] >= std::max<std::int64_t>(K, 2))
                    throw std::invalid_argument("unknown label");
            out = run_pass(weights, walk);
        }
        if (out.problem == PassResult::bad_index)
            throw std::invalid_argument("a sparse row has an index outside its columns");
        return nb::make_tuple(out.walked, out.found, out.largest, out.problem == PassResult::none);
    }
};

nb::tuple perceptron_pass_dense(const Matrix& X, const Labels& labels, const std::optional<Order>& order, Square& W,
                                std::optional<Numbers> b, std::optional<Square> U, std::optional<Numbers> c,
                                double seen, std::int64_t most, bool measure, std::optional<Steps> mistakes,
                                std::optional<Classes> rivals) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    return ScanCall{labels, order, W, b, U, c, seen, most, measure, mistakes, rivals}.run(
        x.rows, x.cols, false,
        [&](const Weights& weights, const PassArgs& walk) { return chosen.pass_table->dense(x, weights, walk); });
}

nb::tuple perceptron_pass_sparse(const Raw& offsets, const Raw& indices, const Raw& values, std::int64_t cols,
                                 const Labels& labels, const std::optional<Order>& order, Square& W,
                                 std::optional<Numbers> b, std::optional<Square> U, std::optional<Numbers> c,
                                 double seen, std::int64_t most, bool measure, std::optional<Steps> mistakes,
                                 std::optional<Classes> rivals) {
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>(), f32 = values.dtype() == nb::dtype<float>();
    if (indices.dtype() != offsets.dtype() || !(wide || indices.dtype() == nb::dtype<std::int32_t>()))
        throw std::invalid_argument("offsets and indices must both be int32 or both int64");
    if (!f32 && values.dtype() != nb::dtype<double>()) throw std::invalid_argument("values must be float64 or float32");
    const std::int64_t rows = std::int64_t(offsets.shape(0)) - 1, entries = std::int64_t(values.shape(0));
    if (rows < 0 || std::int64_t(indices.shape(0)) != entries)
        throw std::invalid_argument("values and indices differ in number");
    std::int64_t before = 0;
    for (std::int64_t r = 0; r <= rows; ++r) {
        const std::int64_t here = wide ? static_cast<const std::int64_t*>(offsets.data())[r]
                                       : static_cast<const std::int32_t*>(offsets.data())[r];
        if (here < before || here > entries)
            throw std::invalid_argument("the offsets of the sparse rows are not in order");
        before = here;
    }
    const Sparse x{offsets.data(), indices.data(), values.data(), rows, cols, wide, f32};
    return ScanCall{labels, order, W, b, U, c, seen, most, measure, mistakes, rivals}.run(
        rows, cols, true,
        [&](const Weights& weights, const PassArgs& walk) { return chosen.pass_table->sparse(x, weights, walk); });
}

// CSR rows with each column at most once; D is rows × d, G p × p, C p × d, both zero.
void sparse_gram(const Raw& offsets, const Raw& indices, const Vector& values, const MaybeVector& weight,
                 const Vector& scale, const Constants& D, Square& G, Square& C) {
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
    if (indices.dtype() != offsets.dtype() || !(wide || indices.dtype() == nb::dtype<std::int32_t>()))
        throw std::invalid_argument("offsets and indices must both be int32 or both int64");
    const std::int64_t rows = std::int64_t(D.shape(0)), d = std::int64_t(D.shape(1)), p = std::int64_t(scale.shape(0));
    const std::int64_t entries = std::int64_t(values.shape(0));
    if (std::int64_t(offsets.shape(0)) != rows + 1 || std::int64_t(indices.shape(0)) != entries)
        throw std::invalid_argument("values and indices differ in number");
    const std::int64_t end = wide ? static_cast<const std::int64_t*>(offsets.data())[rows]
                                  : static_cast<const std::int32_t*>(offsets.data())[rows];
    if (end > entries) throw std::invalid_argument("the offsets of the sparse rows are not in order");
    const double* w = weights(weight, rows);
    expect(std::int64_t(G.shape(0)), std::int64_t(G.shape(1)), p, p);
    expect(std::int64_t(C.shape(0)), std::int64_t(C.shape(1)), p, d);
    const linearly::SparseRows x{rows, p, entries, offsets.data(), indices.data(), wide, values.data()};
    bool sound;
    {
        nb::gil_scoped_release release;
        sound = linearly::sparse_gram(x, w, scale.data(), D.data(), d, G.data(), C.data());
    }
    if (!sound) throw std::invalid_argument("a sparse row has an index outside its columns");
}

// The largest absolute value of each column of CSR rows; NaN is left to the sums.
template <class I, class T>
bool raise_largest(const I* at, const T* values, std::int64_t entries, double* out, std::int64_t p) {
    for (std::int64_t e = 0; e < entries; ++e) {
        if (at[e] < 0 || std::int64_t(at[e]) >= p) return false;
        const double size = std::abs(double(values[e]));
        if (size > out[at[e]]) out[at[e]] = size;
    }
    return true;
}

void largest_of_columns(const Raw& indices, const Raw& values, Numbers& out) {
    const std::int64_t entries = std::int64_t(values.shape(0)), p = std::int64_t(out.shape(0));
    if (std::int64_t(indices.shape(0)) != entries) throw std::invalid_argument("values and indices differ in number");
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>(), f32 = values.dtype() == nb::dtype<float>();
    if (!wide && indices.dtype() != nb::dtype<std::int32_t>())
        throw std::invalid_argument("indices must be int32 or int64");
    if (!f32 && values.dtype() != nb::dtype<double>()) throw std::invalid_argument("values must be float64 or float32");
    const auto raise = [&](const auto* at) {
        return f32 ? raise_largest(at, static_cast<const float*>(values.data()), entries, out.data(), p)
                   : raise_largest(at, static_cast<const double*>(values.data()), entries, out.data(), p);
    };
    bool sound;
    {
        nb::gil_scoped_release release;
        sound = wide ? raise(static_cast<const std::int64_t*>(indices.data()))
                     : raise(static_cast<const std::int32_t*>(indices.data()));
    }
    if (!sound) throw std::invalid_argument("a sparse row has an index outside its columns");
}

void mahalanobis(const Matrix& X, const Vector& shift, const Vector& scale, const Constants& roots, const Vector& moved,
                 Square& out) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const ColumnScaling g = scaling(shift, scale, x.cols);
    const std::int64_t K = std::int64_t(out.shape(1)), wide = std::int64_t(roots.shape(1));
    if (K == 0 || wide % K || std::int64_t(moved.shape(0)) != wide)
        throw std::invalid_argument("there must be a root for each class");
    expect(std::int64_t(roots.shape(0)), std::int64_t(out.shape(0)), x.cols, x.rows);
    const double *r = roots.data(), *m = moved.data();
    double* result = out.data();
    nb::gil_scoped_release release;
    chosen->mahalanobis(x, g, r, m, K, wide / K, result);
}

// Each row of `columns` is the column of one feature.
std::int64_t coordinate_descent(const Constants& columns, const Index& places, const Vector& squares, const Vector& lam,
                                const Vector& mu, double tolerance, std::int64_t most, Numbers& w, Numbers& residual) {
    const std::int64_t n = std::int64_t(columns.shape(1)), m = std::int64_t(places.shape(0));
    expect(std::int64_t(squares.shape(0)), std::int64_t(lam.shape(0)), m, m);
    expect(std::int64_t(mu.shape(0)), std::int64_t(w.shape(0)), m, m);
    expect(std::int64_t(residual.shape(0)), 1, n, 1);
    for (std::int64_t j = 0; j < m; ++j)
        if (places.data()[j] < 0 || places.data()[j] >= std::int64_t(columns.shape(0)))
            throw std::invalid_argument("places has an index out of range");
    const double *c = columns.data(), *s = squares.data(), *l = lam.data(), *u = mu.data();
    const std::int64_t* at = places.data();
    double *coef = w.data(), *r = residual.data();
    nb::gil_scoped_release release;
    return chosen->coordinate_descent(c, n, at, m, s, l, u, tolerance, most, coef, r);
}

using Fields = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberColumns = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WholeColumns = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Column = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::int64_t read_numbers(const nb::bytes& text, const std::string& delimiter, const Fields& fields,
                          NumberColumns& numbers, WholeColumns& wholes) {
    const auto* kinds = reinterpret_cast<const linearly::Field*>(fields.data());
    const std::int64_t columns = std::int64_t(fields.shape(0)), rows = std::int64_t(numbers.shape(1));
    if (delimiter.size() != 1 || columns == 0)
        throw std::invalid_argument("there must be a delimiter of one byte, and fields");
    if (std::count(kinds, kinds + columns, linearly::Field::number) != std::int64_t(numbers.shape(0)) ||
        std::count(kinds, kinds + columns, linearly::Field::whole) != std::int64_t(wholes.shape(0)) ||
        std::int64_t(wholes.shape(1)) != rows)
        throw std::invalid_argument("there must be a column for each field that is not skipped");
    const char *first = text.c_str(), mark = delimiter[0];
    const std::int64_t length = std::int64_t(text.size());
    double* to_numbers = numbers.data();
    std::int64_t* to_wholes = wholes.data();
    nb::gil_scoped_release release;
    return linearly::read_numbers(first, length, mark, kinds, columns, rows, to_numbers, to_wholes);
}

bool read_pages(linearly::Pages& pages, Column& out) {
    double* to = out.data();
    const std::int64_t rows = std::int64_t(out.shape(0));
    nb::gil_scoped_release release;
    return pages.read(to, rows);
}

}  // namespace

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled twins of linearly.kernels.reference.";
    m.def("instruction_set", [] { return std::string(chosen->name); }, "The instruction set in use.");
    m.def(
        "instruction_sets",
        [] {
            nb::list names;
            for (const Set& set : available()) names.append(std::string(set->name));
            return names;
        },
        "The instruction sets this machine can run.");
    m.def(
        "use_instruction_set",
        [](const std::string& name) {
            for (const Set& set : available())
                if (name == set->name) {
                    chosen = set;
                    return;
                }
            throw std::invalid_argument("this machine cannot run " + name);
        },
        nb::arg("name"), "Choose an instruction set (tests hold all of them to the reference).");
    // Outputs are never converted: the kernel would fill a copy, and the caller's array would stay as it was.
    m.def("gram", &gram, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("coef").none(), nb::arg("G").noconvert());
    m.def("power_of_two", &power_of_two, nb::arg("size"), nb::arg("step"), nb::arg("power").noconvert());
    m.def("column_scaling", &column_scaling, nb::arg("X"), nb::arg("Y").none(), nb::arg("coarse"),
          nb::arg("out").noconvert());
    m.def("centred_gram", &centred_gram, nb::arg("X"), nb::arg("Y"), nb::arg("out").noconvert(),
          nb::arg("rounding").noconvert());
    m.def("scale_normal_equations", &scale_normal_equations, nb::arg("n"), nb::arg("p"), nb::arg("weight"),
          nb::arg("log_weight"), nb::arg("shift"), nb::arg("scale"), nb::arg("mean"), nb::arg("cross"),
          nb::arg("rounding"), nb::arg("columns").noconvert(), nb::arg("A").noconvert(), nb::arg("C").noconvert());
    m.def("finish_solution", &finish_solution, nb::arg("n"), nb::arg("p"), nb::arg("weight"), nb::arg("log_weight"),
          nb::arg("shift"), nb::arg("scale"), nb::arg("mean"), nb::arg("cross"), nb::arg("rounding"),
          nb::arg("columns"), nb::arg("R"), nb::arg("T"), nb::arg("c"), nb::arg("b"), nb::arg("U"), nb::arg("P"),
          nb::arg("center_b"), nb::arg("coef").noconvert(), nb::arg("targets").noconvert(),
          nb::arg("means").noconvert());
    m.def("scale_to_unit", &scale_to_unit, nb::arg("A"), nb::arg("size").noconvert(), nb::arg("scaled").noconvert());
    m.def("is_independent", &is_independent, nb::arg("R"), nb::arg("T"));
    m.def("sparse_gram", &sparse_gram, nb::arg("offsets"), nb::arg("indices"), nb::arg("values"),
          nb::arg("weight").none(), nb::arg("scale"), nb::arg("D"), nb::arg("G").noconvert(), nb::arg("C").noconvert());
    m.def("largest_of_columns", &largest_of_columns, nb::arg("indices"), nb::arg("values"), nb::arg("out").noconvert());
    m.def("gram_by_class", &gram_by_class, nb::arg("X"), nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("order"), nb::arg("ends"), nb::arg("G").noconvert());
    m.def("gram_columns", &gram_columns, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("G").noconvert());
    m.def("code_tables", &code_tables, nb::arg("X"), nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("codes"), nb::arg("widths"), nb::arg("sums").noconvert(), nb::arg("pairs").noconvert());
    m.def("gram_extended", &gram_extended, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y").none(),
          nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"), nb::arg("high").noconvert(),
          nb::arg("low").noconvert());
    m.def("qr_update", &qr_update, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("R").noconvert());
    m.def("logistic", &logistic, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("beta"), nb::arg("H").none().noconvert(), nb::arg("gradient").noconvert());
    m.def("probabilities", &probabilities, nb::arg("X"), nb::arg("beta"), nb::arg("out").noconvert());
    m.def("softmax", &softmax, nb::arg("X"), nb::arg("codes"), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("B"), nb::arg("H").none().noconvert(), nb::arg("gradient").noconvert());
    m.def("softmax_probabilities", &softmax_probabilities, nb::arg("X"), nb::arg("B"), nb::arg("out").noconvert());
    m.def("mahalanobis", &mahalanobis, nb::arg("X"), nb::arg("shift"), nb::arg("scale"), nb::arg("roots"),
          nb::arg("moved"), nb::arg("out").noconvert());
    m.def("residual_extended", &residual_extended, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y"),
          nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"), nb::arg("B_high"), nb::arg("B_low"),
          nb::arg("high").noconvert(), nb::arg("low").noconvert());
    m.def("coordinate_descent", &coordinate_descent, nb::arg("columns"), nb::arg("places"), nb::arg("squares"),
          nb::arg("lam"), nb::arg("mu"), nb::arg("tolerance"), nb::arg("most"), nb::arg("w").noconvert(),
          nb::arg("residual").noconvert());
    m.def(
        "count_rows",
        [](const nb::bytes& text) {
            const linearly::Lines found = linearly::count_rows(text.c_str(), std::int64_t(text.size()));
            return nb::make_tuple(found.rows, found.ends, found.quoted);
        },
        nb::arg("text"));
    m.def("read_numbers", &read_numbers, nb::arg("text"), nb::arg("delimiter"), nb::arg("fields"),
          nb::arg("numbers").noconvert(), nb::arg("wholes").noconvert());
    m.def(
        "columns_of",
        [](const nb::bytes& footer) {
            const auto found = linearly::columns_of(reinterpret_cast<const std::uint8_t*>(footer.c_str()),
                                                    std::int64_t(footer.size()));
            return nb::bytes(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(linearly::ColumnChunk));
        },
        nb::arg("footer"));
    nb::class_<linearly::Pages>(m, "Pages")
        .def(nb::init<>())
        .def("open", &linearly::Pages::open, nb::arg("file"), nb::arg("offset"), nb::arg("length"), nb::arg("rows"),
             nb::arg("optional"), nb::arg("snappy"))
        .def("read", &read_pages, nb::arg("out").noconvert());
    m.def("perceptron_pass_dense", &perceptron_pass_dense, nb::arg("X"), nb::arg("labels"), nb::arg("order").none(),
          nb::arg("W").noconvert(), nb::arg("b").none().noconvert(), nb::arg("U").none().noconvert(),
          nb::arg("c").none().noconvert(), nb::arg("seen"), nb::arg("most"), nb::arg("measure"),
          nb::arg("mistakes").none().noconvert(), nb::arg("rivals").none().noconvert());
    m.def("perceptron_pass_sparse", &perceptron_pass_sparse, nb::arg("offsets"), nb::arg("indices"), nb::arg("values"),
          nb::arg("cols"), nb::arg("labels"), nb::arg("order").none(), nb::arg("W").noconvert(),
          nb::arg("b").none().noconvert(), nb::arg("U").none().noconvert(), nb::arg("c").none().noconvert(),
          nb::arg("seen"), nb::arg("most"), nb::arg("measure"), nb::arg("mistakes").none().noconvert(),
          nb::arg("rivals").none().noconvert());
}
