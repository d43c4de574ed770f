// Local push: the residual of H F = rhs worked off node by node, in memory of the nodes it reaches.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

#include "system_rows.hpp"
#include "whole.hpp"

// One call at a time: a second thread gets an exception, never half of another's work. What a call draws on is held too.
class Push {
  public:
    // Why a run ended; only `reached` promises that r is small.
    enum class End { reached, not_finite, out_of_work };
    struct Walk {
        std::int64_t n_edges;
        End end;
    };

    // The sole use of a push while it lives.
    class Sole {
      public:
        explicit Sole(const Push &push) : first_(push.busy_), second_(push.carried_ ? &push.carried_->busy_ : nullptr) {
            if (first_.test_and_set(std::memory_order_acquire))
                throw std::runtime_error("push: another thread is using it");
            if (second_ && second_->test_and_set(std::memory_order_acquire)) {
                first_.clear(std::memory_order_release);
                throw std::runtime_error("push: another thread is using what it draws on");
            }
        }
        ~Sole() {
            if (second_)
                second_->clear(std::memory_order_release);
            first_.clear(std::memory_order_release);
        }
        Sole(const Sole &) = delete;
        Sole &operator=(const Sole &) = delete;

      private:
        std::atomic_flag &first_, *second_;
    };

    explicit Push(std::int64_t width) : width_(width) {
        if (width < 1)
            throw std::invalid_argument("push: the width must be 1 or more");
        rehash(64);
    }
    Push(const Push &) = delete;
    Push &operator=(const Push &) = delete;

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
        const Sole sole(*this);
        add_row(node, row);
    }

    void absorb(const Push &other) {
        if (other.width_ != width_ || &other == this)
            throw std::invalid_argument("push: absorbs another push of the same width");
        const Sole sole(*this);
        if (&other == carried_)
            throw std::invalid_argument("push: what it draws on cannot be absorbed");
        if (other.busy_.test_and_set(std::memory_order_acquire))
            throw std::runtime_error("push: another thread is using what it absorbs");
        const struct Release {
            std::atomic_flag &flag;
            ~Release() { flag.clear(std::memory_order_release); }
        } release{other.busy_};
        for (std::int64_t s = 0; s < other.size(); ++s)
            if (other.norm_[s] != 0 || other.magnitude(s) != 0) // NaN too
                add_row(other.nodes_[s], &other.r_[s * width_]);
    }

    // r -= H step for a step taken at one node
    void shift(const SystemRows &A, std::int32_t k, const double *step) {
        const Sole sole(*this);
        A.require_node(k);
        const std::int64_t own = slot(k);
        for (std::int64_t j = 0; j < width_; ++j)
            r_[own * width_ + j] -= A.diagonal[k] * step[j];
        norm_[own] = square(&r_[own * width_]);
        propagate(A, k, step, [](std::int64_t) {});
    }

    // what an earlier push left on a node is taken over when this one comes to it
    void draw_on(Push *carried) {
        const Sole sole(*this);
        if (carried == this || carried->width_ != width_ || carried->carried_ == this)
            throw std::invalid_argument("push: draws on another push of the same width");
        carried_ = carried;
    }

    // the largest ||r_k|| / sqrt(d_k), which bounds the error of every row of F; NaN or infinite if one is
    double largest(const double *scale, std::int64_t n) const {
        const Sole sole(*this);
        double most = 0;
        for (std::int64_t s = 0; s < size(); ++s) {
            require_node(nodes_[s], n);
            const double d = scale[nodes_[s]], size = length(s) * (d > 0 ? d : 1.0);
            if (!(size <= most))
                most = size;
            if (std::isnan(most))
                break;
        }
        return most;
    }

    // F_k += r_k / H_kk wherever ||r_k||^2 / d_k is above a level, which falls by four to `lowest`; a solve on all nodes
    // where that is cheaper. It ends early once more than `max_edges` edges were walked along, with r true all the
    // same; `pause` is called now and then, and may throw.
    template <class Pause> Walk run(const SystemRows &A, double lowest, std::int64_t max_edges, Pause &&pause) {
        const Sole sole(*this);
        for (const std::int32_t node : nodes_)
            A.require_node(node);
        const Pace pace(A);
        std::deque<std::int64_t> queue;
        std::vector<std::uint8_t> queued(nodes_.size(), 0);
        std::int64_t n_edges = 0, work = 0;
        double walked = 0; // edges since the last solve
        bool solvable = pace.useful();
        const auto breathe = [&](std::int64_t done) {
            if ((work += done) >= PAUSE) {
                work = 0;
                pause();
            }
        };
        double level = highest(A.scale);
        if (!std::isfinite(level))
            return {0, End::not_finite};
        while (level > lowest) {
            const double target = std::max(lowest, level * pace.floor * pace.floor);
            const double n_steps = pace.steps(std::sqrt(target / level)), cost = n_steps * double(A.n_entries());
            const bool may_solve = solvable && double(n_edges) + 2 * cost <= double(max_edges);
            if (may_solve && WALK_PRICE * std::max(walked, edges_ahead(A, target)) > cost) {
                n_edges += solve(A, pace, target, 2 * n_steps, breathe) * A.n_entries();
                const double after = highest(A.scale);
                if (!std::isfinite(after))
                    return {n_edges, End::not_finite};
                solvable = after <= level * 0.25;
                level = after;
                walked = 0;
                queued.resize(nodes_.size(), 0);
                continue;
            }
            level = std::max(level * 0.25, lowest);
            for (std::int64_t s = 0; s < size(); ++s)
                if (key(A.scale, s) > level) {
                    queue.push_back(s);
                    queued[s] = 1;
                }
            breathe(size());
            while (!queue.empty() && !(may_solve && WALK_PRICE * walked > cost)) {
                const std::int64_t s = queue.front();
                queue.pop_front();
                queued[s] = 0;
                if (key(A.scale, s) > level) {
                    const std::int64_t edges = push(A, s, level, queue, queued);
                    walked += double(edges);
                    if ((n_edges += edges) > max_edges)
                        return {n_edges, End::out_of_work};
                    breathe(edges + 1);
                }
            }
            if (!queue.empty()) { // this level is left to a solve
                queue.clear();
                std::fill(queued.begin(), queued.end(), 0);
                level = highest(A.scale);
                if (!std::isfinite(level))
                    return {n_edges, End::not_finite};
            }
        }
        // NaN is above no level
        return {n_edges, std::isfinite(highest(A.scale)) ? End::reached : End::not_finite};
    }

  private:
    static constexpr std::int64_t PAUSE = 16384; // edges between two pauses, about
    static constexpr double WALK_PRICE = 4;      // of an edge walked along, in edges of a solve on all nodes

    // edges that a walk from here would take at least, about: a node is stepped from at each level below its key
    double edges_ahead(const SystemRows &A, double target) const {
        double total = 0;
        const int last = std::ilogb(target);
        for (std::int64_t s = 0; s < size(); ++s)
            if (const double here = key(A.scale, s); here > target)
                total += 0.5 * (double(std::ilogb(here)) - last + 1) *
                         (double(A.end[nodes_[s]]) - double(A.begin[nodes_[s]])); // rows are checked when walked
        return total;
    }

    // all nodes at once, until ||r_k||^2 / d_k <= target; the number of steps
    template <class Breathe>
    std::int64_t solve(const SystemRows &A, const Pace &pace, double target, double max_steps, Breathe &&breathe) {
        std::vector<std::int64_t> slots(A.n);
        Whole whole(A, width_);
        for (std::int64_t k = 0; k < A.n; ++k) {
            slots[k] = slot(std::int32_t(k));
            whole.set(k, &r_[slots[k] * width_]);
        }
        const std::int64_t n_steps = whole.run(pace, target, max_steps, [&] { breathe(PAUSE); });
        for (std::int64_t k = 0; k < A.n; ++k) {
            const std::int64_t s = slots[k];
            for (std::int64_t j = 0; j < width_; ++j) {
                const double step = whole.y[k * width_ + j] / A.root(k);
                moved_[s * width_ + j] += step;
                pushed_[s] |= step != 0;
                r_[s * width_ + j] = whole.q[k * width_ + j] / A.root(k);
            }
            norm_[s] = square(&r_[s * width_]);
        }
        return n_steps;
    }

    void add_row(std::int32_t node, const double *row) {
        const std::int64_t s = slot(node);
        double *r = &r_[s * width_];
        for (std::int64_t j = 0; j < width_; ++j)
            r[j] += row[j];
        norm_[s] = square(r);
    }

    static void require_node(std::int32_t node, std::int64_t n) {
        if (node < 0 || node >= n)
            throw std::invalid_argument("push: a node is not in the graph");
    }

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

    // the largest key; NaN if one is
    double highest(const double *scale) const {
        double most = 0;
        for (std::int64_t s = 0; s < size() && !std::isnan(most); ++s)
            if (const double here = key(scale, s); !(here <= most))
                most = here;
        return most;
    }

    // max_j |r_kj|; NaN if one is
    double magnitude(std::int64_t s) const {
        double most = 0;
        for (const double *r = &r_[s * width_], *end = r + width_; r < end && !std::isnan(most); ++r)
            if (!(std::fabs(*r) <= most))
                most = std::fabs(*r);
        return most;
    }

    // ||r_k||, also where its square is past the range of numbers
    double length(std::int64_t s) const {
        if (norm_[s] > 1e-280 && norm_[s] < 1e280)
            return std::sqrt(norm_[s]);
        const double unit = magnitude(s);
        if (unit == 0 || !std::isfinite(unit))
            return unit;
        double total = 0;
        for (std::int64_t j = 0; j < width_; ++j) {
            const double part = r_[s * width_ + j] / unit;
            total += part * part;
        }
        return unit * std::sqrt(total);
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
        const SystemRows::Row row = A.checked_row(k);
        for (std::int64_t e = 0; e < row.size; ++e) {
            const std::int32_t i = row.columns[e];
            A.require_node(i);
            const double a = A.coupling * A.scale[k] * A.scale[i] * (row.weights ? row.weights[e] : 1.0);
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
        const std::size_t n = nodes_.size() + 1; // each may run out of memory: the node is there once all have room
        r_.resize(n * width_, 0.0);
        moved_.resize(n * width_, 0.0);
        norm_.resize(n, 0.0);
        pushed_.resize(n, 0);
        nodes_.push_back(node);
        table_[at] = std::int32_t(n - 1);
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
        std::vector<std::int32_t> larger(size, -1);
        table_.swap(larger);
        for (std::size_t s = 0; s < nodes_.size(); ++s)
            table_[place(nodes_[s])] = std::int32_t(s);
    }

    std::int64_t width_;
    std::vector<std::int32_t> table_, nodes_;
    std::vector<double> r_, moved_, norm_, step_;
    std::vector<std::uint8_t> pushed_;
    Push *carried_ = nullptr;
    mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};
