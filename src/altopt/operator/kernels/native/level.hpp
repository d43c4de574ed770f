// Which instruction set this machine has, found once, and the call that goes to its kernels.
#pragma once
#include <cstdlib>
#include <cstring>

enum class Level { plain, avx2, avx512 };

inline Level best_level() {
#ifdef HAS_X86_LEVELS
    const char *wish = std::getenv("ALTOPT_LEVEL"); // may only lower it: the tests compare levels on one machine
    const bool plain = wish && !std::strcmp(wish, "plain"), at_most_avx2 = wish && !std::strcmp(wish, "avx2");
    if (!plain && !at_most_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return Level::avx512;
    if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        return Level::avx2;
#endif
    return Level::plain;
}

inline const Level level = best_level();

#ifdef HAS_X86_LEVELS
#define AT_LEVEL(call) (level == Level::avx512 ? avx512::call : level == Level::avx2 ? avx2::call : plain::call)
#else
#define AT_LEVEL(call) (plain::call)
#endif
