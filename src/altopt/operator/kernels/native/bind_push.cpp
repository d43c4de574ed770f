// The local push as a Python class; its arrays come out as copies.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstring>
#include <optional>
#include <stdexcept>

#include "push.hpp"
#include "signals.hpp"

namespace nb = nanobind;

namespace {

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool fine, const char *what) {
    if (!fine)
        throw std::invalid_argument(what);
}

void add(Push &push, Vector<std::int64_t> nodes, Rows rows) {
    require(rows.shape(0) == nodes.shape(0) && std::int64_t(rows.shape(1)) == push.width(),
            "push: as many rows as nodes, each of the width");
    for (size_t k = 0; k < nodes.shape(0); ++k)
        require(nodes.data()[k] >= 0 && nodes.data()[k] < 2147483647, "push: not a node");
    for (size_t k = 0; k < nodes.shape(0); ++k)
        push.add(std::int32_t(nodes.data()[k]), rows.data() + k * rows.shape(1));
}

// the arguments that make up a graph with replaceable rows, checked
struct Graph {
    Vector<std::int64_t> begin, end;
    Vector<std::int32_t> base;
    std::optional<Vector<double>> base_weights;
    Vector<std::int32_t> extra;
    Vector<double> extra_weights, scale, diagonal;
    double coupling;

    // columns and the ends of rows are checked as they are walked along: all of them would take longer than a push
    SystemRows rows() const {
        const size_t n = begin.shape(0);
        require(end.shape(0) == n && scale.shape(0) == n && diagonal.shape(0) == n &&
                    extra.shape(0) == extra_weights.shape(0) &&
                    (!base_weights || base_weights->shape(0) == base.shape(0)),
                "push: the shapes of the graph do not fit together");
        return {std::int64_t(n), begin.data(), end.data(), base.data(), base_weights ? base_weights->data() : nullptr,
                std::int64_t(base.shape(0)), std::int64_t(extra.shape(0)), extra.data(), extra_weights.data(), scale.data(), diagonal.data(), coupling};
    }
};

nb::tuple run(Push &push, const Graph &graph, double lowest, std::int64_t max_edges) {
    require(lowest >= 0, "push: the tolerance must be a number from 0 on");
    const SystemRows A = graph.rows();
    Push::Walk walk;
    {
        nb::gil_scoped_release release;
        Signals signals;
        walk = push.run(A, lowest, max_edges, [&] { signals.heed(); });
    }
    return nb::make_tuple(walk.n_edges, walk.end == Push::End::reached);
}

void shift(Push &push, const Graph &graph, Vector<std::int64_t> nodes, Rows steps) {
    require(steps.shape(0) == nodes.shape(0) && std::int64_t(steps.shape(1)) == push.width(),
            "push: as many steps as nodes, each of the width");
    const SystemRows A = graph.rows();
    for (size_t k = 0; k < nodes.shape(0); ++k)
        require(nodes.data()[k] >= 0 && nodes.data()[k] < A.n, "push: not a node");
    nb::gil_scoped_release release;
    Signals signals;
    for (size_t k = 0; k < nodes.shape(0); ++k) {
        push.shift(A, std::int32_t(nodes.data()[k]), steps.data() + k * steps.shape(1));
        if (k % 256 == 255)
            signals.heed();
    }
}

template <class T> void copy(const Push &push, const std::vector<T> &from, Out<T> out) {
    const Push::Sole sole(push);
    require(out.size() == from.size(), "push: out has another size");
    if (!from.empty())
        std::memcpy(out.data(), from.data(), from.size() * sizeof(T));
}

} // namespace

void define_push(nb::module_ &m) {
    nb::class_<Graph>(m, "SystemRows")
        .def(nb::init<Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>, std::optional<Vector<double>>,
                      Vector<std::int32_t>, Vector<double>, Vector<double>, Vector<double>, double>(),
             nb::arg("begin"), nb::arg("end"), nb::arg("base"), nb::arg("base_weights").none(), nb::arg("extra"),
             nb::arg("extra_weights"), nb::arg("scale"), nb::arg("diagonal"), nb::arg("coupling"));
    nb::class_<Push>(m, "Push")
        .def(nb::init<std::int64_t>())
        .def("__len__", &Push::size)
        .def("bytes", &Push::bytes)
        .def("add", &add)
        .def("run", &run)
        .def("shift", &shift)
        .def("largest", [](const Push &p, Vector<double> scale) {
            return p.largest(scale.data(), std::int64_t(scale.shape(0)));
        })
        .def("draw_on", &Push::draw_on, nb::keep_alive<1, 2>())
        .def("absorb", &Push::absorb)
        .def("nodes", [](const Push &p, Out<std::int32_t> out) { copy(p, p.nodes(), out); })
        .def("residual", [](const Push &p, Out<double> out) { copy(p, p.residual(), out); })
        .def("moves", [](const Push &p, Out<double> out) { copy(p, p.moves(), out); })
        .def("pushed", [](const Push &p, Out<std::uint8_t> out) { copy(p, p.pushed(), out); });
}
