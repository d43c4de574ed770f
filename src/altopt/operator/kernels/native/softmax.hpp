// e^x in plain arithmetic, and a row's cross entropy with its gradient.
// Compiled once for each instruction set: what is not static here could be linked from a set the machine lacks.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

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
