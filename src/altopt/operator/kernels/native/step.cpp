// One pass over a sparse matrix: a row's sums stay in registers while its neighbours stream past.
#include "step.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "chunks.hpp"

namespace {

constexpr std::int64_t PREFETCH_DISTANCE = 64;         // edges between asking for a row and using it
constexpr std::int64_t CHUNK_ENTRIES = 8192;           // edges and rows a thread takes at a time, about
constexpr std::int64_t STREAM_MIN_BYTES = 1 << 22;     // bytes of a result that would push its own input out of the caches

// columns that fit in registers; wider rows are worked on panel by panel
template <class T> constexpr std::int64_t PANEL_COLUMNS = sizeof(T) == 8 ? 32 : 64;

// numbers in one register: sums in a type wider than that would go through memory with every edge
#if defined(__AVX__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif
template <class T> constexpr int LANES = sizeof(T) == sizeof(computed<T>) ? REGISTER_BYTES / int(sizeof(T)) : 8;
template <class T> struct lanes {
    typedef computed<T> type __attribute__((vector_size(LANES<T> * sizeof(computed<T>))));
};
template <class T> using Lanes = typename lanes<T>::type;

template <class T> inline Lanes<T> load_lanes(const T *stored) {
    if constexpr (LANES<T> == 8) {
        return load8(stored);
    } else {
        Lanes<T> x;
        std::memcpy(&x, stored, sizeof(x));
        return x;
    }
}

template <class T, int BLOCKS> struct Sums {
    static constexpr std::int64_t whole = BLOCKS * 8;
    static constexpr int PER_BLOCK = 8 / LANES<T>, PARTS = BLOCKS * PER_BLOCK;
    Lanes<T> value[PARTS] = {};

    inline void add(const T *row) {
        for (int p = 0; p < PARTS; ++p)
            value[p] += load_lanes(row + p * LANES<T>);
    }
    inline void add(computed<T> factor, const T *row) {
        for (int p = 0; p < PARTS; ++p)
            value[p] += factor * load_lanes(row + p * LANES<T>);
    }
    inline void times(computed<T> factor) {
        for (int p = 0; p < PARTS; ++p)
            value[p] *= factor;
    }
    inline Eight<T> block(int b) const {
        Eight<T> x;
        std::memcpy(&x, value + b * PER_BLOCK, sizeof(x));
        return x;
    }
    // the squares of all columns in eight lanes; `mask` is zero in the columns of the last block that do not count
    inline Eight<double> squares(const Eight<T> &mask) const {
        const Eight<T> last = block(BLOCKS - 1);
        Eight<T> sums = last * last * mask;
        for (int b = 0; b < BLOCKS - 1; ++b)
            sums += block(b) * block(b);
        return __builtin_convertvector(sums, Eight<double>);
    }
};

// a row that nothing readable follows, with zeros behind it
template <class T>
__attribute__((noinline)) const T *alone(const T *row, std::int64_t columns, T *spare, std::int64_t whole) {
    std::fill(std::copy(row, row + columns, spare), spare + whole, T{});
    return spare;
}

// rows from..to of `columns` columns that begin at column `first`; BLOCKS * 8 >= columns > (BLOCKS - 1) * 8.
// WHOLE: rows are just these columns, a multiple of eight, so that their places are known and all may be read
template <class T, int BLOCKS, bool WEIGHTED, bool WHOLE>
double panel(const Csr<T> &A, const Step<T> &s, std::int64_t first, std::int64_t columns, std::int64_t from,
             std::int64_t to, bool stream) {
    using Row = Sums<T, BLOCKS>;
    const std::int64_t stride = WHOLE ? Row::whole : s.width;
    const std::int64_t last_edge = A.indptr[to] - 1; // columns beyond are not checked yet
    // the last position at which a whole row may be read, in X and in blocks of n_rows rows
    const std::int64_t last_of_X = A.n_columns * s.width - Row::whole, last_of_out = A.n_rows * s.width - Row::whole;
    const std::int64_t last_of_own = to * s.width - Row::whole; // another thread writes to `out` beyond these rows
    T spare[Row::whole];
    const auto at = [&](const T *block, std::int64_t place, std::int64_t last) {
        return WHOLE || __builtin_expect(place <= last, 1) ? block + place : alone(block + place, columns, spare, Row::whole);
    };
    Eight<T> mask;
    for (int k = 0; k < 8; ++k)
        mask[k] = (BLOCKS - 1) * 8 + k < columns;
    Eight<double> lanes = {};
    for (std::int64_t i = from; i < to; ++i) {
        Row row;
        for (std::int64_t e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            const T *soon = s.X + std::int64_t(A.indices[std::min(e + PREFETCH_DISTANCE, last_edge)]) * stride + first;
            for (std::int64_t byte = 0; byte < Row::whole * std::int64_t(sizeof(T)); byte += 64)
                __builtin_prefetch(reinterpret_cast<const char *>(soon) + byte, 0, 2); // the innermost cache is too small
            const T *neighbour = at(s.X, std::int64_t(A.indices[e]) * stride + first, last_of_X);
            if constexpr (WEIGHTED)
                row.add(A.weights[e], neighbour);
            else
                row.add(neighbour);
        }
        const std::int64_t place = i * stride + first, own = (s.first + i) * stride + first;
        row.times(s.scale[i]);
        if (s.diagonal)
            row.add(s.diagonal[i], at(s.X, own, last_of_X));
        if (s.rest)
            row.add(at(s.rest, place, last_of_out));
        if (s.norm)
            lanes += double(s.norm[i]) * row.squares(mask);
        if (s.gain != 1)
            row.times(s.gain);
        if (s.keep != 0)
            row.add(s.keep, at(s.X, own, last_of_X));
        if (s.beta != 0)
            row.add(s.beta, at(s.out, place, last_of_own));
        T *out = s.out + place;
        if (stream) {
            for (int b = 0; b < BLOCKS; ++b)
                stream8(row.block(b), out + b * 8);
        } else if (columns == Row::whole) {
            for (int b = 0; b < BLOCKS; ++b)
                store8(row.block(b), out + b * 8);
        } else {
            T whole[Row::whole];
            for (int b = 0; b < BLOCKS; ++b)
                store8(row.block(b), whole + b * 8);
            std::copy(whole, whole + columns, out);
        }
    }
    double total = 0;
    for (int k = 0; k < 8; ++k)
        total += lanes[k];
    return total;
}

template <class T>
using Panel = double (*)(const Csr<T> &, const Step<T> &, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool);

template <class T, bool WEIGHTED, bool WHOLE> Panel<T> panel_of(std::int64_t columns) {
    static constexpr Panel<T> narrow[] = {panel<T, 1, WEIGHTED, WHOLE>, panel<T, 2, WEIGHTED, WHOLE>,
                                          panel<T, 3, WEIGHTED, WHOLE>, panel<T, 4, WEIGHTED, WHOLE>};
    if constexpr (sizeof(T) == 8) {
        return narrow[(columns - 1) / 8];
    } else {
        static constexpr Panel<T> wide[] = {panel<T, 5, WEIGHTED, WHOLE>, panel<T, 6, WEIGHTED, WHOLE>,
                                            panel<T, 7, WEIGHTED, WHOLE>, panel<T, 8, WEIGHTED, WHOLE>};
        const std::int64_t blocks = (columns - 1) / 8;
        return blocks < 4 ? narrow[blocks] : wide[blocks - 4];
    }
}

template <class T> Panel<T> panel_for(bool weighted, std::int64_t columns, std::int64_t width) {
    if (columns == width && width % 8 == 0)
        return weighted ? panel_of<T, true, true>(columns) : panel_of<T, false, true>(columns);
    return weighted ? panel_of<T, true, false>(columns) : panel_of<T, false, false>(columns);
}

// bounds of chunks of rows with about as many entries each, so that no thread waits for a heavy one
std::vector<std::int64_t> chunks_of(const std::int64_t *indptr, std::int64_t n_rows) {
    std::vector<std::int64_t> bounds{0};
    while (bounds.back() < n_rows) {
        const std::int64_t from = bounds.back();
        const std::uint64_t target = std::uint64_t(indptr[from]) + std::uint64_t(from) + CHUNK_ENTRIES;
        std::int64_t low = from + 1, high = std::min(n_rows, from + CHUNK_ENTRIES);
        while (low < high) { // the first row whose end passes the target
            const std::int64_t middle = (low + high) / 2;
            if (std::uint64_t(indptr[middle]) + std::uint64_t(middle) < target)
                low = middle + 1;
            else
                high = middle;
        }
        bounds.push_back(low);
    }
    return bounds;
}

// the rows and columns of a chunk, looked at just before they are used, when that costs next to nothing
template <class T> void require_rows(const Csr<T> &A, std::int64_t from, std::int64_t to) {
    bool fine = A.indptr[from] >= 0 && A.indptr[to] <= A.n_entries;
    for (std::int64_t i = from; i < to; ++i)
        fine &= A.indptr[i] <= A.indptr[i + 1];
    if (!fine)
        throw std::invalid_argument("step: the rows of the matrix do not lie one after another within its entries");
    std::uint32_t last = 0;
    for (std::int64_t e = A.indptr[from]; e < A.indptr[to]; ++e)
        last = std::max(last, std::uint32_t(A.indices[e]));
    if (A.indptr[from] < A.indptr[to] && std::int64_t(last) >= A.n_columns)
        throw std::invalid_argument("step: a column number of the matrix is not a row of X");
}

template <class T> double run(const Csr<T> &A, const Step<T> &s, int n_threads, const Interrupt &interrupt) {
    const auto bounds = chunks_of(A.indptr, A.n_rows);
    const std::int64_t n_chunks = std::int64_t(bounds.size()) - 1;
    const std::int64_t n_panels = (s.width + PANEL_COLUMNS<T> - 1) / PANEL_COLUMNS<T>;
    // panels of even width, in whole blocks of eight
    const std::int64_t even = (s.width + n_panels * 8 - 1) / (n_panels * 8) * 8;
    // a result that carries its old self along is in the caches anyway
    const bool stream = s.width % 8 == 0 && s.beta == 0 && reinterpret_cast<std::uintptr_t>(s.out) % 16 == 0 &&
                        A.n_rows * s.width * std::int64_t(sizeof(T)) > STREAM_MIN_BYTES;
    std::vector<double> totals(n_chunks, 0.0); // added up in order: the same bits on any number of threads
    Chunks(n_chunks, n_threads, interrupt).each([&](std::int64_t chunk, const auto &) {
        require_rows(A, bounds[chunk], bounds[chunk + 1]);
        for (std::int64_t first = 0; first < s.width; first += even) {
            const std::int64_t columns = std::min(even, s.width - first);
            const Panel<T> rows = panel_for<T>(A.weights != nullptr, columns, s.width);
            totals[chunk] += rows(A, s, first, columns, bounds[chunk], bounds[chunk + 1], stream);
        }
    });
    double total = 0;
    for (const double part : totals)
        total += part;
    return total;
}

} // namespace

namespace LEVEL {
#define DEFINE_STEP(T)                                                                                           \
    double step(const Csr<T> &A, const Step<T> &s, int n_threads, const Interrupt &interrupt) {                      \
        return run(A, s, n_threads, interrupt);                                                                  \
    }
FOR_STORED(DEFINE_STEP)
} // namespace LEVEL
