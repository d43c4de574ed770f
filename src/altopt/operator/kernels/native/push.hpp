// Local push: the residual of H F = rhs worked off node by node, in memory of the nodes it reaches.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

// A graph whose rows can be replaced: row i is entries begin[i]..end[i] of `base`, or of `extra` from n_base on.
struct SystemRows {
    std::int64_t n;
    const std::int64_t *begin, *end;
    const std::int32_t *base;
    const double *base_weights; // null: ones
    std::int64_t n_base;
    const std::int32_t *extra;
    const double *extra_weights;
    const double *scale;    // d^-1/2, 0 without edges
    const double *diagonal; // of H, without the coupling's own
    double coupling;
};

class Push {
  public:
    explicit Push(std::int64_t width) : width_(width) { rehash(64); }

    std::int64_t size() const { return std::int64_t(nodes_.size()); }
    std::int64_t width() const { return width_; }
    std::int64_t bytes() const {
        return std::int64_t((r_.capacity() + moved_.capacity() + norm_.capacity()) * sizeof(double) +
                            (table_.capacity() + nodes_.capacity()) * sizeof(std::int32_t) + pushed_.capacity());
    }
    const std::vector<std::int32_t> &nodes() const { return nodes_; }
    const std::vector<double> &residual() const { return r_; }
    const std::vector<double> &moves() const { return moved_; }
    const std::vector<std::uint8_t> &pushed() const { return pushed_; }

    void add(std::int32_t node, const double *row) {
        const std::int64_t s = slot(node);
        double *r = &r_[s * width_];
        for (std::int64_t j = 0; j < width_; ++j)
            r[j] += row[j];
        norm_[s] = square(r);
    }

    void absorb(const Push &other) {
        for (std::int64_t s = 0; s < other.size(); ++s)
            if (other.norm_[s] > 0)
                add(other.nodes_[s], &other.r_[s * width_]);
    }

    // r -= H step for a step taken at one node
    void shift(const SystemRows &A, std::int32_t k, const double *step) {
        const std::int64_t own = slot(k);
        for (std::int64_t j = 0; j < width_; ++j)
            r_[own * width_ + j] -= A.diagonal[k] * step[j];
        norm_[own] = square(&r_[own * width_]);
        propagate(A, k, step, [](std::int64_t) {});
    }

    // what an earlier push left on a node is taken over when this one comes to it
    void draw_on(Push *carried) { carried_ = carried; }

    // the largest ||r_k||^2 / d_k, which bounds the error of every row of F
    double largest(const double *scale) const {
        double norm = 0;
        for (std::int64_t s = 0; s < size(); ++s)
            norm = std::max(norm, key(scale, s));
        return norm;
    }

    // F_k += r_k / H_kk wherever ||r_k||^2 / d_k is above a level, which falls by four to `lowest`; edges walked along
    std::int64_t run(const SystemRows &A, double lowest) {
        std::deque<std::int64_t> queue;
        std::vector<std::uint8_t> queued(nodes_.size(), 0);
        std::int64_t n_edges = 0;
        double level = largest(A.scale);
        while (level > lowest) {
            level = std::max(level * 0.25, lowest);
            for (std::int64_t s = 0; s < size(); ++s)
                if (key(A.scale, s) > level) {
                    queue.push_back(s);
                    queued[s] = 1;
                }
            while (!queue.empty()) {
                const std::int64_t s = queue.front();
                queue.pop_front();
                queued[s] = 0;
                if (key(A.scale, s) > level)
                    n_edges += push(A, s, level, queue, queued);
            }
        }
        return n_edges;
    }

  private:
    double square(const double *r) const {
        double total = 0;
        for (std::int64_t j = 0; j < width_; ++j)
            total += r[j] * r[j];
        return total;
    }

    double key(const double *scales, std::int64_t s) const {
        const double scale = scales[nodes_[s]];
        return norm_[s] * (scale > 0 ? scale * scale : 1.0);
    }

    std::int64_t push(const SystemRows &A, std::int64_t s, double level, std::deque<std::int64_t> &queue,
                      std::vector<std::uint8_t> &queued) {
        const std::int32_t k = nodes_[s];
        step_.resize(width_);
        for (std::int64_t j = 0; j < width_; ++j) {
            step_[j] = r_[s * width_ + j] / A.diagonal[k];
            moved_[s * width_ + j] += step_[j];
            r_[s * width_ + j] = 0;
        }
        norm_[s] = 0;
        pushed_[s] = 1;
        propagate(A, k, step_.data(), [&](std::int64_t t) {
            if (t >= std::int64_t(queued.size()))
                queued.resize(t + 1, 0);
            if (!queued[t] && key(A.scale, t) > level) {
                queue.push_back(t);
                queued[t] = 1;
            }
        });
        return A.end[k] - A.begin[k];
    }

    // A_tilde's shares of a step to its neighbours' residuals
    template <class After> void propagate(const SystemRows &A, std::int32_t k, const double *step, After after) {
        const bool extra = A.begin[k] >= A.n_base;
        const std::int64_t shift = extra ? A.n_base : 0;
        const std::int32_t *columns = extra ? A.extra : A.base;
        const double *weights = extra ? A.extra_weights : A.base_weights;
        for (std::int64_t e = A.begin[k] - shift; e < A.end[k] - shift; ++e) {
            const std::int32_t i = columns[e];
            const double a = A.coupling * A.scale[k] * A.scale[i] * (weights ? weights[e] : 1.0);
            const std::int64_t t = slot(i);
            double *r = &r_[t * width_];
            double total = 0;
            for (std::int64_t j = 0; j < width_; ++j) {
                r[j] += a * step[j];
                total += r[j] * r[j];
            }
            norm_[t] = total;
            after(t);
        }
    }

    // where a node's rows are; new ones are zero
    std::int64_t slot(std::int32_t node) {
        std::size_t at = place(node);
        if (table_[at] >= 0)
            return table_[at];
        if ((nodes_.size() + 1) * 2 > table_.size()) {
            rehash(table_.size() * 2);
            at = place(node);
        }
        table_[at] = std::int32_t(nodes_.size());
        nodes_.push_back(node);
        r_.resize(r_.size() + width_, 0.0);
        moved_.resize(moved_.size() + width_, 0.0);
        norm_.push_back(0.0);
        pushed_.push_back(0);
        if (carried_) {
            const std::int32_t left = carried_->table_[carried_->place(node)];
            if (left >= 0) {
                double *theirs = &carried_->r_[std::int64_t(left) * width_];
                std::copy(theirs, theirs + width_, r_.end() - width_);
                std::fill(theirs, theirs + width_, 0.0);
                std::swap(norm_.back(), carried_->norm_[left]);
            }
        }
        return size() - 1;
    }

    std::size_t place(std::int32_t node) const {
        const std::size_t mask = table_.size() - 1;
        std::size_t at = (std::uint64_t(std::uint32_t(node)) * 0x9E3779B97F4A7C15ull >> 20) & mask;
        while (table_[at] >= 0 && nodes_[table_[at]] != node)
            at = (at + 1) & mask;
        return at;
    }

    void rehash(std::size_t size) {
        table_.assign(size, -1);
        for (std::size_t s = 0; s < nodes_.size(); ++s)
            table_[place(nodes_[s])] = std::int32_t(s);
    }

    std::int64_t width_;
    std::vector<std::int32_t> table_, nodes_;
    std::vector<double> r_, moved_, norm_, step_;
    std::vector<std::uint8_t> pushed_;
    Push *carried_ = nullptr;
};
