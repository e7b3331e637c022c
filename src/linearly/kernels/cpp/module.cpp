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

#include "kernel_table.hpp"
#include "parquet_pages.hpp"
#include "perceptron_pass.hpp"
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
                  Square& gradient) {
    const View x = view(X, std::int64_t(X.shape(0)), "X");
    const std::int64_t m = 1 + x.cols, c = std::int64_t(B.shape(1));
    const ColumnScaling g = scaling(shift, scale, x.cols);
    const double* w = weights(weight, x.rows);
    if (std::int64_t(codes.shape(0)) != x.rows) throw std::invalid_argument("codes have the wrong number of rows");
    for (std::int64_t i = 0; i < x.rows; ++i)
        if (codes.data()[i] < -1 || codes.data()[i] >= c) throw std::invalid_argument("codes must be logits, or −1");
    expect(std::int64_t(B.shape(0)), c, m, c);
    expect(std::int64_t(gradient.shape(0)), std::int64_t(gradient.shape(1)), m, c);
    linearly::LogisticSums sums;
    double* slope = gradient.data();
    {
        nb::gil_scoped_release release;
        chosen->softmax(x, codes.data(), w, g, B.data(), c, slope, sums);
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
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
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
    m.def("gram", &gram, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("coef").none(), nb::arg("G"));
    m.def("gram_by_class", &gram_by_class, nb::arg("X"), nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("order"), nb::arg("ends"), nb::arg("G"));
    m.def("gram_columns", &gram_columns, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("G"));
    m.def("gram_extended", &gram_extended, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y").none(),
          nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"), nb::arg("high"), nb::arg("low"));
    m.def("qr_update", &qr_update, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("R"));
    m.def("logistic", &logistic, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("beta"), nb::arg("H").none(), nb::arg("gradient"));
    m.def("probabilities", &probabilities, nb::arg("X"), nb::arg("beta"), nb::arg("out"));
    m.def("softmax", &softmax, nb::arg("X"), nb::arg("codes"), nb::arg("weight").none(), nb::arg("shift"),
          nb::arg("scale"), nb::arg("B"), nb::arg("gradient"));
    m.def("softmax_probabilities", &softmax_probabilities, nb::arg("X"), nb::arg("B"), nb::arg("out"));
    m.def("mahalanobis", &mahalanobis, nb::arg("X"), nb::arg("shift"), nb::arg("scale"), nb::arg("roots"),
          nb::arg("moved"), nb::arg("out"));
    m.def("residual_extended", &residual_extended, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y"),
          nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"), nb::arg("B_high"), nb::arg("B_low"),
          nb::arg("high"), nb::arg("low"));
    m.def(
        "count_rows",
        [](const nb::bytes& text) {
            const linearly::Lines found = linearly::count_rows(text.c_str(), std::int64_t(text.size()));
            return nb::make_tuple(found.rows, found.ends, found.quoted);
        },
        nb::arg("text"));
    m.def("read_numbers", &read_numbers, nb::arg("text"), nb::arg("delimiter"), nb::arg("fields"), nb::arg("numbers"),
          nb::arg("wholes"));
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
        .def("read", &read_pages, nb::arg("out"));
    m.def("perceptron_pass_dense", &perceptron_pass_dense, nb::arg("X"), nb::arg("labels"), nb::arg("order").none(),
          nb::arg("W"), nb::arg("b").none(), nb::arg("U").none(), nb::arg("c").none(), nb::arg("seen"), nb::arg("most"),
          nb::arg("measure"), nb::arg("mistakes").none(), nb::arg("rivals").none());
    m.def("perceptron_pass_sparse", &perceptron_pass_sparse, nb::arg("offsets"), nb::arg("indices"), nb::arg("values"),
          nb::arg("cols"), nb::arg("labels"), nb::arg("order").none(), nb::arg("W"), nb::arg("b").none(),
          nb::arg("U").none(), nb::arg("c").none(), nb::arg("seen"), nb::arg("most"), nb::arg("measure"),
          nb::arg("mistakes").none(), nb::arg("rivals").none());
}
