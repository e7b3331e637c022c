// What least squares computes around its Gram and its Cholesky factor, for a centred design in float64. Each function
// gives the bits of the NumPy code in `algorithm/least_squares`, and false for a case that it leaves to that code.
#pragma once
#include <cstdint>

#include "kernel_table.hpp"

namespace linearly {

// The power of 2ˢᵗᵉᵖ just above each of n sizes; 1 for a size of 0 or one that is not finite.
void powers_of_two(const double* size, std::int64_t n, int step, double* power);

// The shift and scale of each column of [X | Y], as `ColumnScaling.of`; scales are powers of 2ᶜᵒᵃʳˢᵉ.
bool sample_scaling(const View& X, const View& Y, int coarse, double* shift, double* scale);

// Means, centred cross-products (m × m) and rounding bounds (1 + m) of the moments G of [1 | X | Y], as `Gram.of`.
bool centre_moments(const double* G, std::int64_t n, std::int64_t m, double* mean, double* cross, double* rounding);

// A Gram of p features and k targets: arrays of m = p + k numbers, cross is m × m, rounding has 1 + m.
struct CentredGram {
    std::int64_t n, p, k;
    double weight, log_weight;
    const double *shift, *scale, *mean, *cross, *rounding;
};

// Columns of [X | Y] in units of their lengths: each of the first six has m = p + k numbers, of which `squares` uses
// the last k.
struct ScaledColumns {
    double *noise, *size, *mean, *mean_low, *center, *squares;
    double *A, *C;  // p × p and p × k
};

// Normal equations of columns of about unit length, as the first half of `ScaledProblem.solve_normal`.
bool scale_normal_equations(const CentredGram& gram, ScaledColumns to);

// Matrices of the solution: R is upper triangular, T its inverse, U = [−center'T; T] and P = U diag(noise) T'.
struct Factors {
    View R, T, c, b, U, P;
    const double* center_b;  // k, center'b
};

// Coefficients (p × k, column after column); rows of k numbers for the intercept in double-double, residual and total
// sums of squares, targets at the mean; the mean of the features in double-double; and correct digits.
struct SmallSolution {
    double *coef, *intercept, *intercept_low, *rss, *tss, *at_mean, *mean, *mean_low;
    double digits, relevant, strict, of_errors;
    bool far;  // whether predictions are small differences of large numbers
};

// A symmetric matrix (p × p, strided) with columns divided by powers of two, their `size`, to about unit length.
bool scale_to_unit(const View& A, double* size, double* scaled);

// Whether the columns of an upper triangular R with inverse T are clearly independent, as in `pivot_triangle`.
bool is_independent(const View& R, const View& T);

// The coefficients and what is known about them, as the second half of `ScaledProblem.solve_normal`.
bool finish_solution(const CentredGram& gram, ScaledColumns columns, const Factors& factors, SmallSolution& to);

}  // namespace linearly
