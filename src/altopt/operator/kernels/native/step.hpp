// The propagation step on a sparse matrix in CSR form, declared once for each instruction set.
#pragma once
#include <cstdint>

#include "interrupt.hpp"
#include "numbers.hpp"

template <class T> struct Csr {
    std::int64_t n_rows;
    std::int64_t n_columns;
    std::int64_t n_entries;
    const std::int64_t *indptr;
    const std::int32_t *indices;
    const computed<T> *weights; // null: every entry is one
};

// inner_i = scale_i * sum_j a_ij X_j + diagonal_i * X_i + rest_i
// out_i   = gain * inner_i + keep * X_i + beta * out_i
// diagonal and rest may be null: then they are zero. Row i of the matrix belongs to row first + i of X, so that a
// block of a matrix's rows can make its part of a step
template <class T> struct Step {
    const T *X;
    std::int64_t first;
    T *out;
    std::int64_t width;
    const computed<T> *scale;
    const computed<T> *diagonal;
    const T *rest;
    computed<T> gain, keep, beta;
    const computed<T> *norm; // the sum over i of norm_i ||inner_i||^2 is returned; null: 0
};

#define DECLARE_STEP(T) double step(const Csr<T> &A, const Step<T> &s, int n_threads, const Interrupt &);
#define DECLARE_LEVEL(level)                                                                                     \
    namespace level {                                                                                            \
    FOR_STORED(DECLARE_STEP)                                                                                     \
    }

DECLARE_LEVEL(plain)
DECLARE_LEVEL(avx2)
DECLARE_LEVEL(avx512)
