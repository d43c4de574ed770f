// Dropout, with or without ReLU before it, in one pass; declared once for each instruction set.
#pragma once
#include <cstdint>

#include "interrupt.hpp"

// Element i is kept where random(key, i) >= threshold, and what is kept is multiplied by scale.
struct Dropout {
    std::uint64_t key;
    std::uint32_t threshold;
    float scale;
    bool relu;
};

#define DECLARE_DROPOUT(level)                                                                                   \
    namespace level {                                                                                            \
    void dropout(const float *x, float *out, std::int64_t n, const Dropout &how, int n_threads,                  \
                 const Interrupt &);                                                                             \
    void dropout_backward(const float *out, const float *gradient, float *into, std::int64_t n, float scale,     \
                          int n_threads, const Interrupt &);                                                     \
    }

DECLARE_DROPOUT(plain)
DECLARE_DROPOUT(avx2)
DECLARE_DROPOUT(avx512)
