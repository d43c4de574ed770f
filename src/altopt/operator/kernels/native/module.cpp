// The native kernels as Python functions; types are checked in Python, sizes here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "level.hpp"
#include "order.hpp"
#include "regression.hpp"
#include "rows.hpp"
#include "select.hpp"
#include "signals.hpp"
#include "step.hpp"

namespace nb = nanobind;

void define_dropout(nb::module_ &); // bind_dropout.cpp
void define_push(nb::module_ &);    // bind_push.cpp

namespace {

// float16 arrays come as their bits
template <class T> struct stored_as {
    using type = T;
};
template <> struct stored_as<half> {
    using type = std::uint16_t;
};
template <class T> using Stored = typename stored_as<T>::type;

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Block = nb::ndarray<const Stored<T>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<Stored<T>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T, class Array> auto data(const Array &array) {
    if constexpr (std::is_same_v<T, half>)
        return reinterpret_cast<std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array.data())>>,
                                                   const half *, half *>>(array.data());
    else
        return array.data();
}
template <class T, class Array> const T *data_or_null(const std::optional<Array> &array) {
    return array ? data<T>(*array) : nullptr;
}

void require(bool fine, const char *what) {
    if (!fine)
        throw std::invalid_argument(what);
}

template <class Array> bool has(const Array &array, size_t rows, size_t columns) {
    return array.shape(0) == rows && array.shape(1) == columns;
}

template <class T>
double step_on(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, std::optional<Vector<computed<T>>> weights,
               Block<T> X, Out<T> out, Vector<computed<T>> scale, std::optional<Vector<computed<T>>> diagonal,
               std::optional<Block<T>> rest, double gain, double keep, double beta,
               std::optional<Vector<computed<T>>> norm, int n_threads, size_t first) {
    const size_t n = indptr.shape(0) - 1, width = X.shape(1);
    const bool own = diagonal || keep != 0; // X is added row by row: it must have the matrix's rows, from `first` on
    require(indptr.shape(0) > 0 && has(out, n, width) && size_t(indptr.data()[n]) == indices.shape(0) &&
                (!weights || weights->shape(0) == indices.shape(0)) && scale.shape(0) == n &&
                (!own || (first <= X.shape(0) && n <= X.shape(0) - first)) && (!diagonal || diagonal->shape(0) == n) && (!rest || has(*rest, n, width)) &&
                (!norm || norm->shape(0) == n),
            "step: the shapes of the matrix and the blocks do not fit together");
    require(static_cast<const void *>(out.data()) != static_cast<const void *>(X.data()), "step: out must not be X");
    if (n == 0 || width == 0)
        return 0;
    using C = computed<T>;
    const Csr<T> A{std::int64_t(n), std::int64_t(X.shape(0)), std::int64_t(indices.shape(0)), indptr.data(), indices.data(), data_or_null<C>(weights)};
    const Step<T> s{data<T>(X),
                    std::int64_t(own ? first : 0),
                    data<T>(out),
                    std::int64_t(width),
                    scale.data(),
                    data_or_null<C>(diagonal),
                    data_or_null<T>(rest),
                    C(gain),
                    C(keep),
                    C(beta),
                    data_or_null<C>(norm)};
    return without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(step(A, s, n_threads, interrupt)); });
}

template <class T, class U>
void to_layout_on(Block<U> in, size_t first, size_t width, Out<T> out, std::optional<Vector<std::int32_t>> order,
              Vector<computed<T>> scale, int n_threads) {
    const size_t n = in.shape(0);
    require(out.shape(0) == n && out.shape(1) >= width && first + width <= in.shape(1) && scale.shape(0) == n && (!order || order->shape(0) == n),
            "to_layout: the shapes do not fit together");
    const ToLayout<T, U> e{std::int64_t(n), std::int64_t(width), std::int64_t(out.shape(1)), std::int64_t(in.shape(1)),
                        in.data() + first, data<T>(out),
                        data_or_null<std::int32_t>(order), scale.data()};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(to_layout(e, n_threads, interrupt)); });
}

template <class T, class U>
void from_layout_on(Block<T> in, Out<U> out, size_t first, size_t width, std::optional<Vector<std::int32_t>> order,
              Vector<computed<T>> scale, int n_threads) {
    const size_t n = in.shape(0);
    require(out.shape(0) == n && width <= in.shape(1) && first + width <= out.shape(1) && scale.shape(0) == n && (!order || order->shape(0) == n),
            "from_layout: the shapes do not fit together");
    const FromLayout<T, U> l{std::int64_t(n), std::int64_t(width), std::int64_t(in.shape(1)), std::int64_t(out.shape(1)),
                        data<T>(in), out.data() + first,
                        data_or_null<std::int32_t>(order), scale.data()};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(from_layout(l, n_threads, interrupt)); });
}

