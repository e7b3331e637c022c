// The packed Gram: Z'WZ, with weights of rows or with squared residuals for weights.
#include <cmath>

#include "packing.hpp"

namespace linearly::ISA {
namespace {

template <class T>
void residuals_of(const View& X, std::int64_t first, std::int64_t count, ColumnScaling g, const double* coef,
                  double* r) {
    const std::int64_t p = X.cols;
    if (X.col_stride == 1) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* row = static_cast<const T*>(X.data) + (first + i) * X.row_stride;
            double sum[8] = {};
            std::int64_t j = 0;
            for (; j + 8 <= p; j += 8)
                for (int l = 0; l < 8; ++l)
                    sum[l] += (double(row[j + l]) - g.shift[j + l]) * g.scale[j + l] * coef[j + l];
            for (; j < p; ++j) sum[0] += (double(row[j]) - g.shift[j]) * g.scale[j] * coef[j];
            r[i] -= ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        }
        return;
    }
    for (std::int64_t j = 0; j < p; ++j) {
        const T* column = column_of<T>(X, j) + first * X.row_stride;
        const double b = g.scale[j] * coef[j];
        for (std::int64_t i = 0; i < count; ++i) r[i] -= (double(column[i * X.row_stride]) - g.shift[j]) * b;
    }
}

// Row weights as square roots, because both sides of the product carry them.
bool weigh(const View& X, const View& Y, const double* weight, ColumnScaling g, const double* coef, std::int64_t first,
           std::int64_t count, double* root) {
    if (coef) {
        const double* y = static_cast<const double*>(Y.data) + first * Y.row_stride;
        const std::int64_t p = X.cols;
        for (std::int64_t i = 0; i < count; ++i) root[i] = (y[i * Y.row_stride] - g.shift[p]) * g.scale[p] - coef[p];
        if (X.is_float32)
            residuals_of<float>(X, first, count, g, coef, root);
        else
            residuals_of<double>(X, first, count, g, coef, root);
        if (weight)
            for (std::int64_t i = 0; i < count; ++i) root[i] *= std::sqrt(weight[first + i]);
        return true;
    }
    if (weight)
        for (std::int64_t i = 0; i < count; ++i) root[i] = std::sqrt(weight[X.at(first + i)]);
    return weight != nullptr;
}

}  // namespace

void gram(const View& X, const View& Y, const double* weight, ColumnScaling g, const double* coef, double* G) {
    Packing z(X.cols, Y.cols);
    Product product(z.panels);
    std::vector<double> root(static_cast<std::size_t>(z.depth));
    for (std::int64_t first = 0; first < X.rows; first += z.depth) {
        const std::int64_t count = std::min(z.depth, X.rows - first);
        const bool weighted = weigh(X, Y, weight, g, coef, first, count, root.data());
        pack(z, X, Y, first, count, g, weighted ? root.data() : nullptr);
        const std::int64_t after = first + count, ahead = std::min(z.depth, X.rows - after);
        Prefetch targets(Y, after, ahead);
        targets.fetch(targets.lines);
        product.add(z, count, Prefetch(X, after, ahead));
    }
    product.unpack(z, G);
}

}  // namespace linearly::ISA
