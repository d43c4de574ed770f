// Random numbers that are a function of where they are used, so that threads and vector widths cannot change them.
#pragma once
#include <cstdint>

// a bijection of 64 bits in which every bit depends on every other (the finaliser of splitmix64)
static inline std::uint64_t mix64(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The n-th key of a stream. Neighbouring streams and numbers have unrelated keys.
static inline std::uint64_t key_of(std::uint64_t stream, std::uint64_t n) {
    return mix64(mix64(stream + 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u * n);
}

// 32 bits, of little bias (multipliers found by exhaustive search: Wellons, hash-prospector)
static inline std::uint32_t mix32(std::uint32_t h) {
    h = (h ^ (h >> 16)) * 0x21f0aaadu;
    h = (h ^ (h >> 15)) * 0x735a2d97u;
    return h ^ (h >> 15);
}

// Two rounds, each with half of the key: the first alone would give streams whose keys are close the same numbers,
// shifted.
static inline std::uint32_t random32(std::uint32_t first, std::uint32_t second, std::uint32_t i) {
    return mix32(mix32(i + first) ^ second);
}
