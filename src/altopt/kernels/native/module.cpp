// The native kernels as Python functions; arrays are checked in Python, sizes here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "product.hpp"

namespace nb = nanobind;

namespace {

enum class Level { plain, avx2, avx512 };

Level best_level() {
#ifdef HAS_X86_LEVELS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        return Level::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return Level::avx2;
#endif
    return Level::plain;
}

const Level level = best_level();

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Block = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void product(Vector<std::int32_t> indptr, Vector<std::int32_t> indices, Vector<T> values, Block<T> X, Out<T> out,
             int n_threads) {
    const auto n_rows = std::int64_t(indptr.shape(0)) - 1;
    if (n_rows < 0 || out.shape(0) != size_t(n_rows) || out.shape(1) != X.shape(1) ||
        indices.shape(0) != values.shape(0) || size_t(indptr.data()[n_rows]) != indices.shape(0))
        throw std::invalid_argument("product: the shapes of the matrix, X and out do not fit together");
    const auto width = std::int64_t(X.shape(1));
    if (n_rows == 0 || width == 0)
        return;
    const Csr<T> A{n_rows, std::int64_t(X.shape(0)), indptr.data(), indices.data(), values.data()};
    nb::gil_scoped_release release;
    switch (level) {
#ifdef HAS_X86_LEVELS
    case Level::avx512: return avx512::product(A, X.data(), out.data(), width, n_threads);
    case Level::avx2: return avx2::product(A, X.data(), out.data(), width, n_threads);
#endif
    default: return plain::product(A, X.data(), out.data(), width, n_threads);
    }
}

} // namespace

NB_MODULE(_native, m) {
    m.def("product", &product<float>, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("X"),
          nb::arg("out"), nb::arg("n_threads"));
    m.def("product", &product<double>, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("X"),
          nb::arg("out"), nb::arg("n_threads"));
    m.def("level", [] {
        return level == Level::avx512 ? "avx512" : level == Level::avx2 ? "avx2" : "plain";
    });
}
