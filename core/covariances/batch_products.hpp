// Chunks of rows for products of matrices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rows.hpp"

namespace confidently {

// Writes rows order[0 .. n-1] (nullptr: from, from + 1, ...) out as n x width numbers, the intercept first. Columns
// beyond the width have zeros only.
template <class Real>
void fill_rows(const Rows& rows, const std::int64_t* order, std::int64_t from, std::int64_t n, bool intercept,
               std::int64_t width, Real* out) {
    RowBuffer buffer;
    std::fill(out, out + n * width, Real(0));
    const bool with_zeros = rows.stores_zeros();
    for (std::int64_t i = 0; i < n; ++i, out += width) {
        const std::int64_t number = order ? order[i] : from + i;
        const Row row = with_zeros ? rows.with_zeros(number, intercept, buffer) : rows.at(number, intercept, buffer);
        row.each([&](std::int32_t j, double x) {
            if (j + intercept < width) out[j + intercept] = static_cast<Real>(x);
        });
    }
}

// Rows with a smaller fraction of nonzero values are multiplied without their zeros, which is assumed to be faster.
inline constexpr double kSparseBelow = 0.03;

// Writes the products of those rows that are sparse, and a matrix of the same width, to out; all are n x width. Whether
// a row is sparse depends on nothing else, so its product does not depend on how rows are cut into calls. Returns the
// number of the others.
template <class Real>
std::int64_t multiply_sparse_rows(const Real* rows, std::int64_t n, std::int64_t d, const Real* s, std::int64_t width,
                                  Real* out) {
    std::int64_t others = 0;
    for (std::int64_t i = 0; i < n; ++i, rows += d, out += width) {
        if (!(double(d - std::count(rows, rows + d, Real(0))) < kSparseBelow * double(d))) {
            ++others;
            continue;
        }
        std::fill(out, out + width, Real(0));
        for (std::int64_t j = 0; j < d; ++j) {
            const Real x = rows[j];
            if (x == Real(0)) continue;
            const Real* by = s + j * width;
            for (std::int64_t k = 0; k < width; ++k) out[k] += x * by[k];
        }
    }
    return others;
}

// Returns the first of the positions first .. last - 1 in an order (nullptr: of the rows themselves) whose row has a
// value other than 0 in a column from `width` on, or last; wider: the number of columns up to the last such one of that
// row.
inline std::int64_t first_wider(const Rows& rows, const std::int64_t* order, std::int64_t first, std::int64_t last,
                                std::int64_t width, std::int64_t& wider) {
    RowBuffer buffer;
    for (std::int64_t at = first; at < last; ++at) {
        wider = width;
        rows.at(order ? order[at] : at, false, buffer).each([&](std::int32_t j, double x) {
            if (x != 0.0) wider = std::max(wider, std::int64_t(j) + 1);
        });
        if (wider > width) return at;
    }
    return last;
}

}  // namespace confidently
