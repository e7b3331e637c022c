// Rows on their way from memory while the rows before them are worked on.
#pragma once
#include "kernel_table.hpp"

namespace linearly::ISA {
namespace {

// The rows to come, cache line by cache line, in runs that lie together: rows, columns, or all rows at once.
class Prefetch {
  public:
    std::int64_t lines = 0;

    Prefetch(const View& X, std::int64_t first, std::int64_t count) : X_(X), run_(first) {
        if (count <= 0) return;
        std::int64_t cells = 0, runs = 0;
        if (X.col_stride == 1) {
            const bool together = !X.index && X.row_stride == X.cols;
            cells = (together ? count : 1) * X.cols, runs = together ? 1 : count;
        } else if (X.row_stride == 1 && !X.index) {
            by_columns_ = true, first_ = first, run_ = 0;
            cells = count, runs = X.cols;
        }
        a_run_ = (cells * width() + 63) / 64 + (runs > 1 ? 1 : 0);
        lines = runs * a_run_;
        if (lines > 0) begin_run();
    }

    // Some more lines are on their way to L2, as far as there are any.
    void fetch(std::int64_t some) {
        for (; some > 0 && lines > 0; --some) __builtin_prefetch(next(), 0, 2);
    }

  private:
    const View& X_;
    std::int64_t run_, a_run_ = 0, left_ = 0, first_ = 0;
    bool by_columns_ = false;
    const char* here_ = nullptr;

    const char* next() {
        const char* line = here_;
        here_ += 64;
        if (--left_ == 0) {
            ++run_;
            if ((lines -= a_run_) > 0) begin_run();
        }
        return line;
    }

    std::int64_t width() const { return X_.is_float32 ? 4 : 8; }
    void begin_run() {
        const char* data = static_cast<const char*>(X_.data);
        if (!by_columns_)
            here_ = data + X_.at(run_) * X_.row_stride * width();
        else
            here_ =
                (X_.columns ? reinterpret_cast<const char*>(X_.columns[run_]) : data + run_ * X_.col_stride * width()) +
                first_ * width();
        left_ = a_run_;
    }
};

}  // namespace
}  // namespace linearly::ISA
