// The table of loops of one instruction set; the loops are compiled once for each (see CMakeLists.txt).
#include "loops.hpp"

#include "exact.hpp"

#define LINEARLY_JOIN_(a, b) a##b
#define LINEARLY_JOIN(a, b) LINEARLY_JOIN_(a, b)
#define LINEARLY_TEXT_(a) #a
#define LINEARLY_TEXT(a) LINEARLY_TEXT_(a)

namespace linearly {
namespace ISA {

void gram(const View& X, const View& Y, const double* weight, Gauge gauge, const double* coef, double* G);
void logistic(const View& X, const double* y, const double* weight, Gauge gauge, const double* beta, double* H, double* gradient,
              LogisticSums& sums);
void probabilities(const View& X, const double* beta, double* out);
void softmax(const View& X, const std::int32_t* codes, const double* weight, Gauge gauge, const double* B, std::int64_t c,
             double* gradient, LogisticSums& sums);
void shares(const View& X, const double* B, std::int64_t K, double* out);
void distances(const View& X, Gauge gauge, const double* roots, const double* moved, std::int64_t K, std::int64_t width, double* out);
void triangle(const View& X, const View& Y, const double* weight, Gauge gauge, double* R);

static const Loops table = {LINEARLY_TEXT(ISA), gram, exact::ISA::exact_gram, logistic, probabilities, softmax, shares, distances, triangle,
                            exact::ISA::exact_residual};

}  // namespace ISA

const Loops* LINEARLY_JOIN(loops_, ISA)() { return &ISA::table; }

}  // namespace linearly
