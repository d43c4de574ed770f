// Softmax regression: the loss over all rows and its gradient in W and b, each row of X read once.
#pragma once
#include <cstdint>

#include "interrupt.hpp"

struct Regression {
    std::int64_t n_rows, n_columns, width;
    const float *X;       // n_rows x n_columns
    const float *W;       // width x n_columns: a class's weights side by side
    const float *b;       // width
    const float *targets; // n_rows x width
    double *gradient_W;   // width x n_columns
    double *gradient_b;   // width
};

#define DECLARE_REGRESSION_LEVEL(level)                                                                          \
    namespace level {                                                                                            \
    double softmax_regression(const Regression &, int n_threads, const Interrupt &);                             \
    }

DECLARE_REGRESSION_LEVEL(plain)
DECLARE_REGRESSION_LEVEL(avx2)
DECLARE_REGRESSION_LEVEL(avx512)
