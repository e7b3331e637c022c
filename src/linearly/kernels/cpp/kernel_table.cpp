// The table of kernels of one instruction set. The kernels are compiled once for each set (see CMakeLists.txt).
#include "kernel_table.hpp"

#include "extended.hpp"

#define LINEARLY_JOIN_(a, b) a##b
#define LINEARLY_JOIN(a, b) LINEARLY_JOIN_(a, b)
#define LINEARLY_TEXT_(a) #a
#define LINEARLY_TEXT(a) LINEARLY_TEXT_(a)

namespace linearly {
namespace ISA {

void gram(const View& X, const View& Y, const double* weight, ColumnScaling scaling, const double* coef, double* G);
void logistic(const View& X, const double* y, const double* weight, ColumnScaling scaling, const double* beta,
              double* H, double* gradient, LogisticSums& sums);
void probabilities(const View& X, const double* beta, double* out);
void softmax(const View& X, const std::int32_t* codes, const double* weight, ColumnScaling scaling, const double* B,
             std::int64_t c, double* H, double* gradient, LogisticSums& sums);
void softmax_probabilities(const View& X, const double* B, std::int64_t K, double* out);
void mahalanobis(const View& X, ColumnScaling scaling, const double* roots, const double* moved, std::int64_t K,
                 std::int64_t width, double* out);
void qr_update(const View& X, const View& Y, const double* weight, ColumnScaling scaling, double* R);
std::int64_t coordinate_descent(const double* columns, std::int64_t n, const std::int64_t* places, std::int64_t m,
                                const double* squares, const double* lam, const double* mu, double tolerance,
                                std::int64_t most, double* w, double* residual);

static const KernelTable table = {LINEARLY_TEXT(ISA),
                                  gram,
                                  extended::ISA::gram_extended,
                                  logistic,
                                  probabilities,
                                  softmax,
                                  softmax_probabilities,
                                  mahalanobis,
                                  qr_update,
                                  extended::ISA::residual_extended,
                                  coordinate_descent};

}  // namespace ISA

const KernelTable* LINEARLY_JOIN(kernel_table_, ISA)() { return &ISA::table; }

}  // namespace linearly
