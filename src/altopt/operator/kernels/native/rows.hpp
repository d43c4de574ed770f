// One pass over the rows of a block: to and from the layout, softmax with certainty, the fused pieces of conjugate gradients.
#pragma once
#include <cstdint>

#include "interrupt.hpp"
#include "numbers.hpp"

// to the layout: out_k = scale_k * in_{order_k}, padded with zeros to `padded` columns; order may be null.
// `in` has rows of `stride` numbers, of which `width` are taken
template <class T, class U> struct ToLayout {
    std::int64_t n_rows, width, padded, stride;
    const U *in;
    T *out;
    const std::int32_t *order;
    const computed<T> *scale;
};

// and back: out_{order_k} = scale_k * in_k, without the padding
template <class T, class U> struct FromLayout {
    std::int64_t n_rows, width, padded, stride;
    const T *in;
    U *out;
    const std::int32_t *order;
    const computed<T> *scale;
};

// S = softmax(F / temperature) row by row, F first divided by its row sum where `shares`; its certainty
// w = 1 - H(S) / log c and the column of its largest entry; S may be null
template <class T> struct SoftmaxRows {
    std::int64_t n_rows, width;
    const T *F;
    T *S;
    double *w;
    std::int32_t *label;
    double temperature;
    bool shares;
};

// sum_i sum_k T_ik (log sum_l e^{x_il} - x_ik), the cross entropy of soft targets T that need not sum to one; x is
// overwritten with its gradient, sum(T_i) softmax(x_i) - T_i
template <class T> struct CrossEntropy {
    std::int64_t n_rows, width;
    T *x;
    const T *targets;
    double *value;
};

// F += alpha D, R -= alpha HD, column by column; then the sum of s R^2 of each column; the sum of d R^2 over all is returned
template <class T> struct Advance {
    std::int64_t n_rows, width;
    T *F, *R;
    const T *D, *HD;
    const T *alpha;
    const T *s, *d;
    double *rz; // one for each column
};

// D = s R + beta D
template <class T> struct SearchDirection {
    std::int64_t n_rows, width;
    T *D;
    const T *R;
    const T *s;
    const T *beta;
};

// the inner product of each pair of columns, row i counting d_i
template <class T> struct Dots {
    std::int64_t n_rows, width;
    const T *A, *B;
    const computed<T> *d;
    double *out;
};

#define FOR_LAID_OUT(declare)  \
    declare(half, float) declare(half, double) declare(float, float) declare(float, double) declare(double, float)  \
        declare(double, double)

#define DECLARE_MOVES(T, U)  \
    void to_layout(const ToLayout<T, U> &, int n_threads, const Interrupt &);  \
    void from_layout(const FromLayout<T, U> &, int n_threads, const Interrupt &);
#define DECLARE_ROWS(T)  \
    void softmax_rows(const SoftmaxRows<T> &, int n_threads, const Interrupt &);  \
    void cross_entropy(const CrossEntropy<T> &, int n_threads, const Interrupt &);  \
    double advance(const Advance<T> &, int n_threads, const Interrupt &);  \
    void search_direction(const SearchDirection<T> &, int n_threads, const Interrupt &);
#define DECLARE_DOTS(T) void dots(const Dots<T> &, int n_threads, const Interrupt &);
#define DECLARE_ROWS_LEVEL(level)  \
    namespace level {  \
    FOR_LAID_OUT(DECLARE_MOVES)  \
    DECLARE_ROWS(float)  \
    DECLARE_ROWS(double)  \
    FOR_STORED(DECLARE_DOTS)  \
    }

DECLARE_ROWS_LEVEL(plain)
DECLARE_ROWS_LEVEL(avx2)
DECLARE_ROWS_LEVEL(avx512)
