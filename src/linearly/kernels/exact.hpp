// Double-double loops, declared for each instruction set. They live in a file of their own because they are
// compiled with -ffp-contract=off: fusing a product into a later sum would destroy the error terms.
#pragma once
#include "loops.hpp"

#ifndef ISA
#define ISA baseline
#endif

namespace linearly::exact::ISA {

void exact_gram(const View& X, const View& X_low, const View& Y, const double* weight, Gauge gauge, double* high, double* low);
void exact_residual(const View& X, const View& X_low, const View& Y, const double* weight, Gauge gauge, const double* B_high,
                    const double* B_low, double* high, double* low);

}  // namespace linearly::exact::ISA
