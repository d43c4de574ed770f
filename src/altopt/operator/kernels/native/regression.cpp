// Four rows of X are multiplied by W, turned into gradients and multiplied back while they are in the nearest cache.
#include "regression.hpp"

#include <type_traits>
#include <vector>

#include "chunks.hpp"
#include "softmax.hpp"

namespace {

constexpr int ROWS = 4;
#if defined(__AVX512F__)
constexpr int LANES = 16, MAX_CLASSES = 4; // numbers in a register, and classes whose sums fit into the registers
#elif defined(__AVX__)
constexpr int LANES = 8, MAX_CLASSES = 3;
#else
constexpr int LANES = 4, MAX_CLASSES = 2;
#endif
constexpr std::int64_t MAX_STRIPS = 8;         // sums are added up strip by strip, in the same order for any threads
constexpr std::int64_t FLOAT_SUM_ROWS = 1024; // rows whose gradients are summed in single precision

using Lanes = float __attribute__((vector_size(4 * LANES)));

inline Lanes load(const float *from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

// the sum of a register's numbers, by halves
inline float total(const Lanes &lanes) {
    float numbers[LANES];
    std::memcpy(numbers, &lanes, sizeof numbers);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l)
            numbers[l] += numbers[l + half];
    return numbers[0];
}

// X W of ROWS rows for CLASSES classes
template <int CLASSES>
inline void forward(const float *const *x, const float *W, std::int64_t d, float *logits, std::int64_t stride) {
    Lanes sums[ROWS][CLASSES] = {};
    std::int64_t j = 0;
    for (; j + LANES <= d; j += LANES) {
        Lanes w[CLASSES];
        for (int k = 0; k < CLASSES; ++k)
            w[k] = load(W + k * d + j);
        for (int r = 0; r < ROWS; ++r) {
            const Lanes here = load(x[r] + j);
            for (int k = 0; k < CLASSES; ++k)
                sums[r][k] += here * w[k];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < CLASSES; ++k) {
            float sum = total(sums[r][k]);
            for (std::int64_t rest = j; rest < d; ++rest)
                sum += x[r][rest] * W[k * d + rest];
            logits[r * stride + k] += sum;
        }
}

// what ROWS rows add to the gradients of CLASSES classes' weights
template <int CLASSES>
inline void backward(const float *const *x, const float *gradients, std::int64_t stride, float *G, std::int64_t d) {
    float s[ROWS][CLASSES];
    for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < CLASSES; ++k)
            s[r][k] = gradients[r * stride + k];
    std::int64_t j = 0;
    for (; j + LANES <= d; j += LANES) {
        Lanes g[CLASSES];
        for (int k = 0; k < CLASSES; ++k)
            g[k] = load(G + k * d + j);
        for (int r = 0; r < ROWS; ++r) {
            const Lanes here = load(x[r] + j);
            for (int k = 0; k < CLASSES; ++k)
                g[k] += s[r][k] * here;
        }
        for (int k = 0; k < CLASSES; ++k)
            std::memcpy(G + k * d + j, &g[k], sizeof g[k]);
    }
    for (; j < d; ++j)
        for (int k = 0; k < CLASSES; ++k)
            for (int r = 0; r < ROWS; ++r)
                G[k * d + j] += s[r][k] * x[r][j];
}

// as many classes at a time as there are registers for, and rather two pairs than one left over
template <class Work> inline void by_classes(std::int64_t c, const Work &work) {
    std::int64_t k = 0;
    for (; k + MAX_CLASSES <= c && (MAX_CLASSES % 2 == 0 || c - k != MAX_CLASSES + 1); k += MAX_CLASSES)
        work(std::integral_constant<int, MAX_CLASSES>{}, k);
    for (; k + 2 <= c; k += 2)
        work(std::integral_constant<int, 2>{}, k);
    for (; k < c; ++k)
        work(std::integral_constant<int, 1>{}, k);
}

struct Strip {
    std::vector<double> W, b;
    double value = 0;
};

template <class Stopping>
void work(const Regression &m, std::int64_t from, std::int64_t to, Strip &out, const Stopping &stopping) {
    const std::int64_t d = m.n_columns, c = m.width;
    out.W.assign(c * d, 0.0);
    out.b.assign(c, 0.0);
    std::vector<float> near(c * d, 0.0f), logits(ROWS * c), none(c, 0.0f);
    for (std::int64_t start = from; start < to && !stopping(); start += FLOAT_SUM_ROWS) {
        const std::int64_t end = std::min(to, start + FLOAT_SUM_ROWS);
        for (std::int64_t i = start; i < end; i += ROWS) {
            const float *x[ROWS];
            for (int r = 0; r < ROWS; ++r) { // past the end the last row comes again, with targets and gradient zero
                x[r] = m.X + std::min(i + r, end - 1) * d;
                std::copy(m.b, m.b + c, logits.data() + r * c);
            }
            by_classes(c, [&](auto classes, std::int64_t k) {
                forward<decltype(classes)::value>(x, m.W + k * d, d, logits.data() + k, c);
            });
            for (int r = 0; r < ROWS; ++r) {
                const bool there = i + r < end;
                float *z = logits.data() + r * c;
                out.value += cross_entropy_row(z, there ? m.targets + (i + r) * c : none.data(), c);
                for (std::int64_t k = 0; k < c; ++k)
                    out.b[k] += double(z[k]);
            }
            by_classes(c, [&](auto classes, std::int64_t k) {
                backward<decltype(classes)::value>(x, logits.data() + k, c, near.data() + k * d, d);
            });
        }
        for (std::int64_t j = 0; j < c * d; ++j) {
            out.W[j] += double(near[j]);
            near[j] = 0.0f;
        }
    }
}

double run(const Regression &m, int n_threads, const Interrupt &interrupt) {
    const std::int64_t n_strips = std::min(MAX_STRIPS, m.n_rows / 256 + 1);
    std::vector<Strip> strips(n_strips);
    Chunks(n_strips, n_threads, interrupt).each([&](std::int64_t k, const auto &stopping) {
        work(m, m.n_rows * k / n_strips, m.n_rows * (k + 1) / n_strips, strips[k], stopping);
    });
    double value = 0;
    std::fill(m.gradient_W, m.gradient_W + m.width * m.n_columns, 0.0);
    std::fill(m.gradient_b, m.gradient_b + m.width, 0.0);
    for (const Strip &strip : strips) {
        if (strip.b.empty())
            continue; // stopped before
        value += strip.value;
        for (std::int64_t j = 0; j < m.width * m.n_columns; ++j)
            m.gradient_W[j] += strip.W[j];
        for (std::int64_t k = 0; k < m.width; ++k)
            m.gradient_b[k] += strip.b[k];
    }
    return value;
}

} // namespace

namespace LEVEL {
double softmax_regression(const Regression &m, int n_threads, const Interrupt &interrupt) {
    return run(m, n_threads, interrupt);
}
} // namespace LEVEL
