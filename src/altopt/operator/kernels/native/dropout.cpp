// ReLU and dropout element by element. The mask is never stored: forwards it is computed, backwards it is read off
// the output, which is positive just where something was kept.
#include "dropout.hpp"

#include <algorithm>
#include <cstring>

#include "chunks.hpp"
#include "mix.hpp"

namespace {

constexpr std::int64_t CHUNK = 16384; // elements with one key; part of what the random numbers are: see reference.py

template <bool RELU>
void forward_chunk(const float *x, float *out, std::int64_t n, const Dropout &how, std::int64_t chunk) {
    const std::uint64_t key = key_of(how.key, std::uint64_t(chunk));
    const auto first = std::uint32_t(key), second = std::uint32_t(key >> 32);
    const std::uint32_t threshold = how.threshold;
    const float scale = how.scale;
#pragma omp simd // out may be x itself: an element meets only itself
    for (std::int32_t i = 0; i < std::int32_t(n); ++i) {
        const float value = RELU && x[i] < 0.0f ? 0.0f : x[i]; // NaN stays NaN, dropped or not
        out[i] = value * (random32(first, second, std::uint32_t(i)) >= threshold ? scale : 0.0f);
    }
}

void backward_chunk(const float *out, const float *gradient, float *into, std::int64_t n, float scale) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
        const float scaled = gradient[i] * scale;
        std::uint32_t bits; // chosen by bits: a choice of floats is a branch to compilers that heed traps
        std::memcpy(&bits, &scaled, sizeof bits);
        bits &= out[i] <= 0.0f ? 0u : ~0u;
        std::memcpy(into + i, &bits, sizeof bits);
    }
}

template <class Work> void in_chunks(std::int64_t n, int n_threads, const Interrupt &interrupt, Work work) {
    Chunks((n + CHUNK - 1) / CHUNK, n_threads, interrupt).each([&](std::int64_t chunk, const auto &) {
        work(chunk, chunk * CHUNK, std::min(CHUNK, n - chunk * CHUNK));
    });
}

} // namespace

namespace LEVEL {

void dropout(const float *x, float *out, std::int64_t n, const Dropout &how, int n_threads,
             const Interrupt &interrupt) {
    in_chunks(n, n_threads, interrupt, [=](std::int64_t chunk, std::int64_t start, std::int64_t size) {
        (how.relu ? forward_chunk<true> : forward_chunk<false>)(x + start, out + start, size, how, chunk);
    });
}

void dropout_backward(const float *out, const float *gradient, float *into, std::int64_t n, float scale,
                      int n_threads, const Interrupt &interrupt) {
    in_chunks(n, n_threads, interrupt, [=](std::int64_t, std::int64_t start, std::int64_t size) {
        backward_chunk(out + start, gradient + start, into + start, size, scale);
    });
}

} // namespace LEVEL
