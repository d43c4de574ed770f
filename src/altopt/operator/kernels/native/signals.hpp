// Ctrl-C for code that runs without the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <type_traits>

#include "interrupt.hpp"

// Runs Python's signal handlers every tenth of a second at most; a call that takes less never waits for the GIL.
class Signals {
  public:
    // throws the exception of a handler, such as KeyboardInterrupt
    void heed() {
        if (waiting())
            throw_pending();
    }

    // for loops that must not be left by an exception: they stop, and `raise` follows
    Interrupt interrupt() {
        return {[](void *self) {
                    auto &signals = *static_cast<Signals *>(self);
                    signals.stop_ = signals.stop_ || (signals.waiting() && signals.pending());
                    return signals.stop_;
                },
                this};
    }
    void raise() {
        if (stop_) {
            nanobind::gil_scoped_acquire gil;
            throw nanobind::python_error();
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds INTERVAL{100};

    bool waiting() {
        const auto now = Clock::now();
        if (now < next_)
            return false;
        next_ = now + INTERVAL;
        return true;
    }
    bool pending() { // the exception stays set in this thread
        nanobind::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;
    }
    void throw_pending() {
        nanobind::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0)
            throw nanobind::python_error();
    }

    Clock::time_point next_ = Clock::now() + INTERVAL;
    bool stop_ = false;
};

// work(interrupt) while other threads may run Python; an interrupted one ends with the handler's exception
template <class Work> auto without_gil(const Work &work) {
    Signals signals;
    const Interrupt interrupt = signals.interrupt();
    nanobind::gil_scoped_release release;
    if constexpr (std::is_void_v<decltype(work(interrupt))>) {
        work(interrupt);
        signals.raise();
    } else {
        const auto result = work(interrupt);
        signals.raise();
        return result;
    }
}
