// An order of the nodes in which those of one community, and communities of one region, lie together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

// that rows lie one after another within the entries, and columns are rows
inline void require_square_csr(const std::int64_t *indptr, const std::int32_t *indices, std::int64_t n) {
    bool fine = indptr[0] == 0;
    for (std::int64_t i = 0; i < n; ++i)
        fine &= indptr[i] <= indptr[i + 1];
    std::uint32_t last = 0;
    for (std::int64_t e = 0; fine && e < indptr[n]; ++e)
        last = std::max(last, std::uint32_t(indices[e]));
    if (!fine || (indptr[n] > 0 && std::int64_t(last) >= n))
        throw std::invalid_argument("order: the matrix has rows outside its entries, or columns outside its rows");
}

// How often each of a few numbers came up, in a table small enough for the innermost cache.
class Tally {
  public:
    static constexpr std::int64_t CAPACITY = 512; // different numbers it may hold

    void add(std::int32_t number) {
        std::uint32_t slot = std::uint32_t(number) * 2654435769u >> 22;
        while (count[slot] != 0 && key[slot] != number)
            slot = (slot + 1) % SLOTS;
        if (count[slot]++ == 0) {
            key[slot] = number;
            used.push_back(slot);
        }
    }
    template <class Use> void empty(const Use &use) { // hands out each number and how often, and forgets them
        for (const std::uint32_t slot : used) {
            use(key[slot], count[slot]);
            count[slot] = 0;
        }
        used.clear();
    }

  private:
    static constexpr std::uint32_t SLOTS = 1024;
    std::vector<std::int32_t> key = std::vector<std::int32_t>(SLOTS), count = std::vector<std::int32_t>(SLOTS, 0);
    std::vector<std::uint32_t> used;
};

// Moves groups of nodes between clusters, one after the other, each to where modularity gains most:
// gain(cluster) = edges into it - volume of the group * volume of the cluster / volume of all.
class Clusters {
  public:
    Clusters(const std::int64_t *indptr, const std::int32_t *indices, std::int64_t n)
        : indptr(indptr), indices(indices), n(n), cluster(n), members(n), first(n + 1) {
        require_square_csr(indptr, indices, n);
        std::iota(cluster.begin(), cluster.end(), 0);
        std::iota(members.begin(), members.end(), 0);
        std::iota(first.begin(), first.end(), std::int64_t(0));
    }

    // clusters of the present groups, which become the groups; `pause` is called now and then, and may throw
    template <class Pause> void join(int n_sweeps, Pause &&pause) {
        const std::int64_t n_groups = std::int64_t(first.size()) - 1;
        const double all = std::max(double(indptr[n]), 1.0);
        std::vector<double> volume(n_groups, 0.0);
        std::vector<std::int64_t> inside(n_groups, 0); // entries between nodes of a group
        const auto breathe = [&](std::int64_t g) {
            if (g % 1024 == 1023)
                pause();
        };
        for (std::int64_t g = 0; g < n_groups; ++g) {
            breathe(g);
            volume[g] = size(g);
            if (first[g + 1] - first[g] > 1)
                look(g, [&](std::int32_t c) { inside[g] += c == g; });
        }
        Tally few;
        std::vector<std::int32_t> many(n_groups, 0), touched;
        for (int sweep = 0; sweep < n_sweeps; ++sweep)
            for (std::int64_t g = 0; g < n_groups; ++g) {
                breathe(g);
                const std::int32_t now = cluster[members[first[g]]];
                const double own = size(g);
                volume[now] -= own;
                std::int32_t best = now;
                double most = -own * volume[now] / all, at_home = 0;
                const auto weigh = [&](std::int32_t c, double edges) {
                    const double gain = edges - own * volume[c] / all;
                    if (c == now)
                        at_home = gain - double(inside[g]);
                    else if (gain > most) {
                        most = gain;
                        best = c;
                    }
                };
                if (own <= Tally::CAPACITY) {
                    look(g, [&](std::int32_t c) { few.add(c); });
                    few.empty(weigh);
                } else {
                    look(g, [&](std::int32_t c) {
                        if (many[c]++ == 0)
                            touched.push_back(c);
                    });
                    for (const std::int32_t c : touched) {
                        weigh(c, many[c]);
                        many[c] = 0;
                    }
                    touched.clear();
                }
                if (at_home >= most)
                    best = now;
                volume[best] += own;
                if (best != now)
                    for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
                        cluster[members[k]] = best;
            }
        regroup();
    }