template <class T>
void softmax_rows_on(Block<T> F, std::optional<Out<T>> S, OutVector<double> w, OutVector<std::int32_t> label,
               double temperature, bool shares, int n_threads) {
    const size_t n = F.shape(0), width = F.shape(1);
    require(w.shape(0) == n && label.shape(0) == n && (!S || has(*S, n, width)) && width > 0,
            "softmax_rows: the shapes do not fit together");
    const SoftmaxRows<T> s{std::int64_t(n), std::int64_t(width), F.data(), S ? S->data() : nullptr, w.data(), label.data(),
                      temperature, shares};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(softmax_rows(s, n_threads, interrupt)); });
}

template <class T> double cross_entropy_on(Out<T> x, Block<T> targets, int n_threads) {
    require(has(targets, x.shape(0), x.shape(1)) && x.shape(1) > 0, "cross_entropy: the shapes do not fit together");
    double value = 0;
    const CrossEntropy<T> c{std::int64_t(x.shape(0)), std::int64_t(x.shape(1)), x.data(), targets.data(), &value};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(cross_entropy(c, n_threads, interrupt)); });
    return value;
}

double softmax_regression_on(Block<float> X, Block<float> W, Vector<float> b, Block<float> targets,
                             Out<double> gradient_W, OutVector<double> gradient_b, int n_threads) {
    const size_t n = X.shape(0), d = X.shape(1), width = W.shape(0);
    require(W.shape(1) == d && b.shape(0) == width && has(targets, n, width) && has(gradient_W, width, d) &&
                gradient_b.shape(0) == width && width > 0,
            "softmax_regression: the shapes do not fit together");
    const Regression r{std::int64_t(n), std::int64_t(d), std::int64_t(width), X.data(),      W.data(),
                       b.data(),        targets.data(),  gradient_W.data(),   gradient_b.data()};
    return without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(softmax_regression(r, n_threads, interrupt)); });
}

template <class T>
double advance_on(Out<T> F, Out<T> R, Block<T> D, Block<T> HD, Vector<T> alpha, Vector<T> s, Vector<T> d,
                  OutVector<double> rz, int n_threads) {
    const size_t n = F.shape(0), width = F.shape(1);
    require(has(R, n, width) && has(D, n, width) && has(HD, n, width) && alpha.shape(0) == width && s.shape(0) == n &&
                d.shape(0) == n && rz.shape(0) == width,
            "advance: the shapes do not fit together");
    const Advance<T> a{std::int64_t(n), std::int64_t(width), F.data(), R.data(), D.data(), HD.data(), alpha.data(),
                       s.data(), d.data(), rz.data()};
    return without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(advance(a, n_threads, interrupt)); });
}

template <class T> void search_direction_on(Out<T> D, Block<T> R, Vector<T> s, Vector<T> beta, int n_threads) {
    const size_t n = D.shape(0), width = D.shape(1);
    require(has(R, n, width) && s.shape(0) == n && beta.shape(0) == width, "search_direction: the shapes do not fit together");
    const SearchDirection<T> t{std::int64_t(n), std::int64_t(width), D.data(), R.data(), s.data(), beta.data()};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(search_direction(t, n_threads, interrupt)); });
}

template <class T> void dots_on(Block<T> A, Block<T> B, Vector<computed<T>> weights, OutVector<double> out, int n_threads) {
    const size_t n = A.shape(0), width = A.shape(1);
    require(has(B, n, width) && weights.shape(0) == n && out.shape(0) == width, "dots: the shapes do not fit together");
    const Dots<T> d{std::int64_t(n), std::int64_t(width), data<T>(A), data<T>(B), weights.data(), out.data()};
    without_gil([&](const Interrupt &interrupt) { return AT_LEVEL(dots(d, n_threads, interrupt)); });
}

std::int64_t most_certain_on(Vector<double> w, Vector<std::int32_t> label, Vector<bool> candidate,
                             std::int64_t n_classes, std::int64_t n_most, OutVector<std::int64_t> out) {
    const size_t n = w.shape(0);
    require(label.shape(0) == n && candidate.shape(0) == n, "most_certain: the shapes do not fit together");
    for (size_t i = 0; i < n; ++i)
        require(label.data()[i] >= 0 && label.data()[i] < n_classes, "most_certain: a label is not a class");
    nb::gil_scoped_release release;
    Signals signals;
    const auto chosen = most_certain_per_class(w.data(), label.data(), candidate.data(), std::int64_t(n), n_classes,
                                               n_most, [&] { signals.heed(); });
    require(chosen.size() <= out.shape(0), "most_certain: out is too short");
    std::copy(chosen.begin(), chosen.end(), out.data());
    return std::int64_t(chosen.size());
}

