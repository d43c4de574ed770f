// The native kernels as Python functions; arrays are checked in Python, sizes here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "level.hpp"
#include "step.hpp"

namespace nb = nanobind;

void define_dropout(nb::module_ &); // bind_dropout.cpp

namespace {

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Block = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void step(Vector<std::int32_t> indptr, Vector<std::int32_t> indices, Vector<T> values, Block<T> X, Out<T> out,
          Vector<T> scale, std::optional<Vector<T>> diagonal, std::optional<Block<T>> rest, int n_threads) {
    const auto n_rows = std::int64_t(indptr.shape(0)) - 1;
    const auto fits = [&](const auto &block) { return block.shape(0) == size_t(n_rows) && block.shape(1) == X.shape(1); };
    if (n_rows < 0 || !fits(out) || indices.shape(0) != values.shape(0) ||
        size_t(indptr.data()[n_rows]) != indices.shape(0) || scale.shape(0) != size_t(n_rows) ||
        (diagonal && (diagonal->shape(0) != size_t(n_rows) || X.shape(0) != size_t(n_rows))) || (rest && !fits(*rest)))
        throw std::invalid_argument("step: the shapes of the matrix and the blocks do not fit together");
    if (static_cast<const void *>(out.data()) == static_cast<const void *>(X.data()))
        throw std::invalid_argument("step: out must not be X");
    if (n_rows == 0 || X.shape(1) == 0)
        return;
    const Csr<T> A{n_rows, std::int64_t(X.shape(0)), indptr.data(), indices.data(), values.data()};
    const Step<T> s{X.data(),     out.data(), std::int64_t(X.shape(1)), scale.data(), diagonal ? diagonal->data() : nullptr,
                    rest ? rest->data() : nullptr};
    nb::gil_scoped_release release;
    switch (level) {
#ifdef HAS_X86_LEVELS
    case Level::avx512: return avx512::step(A, s, n_threads);
    case Level::avx2: return avx2::step(A, s, n_threads);
#endif
    default: return plain::step(A, s, n_threads);
    }
}

template <class T> void define(nb::module_ &m) {
    m.def("step", &step<T>, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("X"), nb::arg("out"),
          nb::arg("scale"), nb::arg("diagonal").none(), nb::arg("rest").none(), nb::arg("n_threads"));
}

} // namespace

NB_MODULE(_native, m) {
    define<float>(m);
    define<double>(m);
    define_dropout(m);
    m.def("level",
          [] { return level == Level::avx512 ? "avx512" : level == Level::avx2 ? "avx2" : "plain"; });
}
