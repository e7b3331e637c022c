// Double-double kernels, declared for each instruction set. They have their own file because they are
// compiled with -ffp-contract=off: fusing a product into a later sum would destroy the error terms.
#pragma once
#include "kernel_table.hpp"

#ifndef ISA
#define ISA baseline
#endif

namespace linearly::extended::ISA {

void gram_extended(const View& X, const View& X_low, const View& Y, const double* weight, ColumnScaling scaling,
                   double* high, double* low);
void residual_extended(const View& X, const View& X_low, const View& Y, const double* weight, ColumnScaling scaling,
                       const double* B_high, const double* B_low, double* high, double* low);

}  // namespace linearly::extended::ISA
