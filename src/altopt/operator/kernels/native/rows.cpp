// Row by row, in chunks of fixed size: sums are added up in the order of the chunks, whoever computed them.
#include "rows.hpp"

#include "chunks.hpp"
#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::int64_t CHUNK = 2048; // rows a thread takes at a time

template <class Work>
void in_chunks(std::int64_t n_rows, int n_threads, const Interrupt &interrupt, const Work &work) {
    Chunks((n_rows + CHUNK - 1) / CHUNK, n_threads, interrupt).each([&](std::int64_t chunk, const auto &) {
        work(chunk, chunk * CHUNK, std::min(n_rows, (chunk + 1) * CHUNK));
    });
}

// `sums` numbers from each chunk, added up
template <class Work>
void summed(std::int64_t n_rows, std::int64_t sums, int n_threads, const Interrupt &interrupt, double *out,
            const Work &work) {
    const std::int64_t n_chunks = (n_rows + CHUNK - 1) / CHUNK;
    std::vector<double> parts(n_chunks * sums, 0.0);
    in_chunks(n_rows, n_threads, interrupt, [&](std::int64_t chunk, std::int64_t from, std::int64_t to) {
        work(parts.data() + chunk * sums, from, to);
    });
    std::fill(out, out + sums, 0.0);
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk)
        for (std::int64_t k = 0; k < sums; ++k)
            out[k] += parts[chunk * sums + k];
}

// the rows of an order are rows of the block
void require_order(const std::int32_t *order, std::int64_t from, std::int64_t to, std::int64_t n_rows) {
    std::uint32_t last = 0;
    for (std::int64_t k = from; order && k < to; ++k)
        last = std::max(last, std::uint32_t(order[k]));
    if (std::int64_t(last) >= n_rows)
        throw std::invalid_argument("the order names a row that the block does not have");
}

template <class T, class U> void to_layout_rows(const ToLayout<T, U> &e, int n_threads, const Interrupt &interrupt) {
    using C = computed<T>;
    in_chunks(e.n_rows, n_threads, interrupt, [&](std::int64_t, std::int64_t from, std::int64_t to) {
        require_order(e.order, from, to, e.n_rows);
        for (std::int64_t k = from; k < to; ++k) {
            const U *in = e.in + (e.order ? std::int64_t(e.order[k]) : k) * e.stride;
            T *out = e.out + k * e.padded;
            const C scale = e.scale[k];
            std::int64_t j = 0;
            for (; j + 8 <= e.width; j += 8) {
                Eight<T> x;
                for (int k = 0; k < 8; ++k)
                    x[k] = C(in[j + k]);
                store8<T>(scale * x, out + j);
            }
            for (; j < e.width; ++j)
                narrow(C(scale * C(in[j])), out[j]);
            std::fill(out + j, out + e.padded, T{});
        }
    });
}

template <class T, class U> void from_layout_rows(const FromLayout<T, U> &l, int n_threads, const Interrupt &interrupt) {
    using C = computed<T>;
    in_chunks(l.n_rows, n_threads, interrupt, [&](std::int64_t, std::int64_t from, std::int64_t to) {
        require_order(l.order, from, to, l.n_rows);
        for (std::int64_t k = from; k < to; ++k) {
            const T *in = l.in + k * l.padded;
            U *out = l.out + (l.order ? std::int64_t(l.order[k]) : k) * l.stride;
            const C scale = l.scale[k];
            std::int64_t j = 0;
            for (; j + 8 <= l.width; j += 8) {
                const Eight<T> x = scale * load8(in + j);
                for (int k = 0; k < 8; ++k)
                    out[j + k] = U(x[k]);
            }
            for (; j < l.width; ++j)
                out[j] = U(C(scale * widen(in[j])));
        }
    });
}

// e^x of a row; x and e have room for whole registers
inline void exp_each(const float *x, float *e, std::int64_t width) {
    for (std::int64_t k = 0; k < width && width >= 8; k += 8)
        store8<float>(exp_below(load8(x + k)), e + k);
    for (std::int64_t k = 0; k < width && width < 8; ++k)
        e[k] = exp_below(x[k]);
}
inline void exp_each(const double *x, double *e, std::int64_t width) {
    for (std::int64_t k = 0; k < width; ++k)
        e[k] = exp_below(x[k]);
}

template <class T> void softmax_each(const SoftmaxRows<T> &s, int n_threads, const Interrupt &interrupt) {
    const double log_c = std::log(double(s.width));
    in_chunks(s.n_rows, n_threads, interrupt, [&](std::int64_t, std::int64_t from, std::int64_t to) {
        const std::int64_t padded = (s.width + 7) / 8 * 8;
        std::vector<T> x(padded, LOWEST<T>), e(padded);
        for (std::int64_t i = from; i < to; ++i) {
            const T *F = s.F + i * s.width;
            std::int64_t top = 0;
            for (std::int64_t k = 1; k < s.width; ++k)
                top = F[k] > F[top] ? k : top;
            T unit = T(1 / s.temperature);
            bool empty = false;
            if (s.shares) {
                T total = 0;
#pragma omp simd reduction(+ : total)
                for (std::int64_t k = 0; k < s.width; ++k)
                    total += std::max(F[k], T(0));
                empty = !(total > 0);
                unit = empty ? T(0) : T(1 / (s.temperature * double(total)));
                const T highest = std::max(F[top], T(0));
                for (std::int64_t k = 0; k < s.width; ++k)
                    x[k] = std::max((std::max(F[k], T(0)) - highest) * unit, LOWEST<T>);
            } else {
                for (std::int64_t k = 0; k < s.width; ++k)
                    x[k] = std::max((F[k] - F[top]) * unit, LOWEST<T>);
            }
            T sum = 0, weighted = 0;
            exp_each(x.data(), e.data(), s.width);
#pragma omp simd reduction(+ : sum, weighted)
            for (std::int64_t k = 0; k < s.width; ++k) {
                sum += e[k];
                weighted += e[k] * x[k];
            }
            if (s.S)
                for (std::int64_t k = 0; k < s.width; ++k)
                    s.S[i * s.width + k] = e[k] / sum;
            // H = log sum e^x - sum S x
            const double entropy = std::log(double(sum)) - double(weighted) / double(sum);
            s.w[i] = std::min(1.0, std::max(0.0, 1 - entropy / log_c));
            s.label[i] = empty ? 0 : std::int32_t(top);
        }
    });
}

