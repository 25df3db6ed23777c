// Chunks of rows for products of matrices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rows.hpp"

namespace confidently {

// Writes rows order[0 .. n-1] (nullptr: from, from + 1, ...) out as n x width numbers, the intercept first.
template <class Real>
void fill_rows(const Rows& rows, const std::int64_t* order, std::int64_t from, std::int64_t n, bool intercept,
               std::int64_t width, Real* out) {
    RowBuffer buffer;
    std::fill(out, out + n * width, Real(0));
    const bool with_zeros = rows.stores_zeros();
    for (std::int64_t i = 0; i < n; ++i, out += width) {
        const std::int64_t number = order ? order[i] : from + i;
        const Row row = with_zeros ? rows.with_zeros(number, intercept, buffer) : rows.at(number, intercept, buffer);
        row.each([&](std::int32_t j, double x) { out[j + intercept] = static_cast<Real>(x); });
    }
}

// (rows) S without writing the rows out, as n x width numbers. S has one row of width numbers per feature.
template <class Real>
void multiply_rows(const Rows& rows, const std::int64_t* order, std::int64_t from, std::int64_t n, bool intercept,
                   const Real* s, std::int64_t width, Real* out) {
    RowBuffer buffer;
    std::fill(out, out + n * width, Real(0));
    for (std::int64_t i = 0; i < n; ++i, out += width)
        rows.at(order ? order[i] : from + i, intercept, buffer).each([&](std::int32_t j, double x) {
            const Real* from_s = s + (j + intercept) * width;
            const Real value = static_cast<Real>(x);
            for (std::int64_t k = 0; k < width; ++k) out[k] += value * from_s[k];
        });
}

}  // namespace confidently
