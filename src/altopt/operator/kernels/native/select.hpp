// The most certain nodes of each class, in one pass.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

// the `n_most` candidates of highest w for each label, sorted by number; ties go to the lower number; `pause` is called now and then, and may throw
template <class Pause>
std::vector<std::int64_t> most_certain_per_class(const double *w, const std::int32_t *label, const bool *candidate,
                                                 std::int64_t n, std::int64_t n_classes, std::int64_t n_most,
                                                 Pause &&pause) {
    struct Node {
        double w;
        std::int64_t number;
    };
    const auto more_certain = [](const Node &a, const Node &b) { return a.w != b.w ? a.w > b.w : a.number < b.number; };
    std::vector<std::vector<Node>> kept(n_classes); // heaps with the least certain on top
    for (std::int64_t i = 0; i < n; ++i) {
        if (i % 65536 == 65535)
            pause();
        if (!candidate[i] || n_most <= 0)
            continue;
        auto &heap = kept[label[i]];
        const Node node{w[i], i};
        if (std::int64_t(heap.size()) < n_most) {
            heap.push_back(node);
            std::push_heap(heap.begin(), heap.end(), more_certain);
        } else if (more_certain(node, heap.front())) {
            std::pop_heap(heap.begin(), heap.end(), more_certain);
            heap.back() = node;
            std::push_heap(heap.begin(), heap.end(), more_certain);
        }
    }
    std::vector<std::int64_t> chosen;
    for (const auto &heap : kept)
        for (const Node &node : heap)
            chosen.push_back(node.number);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}