template <class T> void cross_entropy_rows(const CrossEntropy<T> &c, int n_threads, const Interrupt &interrupt) {
    summed(c.n_rows, 1, n_threads, interrupt, c.value, [&](double *part, std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i)
            *part += cross_entropy_row(c.x + i * c.width, c.targets + i * c.width, c.width);
    });
}

template <class T> double advance_rows(const Advance<T> &a, int n_threads, const Interrupt &interrupt) {
    std::vector<double> sums(a.width + 1);
    summed(a.n_rows, a.width + 1, n_threads, interrupt, sums.data(), [&](double *part, std::int64_t from, std::int64_t to) {
        std::vector<double> rz(a.width, 0.0);
        double rr = 0;
        for (std::int64_t i = from; i < to; ++i) {
            T *__restrict F = a.F + i * a.width, *__restrict R = a.R + i * a.width;
            const T *__restrict D = a.D + i * a.width, *__restrict HD = a.HD + i * a.width;
            T r2 = 0;
            for (std::int64_t k = 0; k < a.width; ++k) {
                F[k] += a.alpha[k] * D[k];
                R[k] -= a.alpha[k] * HD[k];
            }
#pragma omp simd reduction(+ : r2)
            for (std::int64_t k = 0; k < a.width; ++k)
                r2 += R[k] * R[k];
            const T s = a.s[i];
            for (std::int64_t k = 0; k < a.width; ++k)
                rz[k] += double(s * R[k] * R[k]);
            rr += double(a.d[i]) * double(r2);
        }
        std::copy(rz.begin(), rz.end(), part);
        part[a.width] = rr;
    });
    std::copy(sums.begin(), sums.begin() + a.width, a.rz);
    return sums[a.width];
}

template <class T> void search_direction_rows(const SearchDirection<T> &t, int n_threads, const Interrupt &interrupt) {
    in_chunks(t.n_rows, n_threads, interrupt, [&](std::int64_t, std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
            T *__restrict D = t.D + i * t.width;
            const T *__restrict R = t.R + i * t.width;
            const T s = t.s[i];
            for (std::int64_t k = 0; k < t.width; ++k)
                D[k] = s * R[k] + t.beta[k] * D[k];
        }
    });
}

template <class T> void dots_rows(const Dots<T> &d, int n_threads, const Interrupt &interrupt) {
    summed(d.n_rows, d.width, n_threads, interrupt, d.out, [&](double *part, std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
            const T *A = d.A + i * d.width, *B = d.B + i * d.width;
            const computed<T> weight = d.d[i];
            std::int64_t k = 0;
            for (; k + 8 <= d.width; k += 8) {
                const Eight<double> product =
                    __builtin_convertvector(weight * load8(A + k) * load8(B + k), Eight<double>);
                for (int j = 0; j < 8; ++j)
                    part[k + j] += product[j];
            }
            for (; k < d.width; ++k)
                part[k] += double(weight * widen(A[k]) * widen(B[k]));
        }
    });
}

} // namespace

namespace LEVEL {
#define DEFINE_MOVES(T, U)  \
    void to_layout(const ToLayout<T, U> &e, int n_threads, const Interrupt &interrupt) { to_layout_rows(e, n_threads, interrupt); }  \
    void from_layout(const FromLayout<T, U> &l, int n_threads, const Interrupt &interrupt) { from_layout_rows(l, n_threads, interrupt); }
#define DEFINE_ROWS(T)  \
    void softmax_rows(const SoftmaxRows<T> &s, int n_threads, const Interrupt &interrupt) { softmax_each(s, n_threads, interrupt); }  \
    void cross_entropy(const CrossEntropy<T> &c, int n_threads, const Interrupt &interrupt) { cross_entropy_rows(c, n_threads, interrupt); }  \
    double advance(const Advance<T> &a, int n_threads, const Interrupt &interrupt) { return advance_rows(a, n_threads, interrupt); }  \
    void search_direction(const SearchDirection<T> &t, int n_threads, const Interrupt &interrupt) { search_direction_rows(t, n_threads, interrupt); }
#define DEFINE_DOTS(T)  \
    void dots(const Dots<T> &d, int n_threads, const Interrupt &interrupt) { dots_rows(d, n_threads, interrupt); }
FOR_LAID_OUT(DEFINE_MOVES)
DEFINE_ROWS(float)
DEFINE_ROWS(double)
FOR_STORED(DEFINE_DOTS)
} // namespace LEVEL
