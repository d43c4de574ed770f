// The propagation step on a sparse matrix in CSR form, declared once for each instruction set.
#pragma once
#include <cstdint>

template <class T> struct Csr {
    std::int64_t n_rows;
    std::int64_t n_columns;
    const std::int32_t *indptr;
    const std::int32_t *indices;
    const T *values;
};

// out_i = scale_i * sum_j a_ij X_j + diagonal_i * X_i + rest_i; diagonal and rest may be null: then they are zero
template <class T> struct Step {
    const T *X;
    T *out;
    std::int64_t width;
    const T *scale;
    const T *diagonal;
    const T *rest;
};

#define DECLARE_LEVEL(level)                                                                                     \
    namespace level {                                                                                            \
    void step(const Csr<float> &A, const Step<float> &s, int n_threads);                                         \
    void step(const Csr<double> &A, const Step<double> &s, int n_threads);                                       \
    }

DECLARE_LEVEL(plain)
DECLARE_LEVEL(avx2)
DECLARE_LEVEL(avx512)
