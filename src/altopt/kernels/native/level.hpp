// Which instruction set this machine has, found once, and the call that goes to its kernels.
#pragma once

enum class Level { plain, avx2, avx512 };

inline Level best_level() {
#ifdef HAS_X86_LEVELS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        return Level::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
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