    const std::vector<std::int32_t> &order() const { return members; }

  private:
    const std::int64_t *indptr;
    const std::int32_t *indices;
    std::int64_t n;
    std::vector<std::int32_t> cluster; // of each node; between calls of join its group
    std::vector<std::int32_t> members; // nodes, group after group
    std::vector<std::int64_t> first;   // of each group in members

    double size(std::int64_t g) const {
        std::int64_t total = 0;
        for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
            total += indptr[members[k] + 1] - indptr[members[k]];
        return double(total);
    }

    // the cluster of the other end of each edge of a group
    template <class Use> void look(std::int64_t g, const Use &use) const {
        const std::int64_t last = indptr[n] - 1;
        for (std::int64_t k = first[g]; k < first[g + 1]; ++k)
            for (std::int64_t e = indptr[members[k]]; e < indptr[members[k] + 1]; ++e) {
                __builtin_prefetch(&cluster[indices[std::min(e + 24, last)]]);
                use(cluster[indices[e]]);
            }
    }

    // each cluster a group, numbered as they come up, its nodes in the order of the groups it was made of
    void regroup() {
        std::vector<std::int32_t> number(first.size(), -1);
        std::vector<std::int64_t> starts(1, 0);
        for (std::int64_t k = 0; k < n; ++k) {
            std::int32_t &c = number[cluster[members[k]]];
            if (c < 0) {
                c = std::int32_t(starts.size()) - 1;
                starts.push_back(0);
            }
            ++starts[c + 1];
        }
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
        std::vector<std::int32_t> moved(n);
        for (std::int64_t k = 0; k < n; ++k) {
            std::int32_t &c = cluster[members[k]];
            c = number[c];
            moved[next[c]++] = members[k];
        }
        members.swap(moved);
        first.swap(starts);
    }
};

// rows and columns of a symmetric CSR matrix renumbered: row k of the result is row order[k], column j becomes
// place[j]. Each row hands its number to its neighbours, row after row, so that columns come out sorted: neighbouring
// rows then ask for the same part of memory at the same time.
template <class Pause>
void renumber(const std::int64_t *indptr, const std::int32_t *indices, const double *weights,
              const std::int32_t *order, const std::int32_t *place, std::int64_t n, const std::int64_t *out_indptr,
              std::int32_t *out_indices, double *out_weights, Pause &&pause) {
    require_square_csr(indptr, indices, n);
    bool fine = out_indptr[0] == 0;
    for (std::int64_t i = 0; i < n; ++i)
        fine &= out_indptr[i] <= out_indptr[i + 1] && order[i] >= 0 && order[i] < n && place[i] >= 0 && place[i] < n;
    if (!fine)
        throw std::invalid_argument("renumber: the order is not one of the rows");
    constexpr std::int64_t PREFETCH_DISTANCE = 32;
    std::vector<std::int64_t> next(out_indptr, out_indptr + n);
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t begin = indptr[order[k]], end = indptr[order[k] + 1];
        if (k % 4096 == 4095)
            pause();
        for (std::int64_t e = begin; e < end; ++e) {
            if (e + PREFETCH_DISTANCE < end)
                __builtin_prefetch(&place[indices[e + PREFETCH_DISTANCE]]);
            const std::int32_t row = place[indices[e]];
            const std::int64_t to = next[row]++;
            if (to >= out_indptr[row + 1])
                throw std::invalid_argument("renumber: the matrix is not symmetric, or the order no permutation");
            out_indices[to] = std::int32_t(k);
            if (weights)
                out_weights[to] = weights[e];
        }
    }
}
