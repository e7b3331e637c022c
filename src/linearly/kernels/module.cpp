// The Python face of the loops: checks shapes, lets go of the interpreter lock, picks the instruction set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "loops.hpp"

namespace nb = nanobind;
using linearly::Gauge;
using linearly::Loops;
using linearly::View;

namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Constants = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MaybeMatrix = std::optional<Matrix>;
using MaybeVector = std::optional<Vector>;

std::vector<const Loops*> available() {
    std::vector<const Loops*> found = {linearly::loops_baseline()};
#if defined(LINEARLY_HAS_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(linearly::loops_avx2());
#endif
#if defined(LINEARLY_HAS_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found.push_back(linearly::loops_avx512());
#endif
    return found;
}

const Loops* chosen = available().back();

View view(const MaybeMatrix& m, std::int64_t rows, const char* what) {
    if (!m) return View{nullptr, rows, 0, 0, 0, false};
    const bool f64 = m->dtype() == nb::dtype<double>(), f32 = m->dtype() == nb::dtype<float>();
    if (!f64 && !f32) throw std::invalid_argument(std::string(what) + " must be float64 or float32");
    if (std::int64_t(m->shape(0)) != rows) throw std::invalid_argument(std::string(what) + " has the wrong number of rows");
    return View{m->data(), rows, std::int64_t(m->shape(1)), m->stride(0), m->stride(1), f32};
}

const double* weights(const MaybeVector& w, std::int64_t rows) {
    if (w && std::int64_t(w->shape(0)) != rows) throw std::invalid_argument("weight has the wrong number of rows");
    return w ? w->data() : nullptr;
}

Gauge gauge(const Vector& shift, const Vector& scale, std::int64_t columns) {
    if (std::int64_t(shift.shape(0)) != columns || std::int64_t(scale.shape(0)) != columns)
        throw std::invalid_argument("the gauge must have one shift and one scale for each column");
    return Gauge{shift.data(), scale.data()};
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
    const View x = view(X, std::int64_t(X.shape(0)), "X"), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    const Gauge g = gauge(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(G.shape(0)), std::int64_t(G.shape(1)), m, m);
    if (coef && (std::int64_t(coef->shape(0)) != x.cols + 1 || y.cols != 1))
        throw std::invalid_argument("coef needs one target, and one number for each column and the intercept");
    const double* c = coef ? coef->data() : nullptr;
    double* result = G.data();
    nb::gil_scoped_release release;
    chosen->gram(x, y, w, g, c, result);
}

void exact_gram(const Matrix& X, const MaybeMatrix& X_low, const MaybeMatrix& Y, const MaybeVector& weight, const Vector& shift,
                const Vector& scale, Square& high, Square& low) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), xl = view(X_low, x.rows, "X_low");
    const View y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    if (xl.cols && xl.cols != x.cols) throw std::invalid_argument("X_low must have the shape of X");
    const Gauge g = gauge(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(high.shape(0)), std::int64_t(high.shape(1)), m, m);
    expect(std::int64_t(low.shape(0)), std::int64_t(low.shape(1)), m, m);
    double *h = high.data(), *l = low.data();
    nb::gil_scoped_release release;
    chosen->exact_gram(x, xl, y, w, g, h, l);
}

void triangle(const Matrix& X, const MaybeMatrix& Y, const MaybeVector& weight, const Vector& shift, const Vector& scale, Square& R) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), y = only_double(view(Y, x.rows, "Y"), "Y");
    const std::int64_t m = 1 + x.cols + y.cols;
    const Gauge g = gauge(shift, scale, m - 1);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(R.shape(0)), std::int64_t(R.shape(1)), m, m);
    double* result = R.data();
    nb::gil_scoped_release release;
    chosen->triangle(x, y, w, g, result);
}

void exact_residual(const Matrix& X, const MaybeMatrix& X_low, const Matrix& Y, const MaybeVector& weight, const Vector& shift,
                    const Vector& scale, const Constants& B_high, const Constants& B_low, Square& high, Square& low) {
    const View x = view(X, std::int64_t(X.shape(0)), "X"), xl = view(X_low, x.rows, "X_low");
    const View y = only_double(view(Y, x.rows, "Y"), "Y");
    if (xl.cols && xl.cols != x.cols) throw std::invalid_argument("X_low must have the shape of X");
    const Gauge g = gauge(shift, scale, x.cols + y.cols);
    const double* w = weights(weight, x.rows);
    expect(std::int64_t(B_high.shape(0)), std::int64_t(B_high.shape(1)), 1 + x.cols, y.cols);
    expect(std::int64_t(B_low.shape(0)), std::int64_t(B_low.shape(1)), 1 + x.cols, y.cols);
    expect(std::int64_t(high.shape(0)), std::int64_t(high.shape(1)), 2 + x.cols, y.cols);
    expect(std::int64_t(low.shape(0)), std::int64_t(low.shape(1)), 2 + x.cols, y.cols);
    double *h = high.data(), *l = low.data();
    nb::gil_scoped_release release;
    chosen->exact_residual(x, xl, y, w, g, B_high.data(), B_low.data(), h, l);
}

}  // namespace

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled twins of linearly.kernels.reference.";
    m.def("instruction_set", [] { return std::string(chosen->name); }, "The instruction set in use.");
    m.def("instruction_sets", [] {
        nb::list names;
        for (const Loops* l : available()) names.append(std::string(l->name));
        return names;
    }, "The instruction sets this machine can run.");
    m.def("use_instruction_set", [](const std::string& name) {
        for (const Loops* l : available())
            if (name == l->name) { chosen = l; return; }
        throw std::invalid_argument("this machine cannot run " + name);
    }, nb::arg("name"), "Choose an instruction set (tests hold all of them to the reference).");
    m.def("gram", &gram, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("coef").none(), nb::arg("G"));
    m.def("exact_gram", &exact_gram, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y").none(), nb::arg("weight").none(),
          nb::arg("shift"), nb::arg("scale"), nb::arg("high"), nb::arg("low"));
    m.def("triangle", &triangle, nb::arg("X"), nb::arg("Y").none(), nb::arg("weight").none(), nb::arg("shift"), nb::arg("scale"),
          nb::arg("R"));
    m.def("exact_residual", &exact_residual, nb::arg("X"), nb::arg("X_low").none(), nb::arg("Y"), nb::arg("weight").none(),
          nb::arg("shift"), nb::arg("scale"), nb::arg("B_high"), nb::arg("B_low"), nb::arg("high"), nb::arg("low"));
}
