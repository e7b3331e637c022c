// The hot loops of linearly, one table of functions for each instruction set.
//
// Every function here has a NumPy twin of the same name in reference.py, which says what it means;
// the tests hold the two together. Rows come as strided views, float64 or float32, and are never copied
// whole: a loop packs a few hundred of them at a time into the cache.
#pragma once
#include <cstdint>

namespace linearly {

// A strided n × p view; strides count elements. p may be 0 (an absent matrix). For `gram` columns may also lie apart, each
// of them together: row_stride is 1 then.
struct View {
    const void* data;
    std::int64_t rows, cols, row_stride, col_stride;
    bool is_float32;
    const std::int64_t* index = nullptr;  // which rows, in which order; all of them if null
    const double* const* columns = nullptr;  // where each column begins, if they lie apart

    std::int64_t at(std::int64_t i) const { return index ? index[i] : i; }
};

// Where a column is measured from and in which unit: z = (x − shift) · scale, scale a power of two.
struct Gauge {
    const double* shift;
    const double* scale;
};

struct LogisticSums {
    double loss = 0, largest = 0;  // largest |logit|
    std::int64_t mistakes = 0;     // rows with a logit of 0 or on the wrong side
};

struct Loops {
    const char* name;

    // G += Z'WZ for Z = [1 | X | Y] in the gauge, W = diag(weight). With `coef` (X first, intercept last,
    // in the gauge) a row counts weight · (its residual)² instead: the meat of a robust covariance.
    void (*gram)(const View& X, const View& Y, const double* weight, Gauge gauge, const double* coef, double* G);

    // The same in double-double: high + low = Z'WZ to about 30 digits. X_low carries digits below float64.
    void (*exact_gram)(const View& X, const View& X_low, const View& Y, const double* weight, Gauge gauge, double* high,
                       double* low);

    // One read of rows for two classes, y being 0 or 1: H += Z'VZ for Z = [1 | X] in the gauge and V = weight · p(1 − p)
    // (left out if H is null), gradient += Z'(p − y) · weight. beta is the intercept, then the coefficients.
    void (*logistic)(const View& X, const double* y, const double* weight, Gauge gauge, const double* beta, double* H,
                     double* gradient, LogisticSums& sums);

    // out (rows × 2) = the probabilities of both classes; NaN where a logit is not finite.
    void (*probabilities)(const View& X, const double* beta, double* out);

    // Loss and gradient for c logits against a reference class: codes[i] is the logit of the row's class,
    // −1 for the reference. B and gradient are (1 + p) × c, the intercepts first.
    void (*softmax)(const View& X, const std::int32_t* codes, const double* weight, Gauge gauge, const double* B, std::int64_t c,
                    double* gradient, LogisticSums& sums);

    // out (rows × K) = the shares of exp(score) for K scores [1 | X]B, B being (1 + p) × K; NaN where one is not finite.
    void (*shares)(const View& X, const double* B, std::int64_t K, double* out);

    // out (rows × K) = ‖zR_k − moved_k‖² for rows z in the gauge; `roots` holds R_1 … R_K (p × width each) side by side,
    // `moved` their vectors one after another. Zeros at the top of a column of R_k are skipped.
    void (*distances)(const View& X, Gauge gauge, const double* roots, const double* moved, std::int64_t K, std::int64_t width,
                      double* out);

    // R becomes the R factor of QR of R stacked on W^½[1 | X | Y] in the gauge.
    void (*triangle)(const View& X, const View& Y, const double* weight, Gauge gauge, double* R);

    // For B = [intercept; coef] in double-double: Σ w r², and Z'W r with r = y − [1 | X]B, in the gauge, all in
    // double-double. Returned as (1 + p + 1) × k: rows 0..p the gradient, the last row the sums of squares.
    void (*exact_residual)(const View& X, const View& X_low, const View& Y, const double* weight, Gauge gauge,
                           const double* B_high, const double* B_low, double* high, double* low);
};

const Loops* loops_baseline();
const Loops* loops_avx2();
const Loops* loops_avx512();

}  // namespace linearly
