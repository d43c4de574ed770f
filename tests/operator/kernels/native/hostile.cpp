// The native loops under sanitizers, on generated graphs, numbers and indices that nobody should hand them.
// Usage: hostile SEED TRIALS. Every call ends with a result or an exception; the sanitizer says whether it was a clean one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#include "dropout.hpp"
#include "level.hpp"
#include "order.hpp"
#include "push.hpp"
#include "regression.hpp"
#include "rows.hpp"
#include "select.hpp"
#include "step.hpp"

namespace {

std::mt19937_64 generator;
std::int64_t n_refused = 0, n_fine = 0;
bool interrupted = false;

std::int64_t below(std::int64_t n) { return std::int64_t(generator() % std::uint64_t(n)); }
bool sometimes(int of) { return below(of) == 0; }

double number() {
    static const double odd[] = {0.0,   -0.0,  1e300, -1e300, 1e-300, 5e-324, 1.7e308, std::nan(""), INFINITY, -INFINITY,
                                 3.4e38, 1e160};
    return sometimes(6) ? odd[below(sizeof odd / sizeof *odd)] : double(below(2001) - 1000) / 256;
}
template <class T> std::vector<T> numbers(std::int64_t n) {
    std::vector<T> all(n);
    for (auto &x : all)
        x = T(number());
    return all;
}
template <> std::vector<half> numbers<half>(std::int64_t n) {
    std::vector<half> all(n);
    for (auto &x : all)
        x.bits = std::uint16_t(below(65536));
    return all;
}

template <class Call> void attempt(const Call &call) {
    try {
        call();
        ++n_fine;
    } catch (const std::exception &) {
        ++n_refused;
    }
}

// a symmetric matrix in CSR form; `broken` ones have columns or rows that lead outside
struct Matrix {
    std::int64_t n;
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<double> weights;

