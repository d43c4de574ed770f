// How numbers are stored and computed with: float16 is stored in 16 bits and computed in float.
// Compiled once for each instruction set: what is not static here could be linked from a set the machine lacks.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct half {
    std::uint16_t bits;
};

#define FOR_STORED(declare) declare(half) declare(float) declare(double)

template <class T> struct arithmetic {
    using type = T;
};
template <> struct arithmetic<half> {
    using type = float;
};
template <class T> using computed = typename arithmetic<T>::type;

static inline float widen(float x) { return x; }
static inline double widen(double x) { return x; }

static inline float widen(half h) {
#if defined(__F16C__)
    return _cvtsh_ss(h.bits);
#else
    const std::uint32_t sign = std::uint32_t(h.bits & 0x8000u) << 16, rest = h.bits & 0x7fffu;
    std::uint32_t bits;
    float value;
    if (rest >= 0x7c00u) { // infinite or NaN
        bits = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
    } else if (rest >= 0x400u) {
        bits = sign | ((rest << 13) + 0x38000000u);
    } else { // zero or subnormal: rest * 2^-24
        value = float(rest) * 5.9604644775390625e-8f;
        std::memcpy(&bits, &value, 4);
        bits |= sign;
    }
    std::memcpy(&value, &bits, 4);
    return value;
#endif
}

static inline void narrow(float x, float &stored) { stored = x; }
static inline void narrow(double x, double &stored) { stored = x; }

static inline void narrow(float x, half &stored) { // to the nearest, ties to even; past 65504 infinite
#if defined(__F16C__)
    stored.bits = _cvtss_sh(x, 0);
#else
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        stored.bits = std::uint16_t(sign | 0x7e00u);
    } else if (bits >= 0x477ff000u) {
        stored.bits = std::uint16_t(sign | 0x7c00u);
    } else if (bits >= 0x38800000u) {
        stored.bits = std::uint16_t(sign | (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13);
    } else { // subnormal: adding 0.5 puts the rounded count of 2^-24 into the low bits
        float shifted;
        std::memcpy(&shifted, &bits, 4);
        shifted += 0.5f;
        std::memcpy(&bits, &shifted, 4);
        stored.bits = std::uint16_t(sign | (bits - 0x3f000000u));
    }
#endif
}

// eight numbers in registers, whatever these are called on the machine: GCC and Clang know how to add and multiply them
template <class C> struct eight {
    typedef C type __attribute__((vector_size(8 * sizeof(C))));
};
template <class T> using Eight = typename eight<computed<T>>::type;

template <class T> static inline Eight<T> load8(const T *stored) {
    Eight<T> x;
    if constexpr (sizeof(T) == sizeof(computed<T>)) {
        std::memcpy(&x, stored, sizeof(x));
    } else {
#if defined(__F16C__)
        x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(stored)));
#else
        for (int k = 0; k < 8; ++k)
            x[k] = widen(stored[k]);
#endif
    }
    return x;
}

template <class T> static inline void store8(const Eight<T> &x, T *stored) {
    if constexpr (sizeof(T) == sizeof(computed<T>)) {
        std::memcpy(stored, &x, sizeof(x));
    } else {
#if defined(__F16C__)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(stored), _mm256_cvtps_ph(x, 0));
#else
        for (int k = 0; k < 8; ++k)
            narrow(x[k], stored[k]);
#endif
    }
}

// past the caches, where the machine can: a result that is not read soon must not push out what is; `stored` lies at a
// multiple of 16 bytes
template <class T> static inline void stream8(const Eight<T> &x, T *stored) {
#if defined(__AVX__)
    if constexpr (sizeof(T) == 4) {
        if (reinterpret_cast<std::uintptr_t>(stored) % 32 == 0) {
            _mm256_stream_ps(reinterpret_cast<float *>(stored), x);
            return;
        }
    }
#endif
#if defined(__x86_64__)
    __m128i packed[sizeof(T) / 2];
    store8(x, reinterpret_cast<T *>(packed));
    for (unsigned part = 0; part < sizeof(T) / 2; ++part)
        _mm_stream_si128(reinterpret_cast<__m128i *>(stored) + part, packed[part]);
#else
    store8(x, stored);
#endif
}
