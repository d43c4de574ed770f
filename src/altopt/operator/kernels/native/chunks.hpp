// Chunks of work shared among threads: stopped on request, and left by an exception only once all have stopped.
// Compiled once for each instruction set: what is not static here could be linked from a set the machine lacks.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "interrupt.hpp"

#if defined(CHUNKS_BY_STD_THREAD) // for the thread sanitizer, which does not see what OpenMP's threads wait for
#include <thread>
#include <vector>
#elif defined(_OPENMP)
#include <omp.h>
#endif

namespace {

class Chunks {
  public:
    Chunks(std::int64_t n, int n_threads, const Interrupt &interrupt)
        : n_(n), n_threads_(int(std::min(std::int64_t(std::max(n_threads, 1)), std::max(n, std::int64_t(1))))),
          interrupt_(interrupt) {}

    // work(chunk, stopping) for each chunk; a long one asks stopping() now and then, and returns once it is true
    template <class Work> void each(const Work &work) {
#if defined(CHUNKS_BY_STD_THREAD)
        std::atomic<std::int64_t> next{0};
        const auto loop = [&](bool calling) {
            for (std::int64_t chunk; (chunk = next.fetch_add(1)) < n_;)
                one(chunk, calling, work);
        };
        std::vector<std::thread> others;
        for (int k = 1; k < n_threads_; ++k)
            others.emplace_back(loop, false);
        loop(true);
        for (auto &other : others)
            other.join();
#else
#pragma omp parallel for schedule(dynamic) num_threads(n_threads_) if (n_threads_ > 1)
        for (std::int64_t chunk = 0; chunk < n_; ++chunk)
            one(chunk, calling(), work);
#endif
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

  private:
    template <class Work> void one(std::int64_t chunk, bool calling, const Work &work) {
        if (stop_.load(std::memory_order_relaxed))
            return;
        const auto stopping = [&] {
            if (calling && interrupt_.wanted())
                stop_.store(true, std::memory_order_relaxed);
            return stop_.load(std::memory_order_relaxed);
        };
        try {
            work(chunk, stopping);
        } catch (...) {
            if (!failed_.exchange(true))
                thrown_ = std::current_exception();
            stop_.store(true, std::memory_order_relaxed);
        }
        if (chunk % 4 == 3) // a chunk takes microseconds, asking a fraction of one
            stopping();
    }

    static bool calling() {
#if defined(_OPENMP)
        return omp_get_thread_num() == 0;
#else
        return true;
#endif
    }

    std::int64_t n_;
    int n_threads_;
    const Interrupt &interrupt_;
    std::atomic<bool> stop_{false}, failed_{false};
    std::exception_ptr thrown_;
};

} // namespace