    Matrix(std::int64_t n, bool broken) : n(n) {
        std::vector<std::vector<std::int32_t>> rows(n);
        for (std::int64_t e = below(4 * n + 1); e > 0; --e) {
            const auto a = below(n), b = below(n);
            rows[a].push_back(std::int32_t(b));
            if (a != b)
                rows[b].push_back(std::int32_t(a));
        }
        for (const auto &row : rows) {
            indices.insert(indices.end(), row.begin(), row.end());
            indptr.push_back(std::int64_t(indices.size()));
        }
        weights = numbers<double>(std::int64_t(indices.size()));
        if (!broken)
            return;
        static const std::int64_t far[] = {-1, -7, 5000000, 2147483647, -2147483648LL};
        if (!indices.empty() && sometimes(2))
            indices[below(std::int64_t(indices.size()))] = std::int32_t(far[below(5)]);
        else
            indptr[below(n)] = sometimes(2) ? far[below(5)] : (sometimes(2) ? INT64_MAX : INT64_MIN);
    }
};

Interrupt now_and_then() {
    return {[](void *) { return interrupted = interrupted || sometimes(200); }, nullptr};
}

template <class T> void try_step(int n_threads) {
    const bool broken = sometimes(3);
    const Matrix A(1 + below(3000), broken);
    const std::int64_t width = 1 + below(70);
    const auto X = numbers<T>(A.n * width), rest = numbers<T>(A.n * width);
    auto out = numbers<T>(A.n * width);
    const auto scale = numbers<computed<T>>(A.n), diagonal = numbers<computed<T>>(A.n), norm = numbers<computed<T>>(A.n);
    std::vector<computed<T>> weights(A.weights.begin(), A.weights.end());
    interrupted = false;
    attempt([&] {
        const Csr<T> matrix{A.n, A.n, std::int64_t(A.indices.size()), A.indptr.data(), A.indices.data(),
                            sometimes(2) ? nullptr : weights.data()};
        const Step<T> step{X.data(), 0, out.data(), width, scale.data(), sometimes(2) ? nullptr : diagonal.data(),
                           sometimes(2) ? nullptr : rest.data(), computed<T>(number()), computed<T>(number()),
                           computed<T>(number()), sometimes(2) ? nullptr : norm.data()};
        AT_LEVEL(step(matrix, step, n_threads, now_and_then()));
    });
    std::vector<std::int32_t> order(A.n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    if (broken)
        order[below(A.n)] = std::int32_t(A.n + below(1000000));
    std::vector<float> block(A.n * width);
    attempt([&] {
        const ToLayout<T, float> to{A.n, width, width, width, block.data(), out.data(), order.data(), scale.data()};
        AT_LEVEL(to_layout(to, n_threads, now_and_then()));
    });
    attempt([&] {
        const FromLayout<T, float> from{A.n, width, width, width, out.data(), block.data(), order.data(), scale.data()};
        AT_LEVEL(from_layout(from, n_threads, now_and_then()));
    });
    attempt([&] {
        std::vector<double> sums(width);
        const Dots<T> dots{A.n, width, X.data(), rest.data(), scale.data(), sums.data()};
        AT_LEVEL(dots(dots, n_threads, now_and_then()));
    });
}

template <class T> void try_rows(int n_threads) {
    const std::int64_t n = below(6000), width = 1 + below(40);
    auto F = numbers<T>(n * width), S = numbers<T>(n * width), R = numbers<T>(n * width);
    const auto D = numbers<T>(n * width), HD = numbers<T>(n * width), alpha = numbers<T>(width), s = numbers<T>(n);
    std::vector<double> w(n), rz(width);
    std::vector<std::int32_t> label(n);
    double value = 0;
    interrupted = false;
    const SoftmaxRows<T> softmax{n, width, F.data(), sometimes(2) ? nullptr : S.data(), w.data(), label.data(), 0.2, sometimes(2)};
    attempt([&] { AT_LEVEL(softmax_rows(softmax, n_threads, now_and_then())); });
    const CrossEntropy<T> entropy{n, width, S.data(), D.data(), &value};
    attempt([&] { AT_LEVEL(cross_entropy(entropy, n_threads, now_and_then())); });
    const Advance<T> advanced{n, width, F.data(), R.data(), D.data(), HD.data(), alpha.data(), s.data(), s.data(), rz.data()};
    attempt([&] { AT_LEVEL(advance(advanced, n_threads, now_and_then())); });
    const SearchDirection<T> direction{n, width, F.data(), R.data(), s.data(), alpha.data()};
    attempt([&] { AT_LEVEL(search_direction(direction, n_threads, now_and_then())); });
}

void try_learning(int n_threads) {
    const std::int64_t n = below(3000), d = 1 + below(60), width = 1 + below(9);
    const auto X = numbers<float>(n * d), W = numbers<float>(width * d), b = numbers<float>(width), T = numbers<float>(n * width);
    std::vector<double> gradient_W(width * d), gradient_b(width);
    interrupted = false;
    const Regression regression{n, d, width, X.data(), W.data(), b.data(), T.data(), gradient_W.data(), gradient_b.data()};
    attempt([&] { AT_LEVEL(softmax_regression(regression, n_threads, now_and_then())); });
    std::vector<float> x = numbers<float>(below(70000)), out(x.size()), into(x.size());
    const Dropout how{generator(), std::uint32_t(generator()), 2.0f, sometimes(2)};
    attempt([&] { AT_LEVEL(dropout(x.data(), out.data(), std::int64_t(x.size()), how, n_threads, now_and_then())); });
    attempt([&] { AT_LEVEL(dropout_backward(out.data(), x.data(), into.data(), std::int64_t(x.size()), 2.0f, n_threads, now_and_then())); });
}

void try_order() {
    const bool broken = sometimes(3);
    const Matrix A(1 + below(500), broken);
    if (A.indptr[A.n] != std::int64_t(A.indices.size()))
        return; // the bindings refuse this one
    std::vector<std::int32_t> order(A.n), place(A.n);
    std::iota(order.begin(), order.end(), 0);
    attempt([&] {
        Clusters clusters(A.indptr.data(), A.indices.data(), A.n);
        clusters.join(2, [] {});
        clusters.join(2, [] {});
        order = clusters.order();
    });
    for (std::int64_t k = 0; k < A.n; ++k)
        place[order[k]] = std::int32_t(k);
    std::vector<std::int64_t> indptr(A.n + 1, 0);
    for (std::int64_t k = 0; k < A.n; ++k) // wraps where the matrix is broken
        indptr[k + 1] = std::int64_t(std::uint64_t(indptr[k]) + std::uint64_t(A.indptr[order[k] + 1]) - std::uint64_t(A.indptr[order[k]]));
    if (sometimes(4))
        order[below(A.n)] = std::int32_t(below(2) ? -1 : A.n);
    std::vector<std::int32_t> indices(A.indices.size());
    std::vector<double> weights(A.indices.size());
    if (indptr[A.n] == std::int64_t(indices.size()))
        attempt([&] {
            renumber(A.indptr.data(), A.indices.data(), A.weights.data(), order.data(), place.data(), A.n, indptr.data(),
                     indices.data(), weights.data(), [] {});
        });
    const auto w = numbers<double>(A.n);
    std::vector<std::int32_t> label(A.n);
    const std::vector<char> candidates(A.n, 1);
    for (auto &l : label)
        l = std::int32_t(below(5));
    attempt([&] {
        most_certain_per_class(w.data(), label.data(), reinterpret_cast<const bool *>(candidates.data()), A.n, 5, below(30), [] {});
    });
}

void try_push() {
    const Matrix A(1 + below(300), sometimes(3));
    const std::int64_t width = 1 + below(6);
    std::vector<std::int64_t> begin(A.indptr.begin(), A.indptr.end() - 1), end(A.indptr.begin() + 1, A.indptr.end());
    std::vector<std::int32_t> extra;
    std::vector<double> extra_weights, scale(A.n), diagonal(A.n);
    const bool odd = sometimes(2);
    for (std::int64_t i = 0; i < A.n; ++i) {
        const double degree = double(std::uint64_t(end[i]) - std::uint64_t(begin[i]));
        scale[i] = odd ? std::fabs(number()) : degree > 0 ? 1 / std::sqrt(degree) : 0;
        diagonal[i] = odd ? number() : 1.5;
    }
    for (std::int64_t k = below(5); k > 0; --k) { // rows that were replaced
        const auto i = below(A.n);
        begin[i] = std::int64_t(A.indices.size() + extra.size());
        for (std::int64_t e = below(6); e > 0; --e) {
            extra.push_back(std::int32_t(sometimes(20) ? A.n + 5 : below(A.n)));
            extra_weights.push_back(number());
        }
        end[i] = std::int64_t(A.indices.size() + extra.size());
    }
    const SystemRows rows{A.n, begin.data(), end.data(), A.indices.data(), odd ? A.weights.data() : nullptr,
                          std::int64_t(A.indices.size()), std::int64_t(extra.size()), extra.data(), extra_weights.data(),
                          scale.data(), diagonal.data(), 1.0};
    Push carried(width);
    for (int k = 0; k < 4; ++k)
        attempt([&] {
            Push push(width);
            push.draw_on(&carried);
            for (int j = 0; j < 3; ++j) {
                const auto row = numbers<double>(width);
                push.add(std::int32_t(below(A.n)), row.data());
                push.shift(rows, std::int32_t(sometimes(20) ? A.n : below(A.n)), row.data());
            }
            const auto walk = push.run(rows, 1e-12, 20000, [] {});
            if (walk.end == Push::End::reached && !(push.largest(scale.data(), A.n) < 2e-6)) {
                std::puts("a push said it had reached what it has not");
                std::abort();
            }
            carried.absorb(push);
            if (sometimes(5))
                carried.absorb(Push(width + 1));
        });
}

// what two threads' updates do to each other: each call is whole, or refused
void try_race() {
    const std::int64_t n = 2000;
    std::vector<std::int64_t> begin(n), end(n);
    std::vector<std::int32_t> base;
    const std::vector<double> scale(n, 0.5), diagonal(n, 1.5);
    for (std::int64_t i = 0; i < n; ++i) {
        begin[i] = std::int64_t(base.size());
        for (int k = 0; k < 4; ++k)
            base.push_back(std::int32_t(below(n)));
        end[i] = std::int64_t(base.size());
    }
    const SystemRows rows{n, begin.data(), end.data(), base.data(), nullptr, std::int64_t(base.size()), 0, nullptr,
                          nullptr, scale.data(), diagonal.data(), 1.0};
    Push carried(4);
    const double one[4] = {1, 2, 3, 4};
    std::atomic<int> refused{0};
    const auto update = [&](int first) {
        for (int k = 0; k < 40; ++k)
            try {
                Push push(4);
                push.draw_on(&carried);
                push.add(std::int32_t(first + k), one);
                push.run(rows, 1e-10, 1000000, [] {});
                carried.absorb(push);
            } catch (const std::runtime_error &) {
                ++refused;
            }
    };
    const auto add = [&] {
        for (int k = 0; k < 20000; ++k)
            try {
                carried.add(std::int32_t(k % n), one);
                carried.largest(scale.data(), n);
            } catch (const std::runtime_error &) {
                ++refused;
            }
    };
    std::thread a(update, 0), b(update, 100), c(add);
    a.join();
    b.join();
    c.join();
    n_refused += refused;
}

} // namespace

int main(int, char **arguments) {
    generator.seed(std::strtoull(arguments[1], nullptr, 10));
    for (long k = std::strtol(arguments[2], nullptr, 10); k > 0; --k) {
        const int n_threads = int(1 + below(4));
        try_step<half>(n_threads);
        try_step<float>(n_threads);
        try_step<double>(n_threads);
        try_rows<float>(n_threads);
        try_rows<double>(n_threads);
        try_learning(n_threads);
        for (int j = 0; j < 8; ++j) {
            try_order();
            try_push();
        }
    }
    try_race();
    std::printf("%lld calls fine, %lld refused\n", (long long)n_fine, (long long)n_refused);
}
