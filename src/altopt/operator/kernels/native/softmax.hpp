// e^x in plain arithmetic, and a row's cross entropy with its gradient.
// Compiled once for each instruction set: what is not static here could be linked from a set the machine lacks.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "numbers.hpp"

template <class T> static constexpr T LOWEST = sizeof(T) == 4 ? T(-87) : T(-700); // below it e^x is as good as nothing

// e^x for LOWEST <= x <= 0 in plain arithmetic, which compilers vectorise: 2^n p(r), x = n log 2 + r, |r| <= log(2) / 2
static inline float exp_below(float x) {
    const float within = x > LOWEST<float> ? x : LOWEST<float>; // NaN has no whole part
    const float n = float(int(within * 1.44269504f - 0.5f));
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const std::int32_t bits = (std::int32_t(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, 4);
    return p * power;
}
static inline double exp_below(double x) { return std::exp(x); }

// sum_k t_k (log sum_l e^x_l - x_k); x becomes its gradient, sum(t) softmax(x) - t
template <class T> static inline double cross_entropy_row(T *__restrict x, const T *__restrict t, std::int64_t width) {
    T top = x[0];
    for (std::int64_t k = 1; k < width; ++k)
        top = std::max(top, x[k]);
    T sum = 0, mass = 0, hit = 0;
#pragma omp simd reduction(+ : mass, hit)
    for (std::int64_t k = 0; k < width; ++k) {
        x[k] -= top;
        mass += t[k];
        hit += t[k] * x[k];
    }
    for (std::int64_t k = 0; k < width; ++k)
        x[k] = exp_below(std::max(x[k], LOWEST<T>));
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < width; ++k)
        sum += x[k];
    const T scale = mass / sum;
    for (std::int64_t k = 0; k < width; ++k)
        x[k] = x[k] * scale - t[k];
    return double(mass) * std::log(double(sum)) - double(hit);
}

// the same on eight numbers at once
static inline Eight<float> exp_below(const Eight<float> &x) {
    typedef std::int32_t Whole __attribute__((vector_size(32)));
    const Eight<float> within = x > LOWEST<float> ? x : Eight<float>{} + LOWEST<float>;
    const Whole whole = __builtin_convertvector(within * 1.44269504f - 0.5f, Whole);
    const Eight<float> n = __builtin_convertvector(whole, Eight<float>);
    const Eight<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Eight<float> p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const Whole bits = (whole + 127) << 23;
    Eight<float> power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

#if defined(__AVX2__) // registers of eight, parts of which can be loaded
static inline float total(const Eight<float> &x) {
    return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

// true for the first n of eight numbers
static inline __m256i first_of_eight(std::int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// up to eight numbers, the rest of the register filled
static inline Eight<float> load_part(const float *from, std::int64_t n, float fill) {
    if (n >= 8)
        return load8(from);
    const __m256i there = first_of_eight(n);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(from, there), _mm256_castsi256_ps(there));
}
static inline void store_part(const Eight<float> &x, float *to, std::int64_t n) {
    if (n >= 8)
        store8<float>(x, to);
    else
        _mm256_maskstore_ps(to, first_of_eight(n), x);
}

static inline float largest(const Eight<float> &x) {
    float top = x[0];
    for (int k = 1; k < 8; ++k)
        top = std::max(top, x[k]);
    return top;
}

namespace {

// a part of a row: its e^x, summed up with the targets
struct CrossEntropySums {
    Eight<float> sums = {}, masses = {}, hits = {};

    Eight<float> add(const Eight<float> &x, const Eight<float> &target) {
        masses += target;
        hits += target * x;
        const Eight<float> e = exp_below(x < LOWEST<float> ? Eight<float>{} + LOWEST<float> : x);
        sums += e;
        return e;
    }
    float scale() const { return total(masses) / total(sums); }
    double value() const { return double(total(masses)) * double(std::log(total(sums))) - double(total(hits)); }
};

} // namespace

static inline double cross_entropy_row(float *__restrict x, const float *__restrict t, std::int64_t width) {
    constexpr float NOTHING = 2 * LOWEST<float>; // below the largest of a row: what is filled in weighs nothing
    CrossEntropySums row;
    if (width <= 8) { // all in registers
        const Eight<float> target = load_part(t, width, 0.0f);
        const float top = largest(load_part(x, width, x[0]));
        const Eight<float> e = row.add(load_part(x, width, top + NOTHING) - top, target);
        store_part(e * row.scale() - target, x, width);
        return row.value();
    }
    Eight<float> tops = load8(x);
    for (std::int64_t k = 8; k < width; k += 8) {
        const Eight<float> here = load_part(x + k, width - k, x[0]);
        tops = tops < here ? here : tops;
    }
    const float top = largest(tops);
    for (std::int64_t k = 0; k < width; k += 8) {
        const std::int64_t left = width - k;
        store_part(row.add(load_part(x + k, left, top + NOTHING) - top, load_part(t + k, left, 0.0f)), x + k, left);
    }
    const float scale = row.scale();
    for (std::int64_t k = 0; k < width; k += 8) {
        const std::int64_t left = width - k;
        store_part(load_part(x + k, left, 0.0f) * scale - load_part(t + k, left, 0.0f), x + k, left);
    }
    return row.value();
}
#endif
