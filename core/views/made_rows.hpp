// The rows that a view makes, in compressed sparse row form, with ascending columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "processor.hpp"
#include "row_order.hpp"
#include "rows.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>
#endif

namespace confidently {

// The L2 norm, also where squares would overflow or underflow.
inline double norm(const double* x, std::size_t n) {
    double parts[4] = {};  // added up side by side
    for (std::size_t i = 0; i < n; ++i) parts[i % 4] += x[i] * x[i];
    double sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    if (sum > 1e-200 && sum < 1e200) return std::sqrt(sum);
    double largest = 0.0;
    sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
    if (largest == 0.0) return 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += (x[i] / largest) * (x[i] / largest);
    return largest * std::sqrt(sum);
}

class MadeRows {
  public:
    std::vector<double> value;
    std::vector<std::int32_t> column;
    std::vector<std::int64_t> start{0};

    // Makes room for so many values of so many rows, of which there may be more.
    void reserve(std::size_t values, std::size_t rows) {
        value.reserve(values);
        column.reserve(values);
        start.reserve(rows + 1);
    }

    CONFIDENTLY_INLINE void add(std::int32_t j, double x) {
        if (x != 0.0) put(j, x);
    }

    // The same, also of a 0, for views that tell it from an absent value.
    CONFIDENTLY_INLINE void put(std::int32_t j, double x) {
        column.push_back(j);
        value.push_back(x);
    }

#if CONFIDENTLY_X86
    // The same for the columns from j to j + 3.
    CONFIDENTLY_AVX2 CONFIDENTLY_INLINE void add_four(std::int32_t j, __m256d x) {
        const std::size_t size = value.size();
        value.resize(size + 4);
        column.resize(size + 4);
        _mm256_storeu_pd(value.data() + size, x);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(column.data() + size),
                         _mm_add_epi32(_mm_set1_epi32(j), _mm_setr_epi32(0, 1, 2, 3)));
        if (_mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ))) [[unlikely]]
            drop_zeros(size);
    }
#endif

    // Sorts the columns of a row that has not ended.
    void sort_row() {
        const auto first = static_cast<std::size_t>(start.back());
        if (std::is_sorted(column.begin() + static_cast<std::ptrdiff_t>(first), column.end())) return;
        const auto n = static_cast<std::int64_t>(column.size() - first);
        order_.sort_and_sum(column.data() + first, value.data() + first, n);
    }

    void end_row() { start.push_back(static_cast<std::int64_t>(value.size())); }

    // Ends a row, which is scaled to unit L2 norm unless it is empty; `left_out` is the sum of squares of values that
    // belong to the row but have no column.
    void end_row_of_unit_norm(double left_out = 0.0) {
        const auto first = static_cast<std::size_t>(start.back());
        double length = norm(value.data() + first, value.size() - first);
        if (left_out > 0.0) length = std::hypot(length, std::sqrt(left_out));
        const double scale = 1.0 / length;
        if (std::isfinite(scale))
            for (std::size_t i = first; i < value.size(); ++i) value[i] *= scale;
        else
            for (std::size_t i = first; i < value.size(); ++i) value[i] /= length;
        end_row();
    }

  private:
    // Removes entries that are 0, from this one on.
    CONFIDENTLY_SELDOM void drop_zeros(std::size_t first) {
        std::size_t size = first;
        for (std::size_t i = first; i < value.size(); ++i) {
            column[size] = column[i];
            value[size] = value[i];
            size += value[i] != 0.0;
        }
        column.resize(size);
        value.resize(size);
    }

    RowOrder order_;
};

}  // namespace confidently
