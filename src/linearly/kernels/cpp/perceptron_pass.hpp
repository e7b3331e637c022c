// The perceptron pass: rows in sequence, each judged by the weights that the rows before it left.
//
// Its NumPy twin, reference.perceptron_pass, makes the same mistakes at the same rows, bit for bit, and so does every
// instruction set. That needs one order of summation: entry j of a row (of a sparse row: its j-th stored entry)
// goes to partial sum j mod 16, the sixteen are added in halves (l to l + 8, then 4, 2, 1), the intercept comes
// last, and no product is fused into a sum. Hence a file of its own, compiled with -ffp-contract=off.
#pragma once
#include "kernel_table.hpp"

namespace linearly {

// Compressed sparse rows; offsets[r] … offsets[r + 1] are the entries of row r.
struct Sparse {
    const void *offsets, *indices, *values;
    std::int64_t rows, cols;
    bool wide_indices, is_float32;
};

// Two classes: one vector of weights, labels 0 and 1 stand for −1 and +1. K classes: K vectors, one after the
// other for dense rows, interleaved (all classes of a feature together) for sparse ones.
struct Weights {
    double *w, *b;  // b is null without an intercept
    double *u, *c;  // Σ (rows seen before the mistake) · (what it added) to w and b; null unless averaging
    std::int64_t cols, classes;
};

struct PassArgs {
    const std::int32_t* labels;  // of row r of X
    const std::int64_t* order;   // which row comes i-th; null: the i-th
    std::int64_t steps;          // how many rows to walk
    double seen;                 // rows seen before
    std::int64_t most;           // stop after so many mistakes
    bool measure;                // find the largest |x|, and check the indices of sparse rows
    std::int64_t* mistakes;      // which steps were mistakes; null: only count the rows classified wrongly
    std::int32_t* rivals;        // K classes: the class that each was mistaken for
};

struct PassResult {
    std::int64_t walked = 0, found = 0;
    double largest = 0;
    enum Problem { none, not_finite, bad_index } problem = none;  // at step `walked`
};

struct PassTable {
    PassResult (*dense)(const View& X, const Weights& weights, const PassArgs& walk);
    PassResult (*sparse)(const Sparse& X, const Weights& weights, const PassArgs& walk);
};

const PassTable* pass_table_baseline();
const PassTable* pass_table_avx2();
const PassTable* pass_table_avx512();

}  // namespace linearly
