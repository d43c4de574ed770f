// An order of the nodes in which those of one community, and communities of one region, lie together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

// Moves groups of nodes between clusters, one after the other, each to where modularity gains most:
// gain(cluster) = edges into it - volume of the group * volume of the cluster / volume of all.
class Clusters {
  public:
    Clusters(const std::int64_t *indptr, const std::int32_t *indices, std::int64_t n)
        : indptr(indptr), indices(indices), n(n), group(n), members(n), first(n + 1), all(double(indptr[n])) {
        std::iota(group.begin(), group.end(), 0);
        std::iota(members.begin(), members.end(), 0);
        std::iota(first.begin(), first.end(), std::int64_t(0));
    }

    // clusters of the present groups, which become the groups
    void join(int n_sweeps) {
        const std::int64_t n_groups = std::int64_t(first.size()) - 1;
        std::vector<std::int32_t> cluster(n_groups), touched;
        std::vector<double> volume(n_groups, 0.0), own(n_groups, 0.0);
        std::vector<std::int32_t> count(n_groups, 0);
        std::iota(cluster.begin(), cluster.end(), 0);
        for (std::int64_t g = 0; g < n_groups; ++g) {
            for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
                own[g] += double(indptr[members[k] + 1] - indptr[members[k]]);
            volume[g] = own[g];
        }
        for (int sweep = 0; sweep < n_sweeps; ++sweep)
            for (std::int64_t g = 0; g < n_groups; ++g) {
                for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
                    for (std::int64_t e = indptr[members[k]]; e < indptr[members[k] + 1]; ++e) {
                        const std::int32_t other = group[indices[e]];
                        if (other == g)
                            continue;
                        const std::int32_t c = cluster[other];
                        if (count[c]++ == 0)
                            touched.push_back(c);
                    }
                volume[cluster[g]] -= own[g];
                std::int32_t best = cluster[g];
                double most = count[best] - own[g] * volume[best] / all;
                for (const std::int32_t c : touched) {
                    const double gain = count[c] - own[g] * volume[c] / all;
                    if (gain > most) {
                        most = gain;
                        best = c;
                    }
                    count[c] = 0;
                }
                touched.clear();
                volume[best] += own[g];
                cluster[g] = best;
            }
        regroup(cluster);
    }

    const std::vector<std::int32_t> &order() const { return members; }

  private:
    const std::int64_t *indptr;
    const std::int32_t *indices;
    std::int64_t n;
    std::vector<std::int32_t> group;   // of each node
    std::vector<std::int32_t> members; // nodes, group after group
    std::vector<std::int64_t> first;   // of each group in members
    double all;

    // each cluster a group, its nodes in the order of the groups it was made of
    void regroup(const std::vector<std::int32_t> &cluster) {
        std::vector<std::int32_t> number(cluster.size(), -1);
        std::int32_t n_clusters = 0;
        for (const std::int32_t c : cluster)
            if (number[c] < 0)
                number[c] = n_clusters++;
        std::vector<std::int64_t> starts(n_clusters + 1, 0);
        for (std::int64_t g = 0; g < std::int64_t(cluster.size()); ++g)
            starts[number[cluster[g]] + 1] += first[g + 1] - first[g];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
        std::vector<std::int32_t> moved(n);
        for (std::int64_t g = 0; g < std::int64_t(cluster.size()); ++g)
            for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
                moved[next[number[cluster[g]]]++] = members[k];
        for (std::int64_t i = 0; i < n; ++i)
            group[i] = number[cluster[group[i]]];
        members.swap(moved);
        first.swap(starts);
    }
};

// rows and columns of a CSR matrix renumbered: row k of the result is row order[k], column j becomes place[j]
inline void renumber(const std::int64_t *indptr, const std::int32_t *indices, const double *weights,
                     const std::int32_t *order, const std::int32_t *place, std::int64_t n, const std::int64_t *out_indptr,
                     std::int32_t *out_indices, double *out_weights, int n_threads) {
#pragma omp parallel for schedule(dynamic, 4096) num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t k = 0; k < n; ++k) {
        std::int64_t to = out_indptr[k];
        for (std::int64_t e = indptr[order[k]]; e < indptr[order[k] + 1]; ++e, ++to) {
            out_indices[to] = place[indices[e]];
            if (weights)
                out_weights[to] = weights[e];
        }
    }
}
