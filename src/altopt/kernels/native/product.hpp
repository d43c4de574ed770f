// The product of a sparse matrix in CSR form and a dense block, declared once for each instruction set.
#pragma once
#include <cstdint>

template <class T> struct Csr {
    std::int64_t n_rows;
    std::int64_t n_columns;
    const std::int32_t *indptr;
    const std::int32_t *indices;
    const T *values;
};

#define DECLARE_LEVEL(level)                                                                                     \
    namespace level {                                                                                            \
    void product(const Csr<float> &A, const float *X, float *out, std::int64_t width, int n_threads);            \
    void product(const Csr<double> &A, const double *X, double *out, std::int64_t width, int n_threads);         \
    }

DECLARE_LEVEL(plain)
DECLARE_LEVEL(avx2)
DECLARE_LEVEL(avx512)
