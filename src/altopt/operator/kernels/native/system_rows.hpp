// A graph whose rows can be replaced, and the diagonal of H.
#pragma once
#include <cstdint>
#include <stdexcept>

// Row i is entries begin[i]..end[i] of `base`, or of `extra` from n_base on.
struct SystemRows {
    std::int64_t n;
    const std::int64_t *begin, *end;
    const std::int32_t *base;
    const double *base_weights; // null: ones
    std::int64_t n_base, n_extra;
    const std::int32_t *extra;
    const double *extra_weights;
    const double *scale;    // d^-1/2, 0 without edges
    const double *diagonal; // of H, without the coupling's own
    double coupling;

    struct Row {
        const std::int32_t *columns;
        const double *weights; // null: ones
        std::int64_t size;
    };

    // d^-1/2, isolated nodes having d = 1
    double root(std::int64_t k) const { return scale[k] > 0 ? scale[k] : 1.0; }

    std::int64_t n_entries() const { return n_base + n_extra; }

    Row row(std::int64_t k) const {
        const bool replaced = begin[k] >= n_base;
        const std::int64_t from = begin[k] - (replaced ? n_base : 0);
        const double *weights = replaced ? extra_weights : base_weights;
        return {(replaced ? extra : base) + from, weights ? weights + from : nullptr, end[k] - begin[k]};
    }

    // a row whose entries are there; its columns are looked at where they are used
    Row checked_row(std::int64_t k) const {
        if (begin[k] < 0 || end[k] < begin[k] || end[k] > (begin[k] >= n_base ? n_entries() : n_base))
            throw std::invalid_argument("push: a row of the graph lies outside its entries");
        return row(k);
    }

    void require_node(std::int32_t node) const {
        if (node < 0 || node >= n)
            throw std::invalid_argument("push: a node is not in the graph");
    }
};
