// Dropout as Python functions on flat arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <stdexcept>

#include "dropout.hpp"
#include "level.hpp"
#include "mix.hpp"
#include "signals.hpp"

namespace nb = nanobind;

namespace {

using Flat = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FlatOut = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void refuse_overlap(const float *x, const float *out, size_t n) {
    if (x != out && x < out + n && out < x + n)
        throw std::invalid_argument("dropout: out must be x itself or not overlap it");
}

void check_rate(double rate) {
    if (!(rate >= 0.0 && rate <= 1.0))
        throw std::invalid_argument("dropout: rate must lie between 0 and 1");
}

float scale_of(double rate) { return rate < 1.0 ? float(1.0 / (1.0 - rate)) : 0.0f; }

Dropout dropout_of(double rate, std::uint64_t seed, std::uint64_t counter, bool relu) {
    const double threshold = std::nearbyint(rate * 4294967296.0); // of 2^32 values
    const bool none_kept = threshold > 4294967295.0;
    return {key_of(seed, counter), none_kept ? 0 : std::uint32_t(threshold), none_kept ? 0.0f : scale_of(rate), relu};
}

void forward(Flat x, FlatOut out, double rate, std::uint64_t seed, std::uint64_t counter, bool relu, int n_threads) {
    if (x.shape(0) != out.shape(0))
        throw std::invalid_argument("dropout: x and out must be equally long");
    check_rate(rate);
    const auto n = x.shape(0);
    refuse_overlap(x.data(), out.data(), n);
    const Dropout how = dropout_of(rate, seed, counter, relu);
    without_gil([&](const Interrupt &interrupt) { AT_LEVEL(dropout(x.data(), out.data(), std::int64_t(n), how, n_threads, interrupt)); });
}

void backward(Flat out, Flat gradient, FlatOut into, double rate, int n_threads) {
    if (out.shape(0) != gradient.shape(0) || out.shape(0) != into.shape(0))
        throw std::invalid_argument("dropout: out, gradient and into must be equally long");
    check_rate(rate);
    const auto n = out.shape(0);
    refuse_overlap(gradient.data(), into.data(), n);
    refuse_overlap(out.data(), into.data(), n);
    const float scale = scale_of(rate);
    without_gil([&](const Interrupt &interrupt) { AT_LEVEL(dropout_backward(out.data(), gradient.data(), into.data(), std::int64_t(n), scale, n_threads, interrupt)); });
}

} // namespace

void define_dropout(nb::module_ &m) {
    m.def("dropout", &forward, nb::arg("x"), nb::arg("out"), nb::arg("rate"), nb::arg("seed"), nb::arg("counter"),
          nb::arg("relu"), nb::arg("n_threads"));
    m.def("dropout_backward", &backward, nb::arg("out"), nb::arg("gradient"), nb::arg("into"), nb::arg("rate"),
          nb::arg("n_threads"));
}
