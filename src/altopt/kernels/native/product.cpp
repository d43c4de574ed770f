// out = A X, row by row: a row's columns stay in registers while its neighbours' rows stream past.
#include "product.hpp"

#include <algorithm>
#include <cstring>

namespace {

constexpr std::int64_t AHEAD = 16;      // edges between asking for a row and using it
constexpr std::int64_t MOST_KEPT = 64;  // columns that fit in registers; wider rows are summed in memory
constexpr std::int64_t CHUNK = 512;     // rows a thread takes at a time

template <class T> inline void fetch(const Csr<T> &A, const T *X, std::int64_t e, std::int64_t end, std::int64_t width) {
    if (e + AHEAD < end) {
        const char *row = reinterpret_cast<const char *>(X + std::int64_t(A.indices[e + AHEAD]) * width);
        for (std::int64_t byte = 0; byte < width * std::int64_t(sizeof(T)); byte += 64)
            __builtin_prefetch(row + byte);
    }
}

// BLOCKS * 8 >= width > (BLOCKS - 1) * 8. Whole blocks are read: what lies past a row's end is the next row, summed
// into columns that are never stored. Only at the end of X, where nothing follows, is the row read exactly.
template <class T, int BLOCKS>
void rows_kept(const Csr<T> &A, const T *X, T *out, std::int64_t width, std::int64_t from, std::int64_t to) {
    constexpr std::int64_t whole = BLOCKS * 8;
    const std::int64_t last_edge = A.indptr[A.n_rows];
    const std::int64_t last_whole = A.n_columns * width - whole;
    for (std::int64_t i = from; i < to; ++i) {
        T kept[whole] = {};
        for (std::int64_t e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            fetch(A, X, e, last_edge, width);
            const std::int64_t start = std::int64_t(A.indices[e]) * width;
            const T *row = X + start;
            const T a = A.values[e];
            if (__builtin_expect(start <= last_whole, 1)) {
                for (std::int64_t k = 0; k < whole; ++k)
                    kept[k] += a * row[k];
            } else {
                for (std::int64_t k = 0; k < width; ++k)
                    kept[k] += a * row[k];
            }
        }
        std::memcpy(out + i * width, kept, width * sizeof(T));
    }
}

template <class T>
void rows_wide(const Csr<T> &A, const T *X, T *out, std::int64_t width, std::int64_t from, std::int64_t to) {
    const std::int64_t last_edge = A.indptr[A.n_rows];
    for (std::int64_t i = from; i < to; ++i) {
        T *sum = out + i * width;
        std::fill(sum, sum + width, T(0));
        for (std::int64_t e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            fetch(A, X, e, last_edge, width);
            const T *__restrict row = X + std::int64_t(A.indices[e]) * width;
            const T a = A.values[e];
            for (std::int64_t k = 0; k < width; ++k)
                sum[k] += a * row[k];
        }
    }
}

template <class T> using Rows = void (*)(const Csr<T> &, const T *, T *, std::int64_t, std::int64_t, std::int64_t);

template <class T> Rows<T> rows_for(std::int64_t width) {
    static constexpr Rows<T> kept[] = {rows_kept<T, 1>, rows_kept<T, 2>, rows_kept<T, 3>, rows_kept<T, 4>,
                                       rows_kept<T, 5>, rows_kept<T, 6>, rows_kept<T, 7>, rows_kept<T, 8>};
    return width <= MOST_KEPT ? kept[(width - 1) / 8] : rows_wide<T>;
}

template <class T> void run(const Csr<T> &A, const T *X, T *out, std::int64_t width, int n_threads) {
    const Rows<T> rows = rows_for<T>(width);
    const std::int64_t n_chunks = (A.n_rows + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk)
        rows(A, X, out, width, chunk * CHUNK, std::min(A.n_rows, (chunk + 1) * CHUNK));
}

} // namespace

namespace LEVEL {
void product(const Csr<float> &A, const float *X, float *out, std::int64_t width, int n_threads) {
    run(A, X, out, width, n_threads);
}
void product(const Csr<double> &A, const double *X, double *out, std::int64_t width, int n_threads) {
    run(A, X, out, width, n_threads);
}
} // namespace LEVEL