void order_on(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, int n_levels, int n_sweeps,
              OutVector<std::int32_t> out) {
    const size_t n = out.shape(0);
    require(indptr.shape(0) == n + 1 && size_t(indptr.data()[n]) == indices.shape(0),
            "order: the shapes do not fit together");
    nb::gil_scoped_release release;
    Signals signals;
    Clusters clusters(indptr.data(), indices.data(), std::int64_t(n));
    for (int k = 0; k < n_levels; ++k)
        clusters.join(n_sweeps, [&] { signals.heed(); });
    std::copy(clusters.order().begin(), clusters.order().end(), out.data());
}

void renumber_on(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, std::optional<Vector<double>> weights,
                 Vector<std::int32_t> order, Vector<std::int32_t> place, Vector<std::int64_t> out_indptr,
                 OutVector<std::int32_t> out_indices, std::optional<OutVector<double>> out_weights) {
    const size_t n = order.shape(0), nnz = indices.shape(0);
    require(indptr.shape(0) == n + 1 && place.shape(0) == n && out_indptr.shape(0) == n + 1 &&
                size_t(indptr.data()[n]) == nnz && size_t(out_indptr.data()[n]) == nnz && out_indices.shape(0) == nnz &&
                bool(weights) == bool(out_weights) && (!weights || weights->shape(0) == nnz) &&
                (!out_weights || out_weights->shape(0) == nnz),
            "renumber: the shapes do not fit together");
    nb::gil_scoped_release release;
    Signals signals;
    renumber(indptr.data(), indices.data(), data_or_null<double>(weights), order.data(), place.data(), std::int64_t(n),
             out_indptr.data(), out_indices.data(), out_weights ? out_weights->data() : nullptr,
             [&] { signals.heed(); });
}

template <class T> void define_step(nb::module_ &m) {
    m.def("dots", &dots_on<T>);
    m.def("step", &step_on<T>, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights").none(), nb::arg("X"),
          nb::arg("out"), nb::arg("scale"), nb::arg("diagonal").none(), nb::arg("rest").none(), nb::arg("gain"),
          nb::arg("keep"), nb::arg("beta"), nb::arg("norm").none(), nb::arg("n_threads"), nb::arg("first") = 0);
    m.def("to_layout", &to_layout_on<T, float>, nb::arg("block"), nb::arg("first"), nb::arg("width"), nb::arg("out"),
          nb::arg("order").none(), nb::arg("scale"), nb::arg("n_threads"));
    m.def("to_layout", &to_layout_on<T, double>, nb::arg("block"), nb::arg("first"), nb::arg("width"), nb::arg("out"),
          nb::arg("order").none(), nb::arg("scale"), nb::arg("n_threads"));
    m.def("from_layout", &from_layout_on<T, float>, nb::arg("block"), nb::arg("out"), nb::arg("first"), nb::arg("width"),
          nb::arg("order").none(), nb::arg("scale"), nb::arg("n_threads"));
    m.def("from_layout", &from_layout_on<T, double>, nb::arg("block"), nb::arg("out"), nb::arg("first"), nb::arg("width"),
          nb::arg("order").none(), nb::arg("scale"), nb::arg("n_threads"));
}

template <class T> void define_rows(nb::module_ &m) {
    m.def("softmax_rows", &softmax_rows_on<T>, nb::arg("F"), nb::arg("S").none(), nb::arg("w"), nb::arg("label"),
          nb::arg("temperature"), nb::arg("shares"), nb::arg("n_threads"));
    m.def("cross_entropy", &cross_entropy_on<T>);
    m.def("advance", &advance_on<T>);
    m.def("search_direction", &search_direction_on<T>);
}

} // namespace

NB_MODULE(_native, m) {
    define_step<half>(m);
    define_step<float>(m);
    define_step<double>(m);
    define_rows<float>(m);
    define_rows<double>(m);
    define_dropout(m);
    define_push(m);
    m.def("softmax_regression", &softmax_regression_on);
    m.def("most_certain_per_class", &most_certain_on);
    m.def("community_order", &order_on);
    m.def("renumber", &renumber_on, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights").none(), nb::arg("order"),
          nb::arg("place"), nb::arg("out_indptr"), nb::arg("out_indices"), nb::arg("out_weights").none());
    // glibc keeps what was freed, in each thread's arena; Linux counts it as in use
    m.def("release_free_memory", [] {
#ifdef __GLIBC__
        malloc_trim(0);
#endif
    });
    m.def("level", [] { return level == Level::avx512 ? "avx512" : level == Level::avx2 ? "avx2" : "plain"; });
}
