// out = scale A X + diagonal X + rest, row by row: a row's sums stay in registers while its neighbours stream past.
#include "step.hpp"

#include <algorithm>
#include <cstring>

namespace {

constexpr std::int64_t AHEAD = 16;      // edges between asking for a row and using it
constexpr std::int64_t MOST_KEPT = 64;  // columns that fit in registers; wider rows are summed in memory
constexpr std::int64_t CHUNK = 512;     // rows a thread takes at a time

template <class T> inline void fetch(const Csr<T> &A, const Step<T> &s, std::int64_t e, std::int64_t end) {
    if (e + AHEAD < end) {
        const char *row = reinterpret_cast<const char *>(s.X + std::int64_t(A.indices[e + AHEAD]) * s.width);
        for (std::int64_t byte = 0; byte < s.width * std::int64_t(sizeof(T)); byte += 64)
            __builtin_prefetch(row + byte);
    }
}

// kept += factor * row for `whole` columns, or for `width` where a whole block would pass the end of the array
template <class T, int WHOLE>
inline void add(T *kept, T factor, const T *block, std::int64_t start, std::int64_t last_whole, std::int64_t width) {
    const T *row = block + start;
    if (__builtin_expect(start <= last_whole, 1)) {
        for (std::int64_t k = 0; k < WHOLE; ++k)
            kept[k] += factor * row[k];
    } else {
        for (std::int64_t k = 0; k < width; ++k)
            kept[k] += factor * row[k];
    }
}

// BLOCKS * 8 >= width > (BLOCKS - 1) * 8. Whole blocks are read: what lies past a row's end is the next row, summed
// into columns that are never stored. Only at the end of X, where nothing follows, is the row read exactly.
template <class T, int BLOCKS>
void rows_kept(const Csr<T> &A, const Step<T> &s, std::int64_t from, std::int64_t to) {
    constexpr std::int64_t whole = BLOCKS * 8;
    const std::int64_t last_edge = A.indptr[A.n_rows];
    const std::int64_t last_of_X = A.n_columns * s.width - whole, last_of_rest = A.n_rows * s.width - whole;
    for (std::int64_t i = from; i < to; ++i) {
        T kept[whole] = {};
        for (std::int64_t e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            fetch(A, s, e, last_edge);
            add<T, whole>(kept, A.values[e], s.X, std::int64_t(A.indices[e]) * s.width, last_of_X, s.width);
        }
        for (std::int64_t k = 0; k < whole; ++k)
            kept[k] *= s.scale[i];
        if (s.diagonal)
            add<T, whole>(kept, s.diagonal[i], s.X, i * s.width, last_of_X, s.width);
        if (s.rest)
            add<T, whole>(kept, T(1), s.rest, i * s.width, last_of_rest, s.width);
        std::memcpy(s.out + i * s.width, kept, s.width * sizeof(T));
    }
}

template <class T> void rows_wide(const Csr<T> &A, const Step<T> &s, std::int64_t from, std::int64_t to) {
    const std::int64_t last_edge = A.indptr[A.n_rows];
    for (std::int64_t i = from; i < to; ++i) {
        T *__restrict sum = s.out + i * s.width;
        std::fill(sum, sum + s.width, T(0));
        for (std::int64_t e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            fetch(A, s, e, last_edge);
            const T *__restrict row = s.X + std::int64_t(A.indices[e]) * s.width;
            const T a = A.values[e];
            for (std::int64_t k = 0; k < s.width; ++k)
                sum[k] += a * row[k];
        }
        const T scale = s.scale[i];
        for (std::int64_t k = 0; k < s.width; ++k)
            sum[k] *= scale;
        if (s.diagonal) {
            const T diagonal = s.diagonal[i];
            const T *__restrict own = s.X + i * s.width;
            for (std::int64_t k = 0; k < s.width; ++k)
                sum[k] += diagonal * own[k];
        }
        if (s.rest) {
            const T *__restrict rest = s.rest + i * s.width;
            for (std::int64_t k = 0; k < s.width; ++k)
                sum[k] += rest[k];
        }
    }
}

template <class T> using Rows = void (*)(const Csr<T> &, const Step<T> &, std::int64_t, std::int64_t);

template <class T> Rows<T> rows_for(std::int64_t width) {
    static constexpr Rows<T> kept[] = {rows_kept<T, 1>, rows_kept<T, 2>, rows_kept<T, 3>, rows_kept<T, 4>,
                                       rows_kept<T, 5>, rows_kept<T, 6>, rows_kept<T, 7>, rows_kept<T, 8>};
    return width <= MOST_KEPT ? kept[(width - 1) / 8] : rows_wide<T>;
}

template <class T> void run(const Csr<T> &A, const Step<T> &s, int n_threads) {
    const Rows<T> rows = rows_for<T>(s.width);
    const std::int64_t n_chunks = (A.n_rows + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk)
        rows(A, s, chunk * CHUNK, std::min(A.n_rows, (chunk + 1) * CHUNK));
}

} // namespace

namespace LEVEL {
void step(const Csr<float> &A, const Step<float> &s, int n_threads) { run(A, s, n_threads); }
void step(const Csr<double> &A, const Step<double> &s, int n_threads) { run(A, s, n_threads); }
} // namespace LEVEL
