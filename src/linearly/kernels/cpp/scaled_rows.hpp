// A few scaled rows, side by side in L1, for kernels that read them twice.
#pragma once
#include "kernel_table.hpp"
#include "prefetch.hpp"
#include "vectors.hpp"

namespace linearly::ISA {
namespace {

constexpr int TOGETHER = 4;  // rows whose logits, or columns whose slopes, are formed at a time

// Some rows in the scaling, row after row, each padded with zeros to whole panels.
struct Gauged {
    std::int64_t p, stride;
    Buffer cells;

    Gauged(std::int64_t p_, std::int64_t depth)
        : p(p_), stride((p_ + PANEL - 1) / PANEL * PANEL), cells(make_buffer(std::size_t(depth * stride))) {}

    double* row(std::int64_t i) const { return cells.get() + i * stride; }

    // Rows that stay in L1 between their scores and their share of the gradient.
    static std::int64_t few(std::int64_t p) {
        return std::clamp<std::int64_t>(2048 / std::max<std::int64_t>(p, 1) / ROWS * ROWS, ROWS, 64);
    }

    static constexpr int ROWS = 8;  // rows that share a load of the coefficients, or a load and a store of the gradient
};

template <class T>
void scaling_view(Gauged& to, std::int64_t at, const View& X, std::int64_t first, std::int64_t count, ColumnScaling g) {
    const T* data = static_cast<const T*>(X.data) + first * X.row_stride;
    std::int64_t done = 0;
    if (X.col_stride == 1) {
        done = X.cols / LANES * LANES;
        auto rows = [&](std::int64_t i, auto N) {  // N of them share the loads of shifts and scales
            const T* from = data + i * X.row_stride;
            double* cells = to.row(at + i);
            for (std::int64_t j = 0; j < done; j += LANES) {
                const vec middle = load(g.shift + j), factor = load(g.scale + j);
                for (int r = 0; r < N(); ++r)
                    store(cells + r * to.stride + j, (load(from + r * X.row_stride + j) - middle) * factor);
            }
            for (std::int64_t j = done; j < X.cols; ++j)
                for (int r = 0; r < N(); ++r)
                    cells[r * to.stride + j] = (double(from[r * X.row_stride + j]) - g.shift[j]) * g.scale[j];
        };
        std::int64_t i = 0;
        for (; i + 2 <= count; i += 2) rows(i, std::integral_constant<int, 2>());
        if (i < count) rows(i, std::integral_constant<int, 1>());
        done = X.cols;
    } else if (X.row_stride == 1)
        for (; done + LANES <= X.cols; done += LANES) {
            const T* corner = data + done * X.col_stride;
            std::int64_t i = 0;
            for (; i + LANES <= count; i += LANES) {
                vec square[LANES];
                for (int j = 0; j < LANES; ++j)
                    square[j] = (load(corner + j * X.col_stride + i) - g.shift[done + j]) * g.scale[done + j];
                transpose(square);
                for (int l = 0; l < LANES; ++l) store(to.row(at + i + l) + done, square[l]);
            }
            for (; i < count; ++i)
                for (int j = 0; j < LANES; ++j)
                    to.row(at + i)[done + j] =
                        (double(corner[j * X.col_stride + i]) - g.shift[done + j]) * g.scale[done + j];
        }
    for (std::int64_t j = done; j < X.cols; ++j)
        for (std::int64_t i = 0; i < count; ++i)
            to.row(at + i)[j] = (double(data[i * X.row_stride + j * X.col_stride]) - g.shift[j]) * g.scale[j];
    for (std::int64_t i = count; i % Gauged::ROWS != 0; ++i) std::fill_n(to.row(at + i), to.stride, 0.0);
}

inline void scale_rows(Gauged& to, std::int64_t at, const View& X, std::int64_t first, std::int64_t count,
                       ColumnScaling g) {
    if (X.is_float32)
        scaling_view<float>(to, at, X, first, count, g);
    else
        scaling_view<double>(to, at, X, first, count, g);
}

}  // namespace
}  // namespace linearly::ISA
