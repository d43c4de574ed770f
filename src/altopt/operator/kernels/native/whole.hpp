// The whole system at once, H x = r by Chebyshev steps: for residuals that reach most of the graph anyway.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "system_rows.hpp"

// How fast the steps converge. The spectrum of diag(H)^-1 H lies in [1 - rho, 1 + rho], rho = coupling / min diag(H).
struct Pace {
    double rho, floor; // floor: the part of a residual below which rounding decides

    explicit Pace(const SystemRows &A) {
        const double least = A.n ? *std::min_element(A.diagonal, A.diagonal + A.n) : 1.0;
        rho = A.coupling / least;
        floor = 64 * std::numeric_limits<double>::epsilon() / (1 - rho);
    }
    // whether these steps converge, and to something that is worth them
    bool useful() const { return rho >= 0 && rho < 1 && floor < 0.1; }

    // steps that take a residual of size 1 to this share, about
    double steps(double share) const {
        const double root = std::sqrt((1 + rho) / (1 - rho)), rate = std::log((root + 1) / std::max(root - 1, 1e-12));
        return 2 + std::ceil(std::log(2 / share) / rate);
    }
};

// y = D^-1/2 x and q = D^-1/2 (r - H x), by node; isolated nodes have d = 1
class Whole {
  public:
    std::vector<double> y, q;

    Whole(const SystemRows &A, std::int64_t width) : y(A.n * width), q(A.n * width), A_(A), width_(width), before_(A.n * width), b_(A.n * width) {
        for (std::int64_t k = 0; k < A.n; ++k) {
            const SystemRows::Row row = A.checked_row(k);
            for (std::int64_t e = 0; e < row.size; ++e)
                A.require_node(row.columns[e]);
        }
    }

    // the row r_k of the residual
    void set(std::int64_t k, const double *r) {
        for (std::int64_t j = 0; j < width_; ++j)
            b_[k * width_ + j] = r[j] * A_.root(k);
    }

    // steps until max_k ||q_k||^2 <= lowest, at most so many; their number
    template <class Pause> std::int64_t run(const Pace &pace, double lowest, double max_steps, Pause &&pause) {
        double rho = pace.rho, size = 1, momentum = 0;
        for (std::int64_t n_steps = 1;; ++n_steps) {
            const double most = step(size, momentum, pause);
            if (most <= lowest || !std::isfinite(most) || double(n_steps) >= max_steps)
                return n_steps;
            y.swap(before_);
            const double next = pace.rho / (2 - pace.rho * rho);
            size = pace.rho > 0 ? 2 * next / pace.rho : 1;
            momentum = next * rho;
            rho = next;
        }
    }

  private:
    // q of y, and the next y in `before_`; max_k ||q_k||^2, or NaN
    template <class Pause> double step(double size, double momentum, Pause &&pause) {
        switch (width_) {
        case 1: return rows<1>(size, momentum, pause);
        case 2: return rows<2>(size, momentum, pause);
        case 3: return rows<3>(size, momentum, pause);
        case 4: return rows<4>(size, momentum, pause);
        case 5: return rows<5>(size, momentum, pause);
        case 6: return rows<6>(size, momentum, pause);
        case 7: return rows<7>(size, momentum, pause);
        case 8: return rows<8>(size, momentum, pause);
        default: return rows<0>(size, momentum, pause);
        }
    }

    template <int WIDTH, class Pause> double rows(double size, double momentum, Pause &&pause) {
        const std::int64_t width = WIDTH ? WIDTH : width_;
        std::vector<double> wide(WIDTH ? 0 : width);
        double narrow[WIDTH ? WIDTH : 1];
        double *sum = WIDTH ? narrow : wide.data(), most = 0;
        const double *from = y.data();
        for (std::int64_t k = 0; k < A_.n; ++k) {
            std::fill(sum, sum + width, 0.0);
            const SystemRows::Row row = A_.row(k);
            for (std::int64_t e = 0; e < row.size; ++e) {
                const double *other = from + std::int64_t(row.columns[e]) * width;
                if (row.weights)
                    for (std::int64_t j = 0; j < width; ++j)
                        sum[j] += row.weights[e] * other[j];
                else
                    for (std::int64_t j = 0; j < width; ++j)
                        sum[j] += other[j];
            }
            const double root = A_.root(k), pull = A_.coupling * root * root, own = A_.diagonal[k];
            double square = 0;
            for (std::int64_t j = 0; j < width; ++j) {
                const std::int64_t at = k * width + j;
                q[at] = b_[at] - own * y[at] + pull * sum[j];
                before_[at] = y[at] + size / own * q[at] + momentum * (y[at] - before_[at]);
                square += q[at] * q[at];
            }
            if (!(square <= most) && !std::isnan(most))
                most = square;
            if (k % 256 == 255)
                pause();
        }
        return most;
    }

    const SystemRows &A_;
    std::int64_t width_;
    std::vector<double> before_, b_;
};
