// The hot loops of linearly, one table of functions for each instruction set.
//
// Every function has a NumPy twin of the same name in reference.py, which defines its meaning;
// the tests compare the two. Rows come as strided views, float64 or float32, and are never copied
// whole: a loop packs a few hundred of them at a time into the cache.
#pragma once
#include <cstdint>

namespace linearly {

// A strided n × p view; strides count elements. p may be 0 (an absent matrix). For `gram` columns may also lie apart,
// each of them together: row_stride is 1 then.
struct View {
    const void* data;
    std::int64_t rows, cols, row_stride, col_stride;
    bool is_float32;
    const std::int64_t* index = nullptr;     // which rows, in which order; all of them if null
    const double* const* columns = nullptr;  // where each column begins, if they lie apart

    std::int64_t at(std::int64_t i) const { return index ? index[i] : i; }
};

// Where a column is measured from and in which unit: z = (x − shift) · scale, scale a power of two.
struct ColumnScaling {
    const double* shift;
    const double* scale;
};

struct LogisticSums {
    double loss = 0, largest = 0;  // largest |logit|
    std::int64_t mistakes = 0;     // rows with a logit of 0 or on the wrong side
};

struct KernelTable {
    const char* name;

    // G += Z'WZ for Z = [1 | X | Y] in the scaling, W = diag(weight). With `coef` (X first, intercept last,
    // in the scaling) a row counts weight · (its residual)² instead: the meat of a robust covariance.
    void (*gram)(const View& X, const View& Y, const double* weight, ColumnScaling scaling, const double* coef,
                 double* G);

    // The same in double-double: high + low = Z'WZ to about 30 digits. X_low carries digits below float64.
    void (*gram_extended)(const View& X, const View& X_low, const View& Y, const double* weight, ColumnScaling scaling,
                          double* high, double* low);

    // One read of rows for two classes, y being 0 or 1: H += Z'VZ for Z = [1 | X] in the scaling and V = weight · p(1 −
    // p) (left out if H is null), gradient += Z'(p − y) · weight. beta is the intercept, then the coefficients.
    void (*logistic)(const View& X, const double* y, const double* weight, ColumnScaling scaling, const double* beta,
                     double* H, double* gradient, LogisticSums& sums);

    // out (rows × 2) = the probabilities of both classes; NaN where a logit is not finite.
    void (*probabilities)(const View& X, const double* beta, double* out);

    // Loss, gradient and Hessian for c logits against a reference class: codes[i] is the logit of the row's class,
    // −1 for the reference. B and gradient are (1 + p) × c, the intercepts first. H is (c(1 + p))², logit by logit, and
    // left out if null.
    void (*softmax)(const View& X, const std::int32_t* codes, const double* weight, ColumnScaling scaling,
                    const double* B, std::int64_t c, double* H, double* gradient, LogisticSums& sums);

    // out (rows × K) = the softmax of K scores [1 | X]B, B being (1 + p) × K; NaN where
    // one is not finite.
    void (*softmax_probabilities)(const View& X, const double* B, std::int64_t K, double* out);

    // out (rows × K) = ‖zR_k − moved_k‖² for rows z in the scaling; `roots` holds R_1 … R_K (p × width each) side by
    // side, `moved` their vectors one after another. Zeros at the top of a column of R_k are skipped.
    void (*mahalanobis)(const View& X, ColumnScaling scaling, const double* roots, const double* moved, std::int64_t K,
                        std::int64_t width, double* out);

    // R becomes the R factor of QR of R stacked on W^½[1 | X | Y] in the scaling.
    void (*qr_update)(const View& X, const View& Y, const double* weight, ColumnScaling scaling, double* R);

    // For B = [intercept; coef] in double-double: Σ w r², and Z'W r with r = y − [1 | X]B, in the scaling, all in
    // double-double. Returned as (1 + p + 1) × k: rows 0..p the gradient, the last row the sums of squares.
    void (*residual_extended)(const View& X, const View& X_low, const View& Y, const double* weight,
                              ColumnScaling scaling, const double* B_high, const double* B_low, double* high,
                              double* low);

    // Sweeps of coordinate descent over m features, until none changes by more than the tolerance. Feature j is
    // column places[j] of n numbers, with the sum of squares squares[j] > 0. Changes w and the residual.
    std::int64_t (*coordinate_descent)(const double* columns, std::int64_t n, const std::int64_t* places,
                                       std::int64_t m, const double* squares, const double* lam, const double* mu,
                                       double tolerance, std::int64_t most, double* w, double* residual);
};

const KernelTable* kernel_table_baseline();
const KernelTable* kernel_table_avx2();
const KernelTable* kernel_table_avx512();

}  // namespace linearly
