// Scores of a row in all columns of weights: for every column, the sum of value times weight over the features, in
// their order.
//
// Columns are taken in groups whose sums stay in registers. A group is several vectors of four columns, and up to three
// single ones: the sums of a vector do not depend on one another, so that its operations are those of four sums. The
// same source is compiled for any processor, which makes two operations of a vector of four, and for AVX2.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "processor.hpp"
#include "rows.hpp"

namespace confidently {

template <class Real>
struct ColumnSums {
    const Real* base;     // of the weights
    std::int64_t first;   // position of the feature 0
    std::int64_t stride;  // from one feature to the next
    int offset;           // of the plane within a feature

    void operator()(const Row& row, int columns, double* out) const {
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return sums_avx2(row, columns, out);
#endif
        sums(row, columns, out);
    }

    // The scores of four rows in one column, whose sums do not wait for one another.
    void of_four_rows(const Row* rows, double* out) const {
        const std::int32_t common = std::min({rows[0].size, rows[1].size, rows[2].size, rows[3].size});
        double sum[4] = {};
        for (std::int32_t i = 0; i < common; ++i)
            for (int r = 0; r < 4; ++r) sum[r] += rows[r].value[i] * double(*at(rows[r].column[i]));
        for (int r = 0; r < 4; ++r) {
            for (std::int32_t i = common; i < rows[r].size; ++i)
                sum[r] += rows[r].value[i] * double(*at(rows[r].column[i]));
            out[r] = rows[r].intercept ? sum[r] + double(*at(kIntercept)) : sum[r];
        }
    }

    // The scores of four rows with the same columns, for which weights are read once.
    void of_four_alike(const Row* rows, int columns, double* out) const {
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return alike_avx2(rows, columns, out);
#endif
        alike(rows, columns, out);
    }

  private:
    using Four = double __attribute__((vector_size(32)));

    const Real* at(std::int32_t column) const { return base + (first + column) * stride + offset; }

#if CONFIDENTLY_X86
    CONFIDENTLY_AVX2 void sums_avx2(const Row& row, int columns, double* out) const { sums(row, columns, out); }
#endif

#if CONFIDENTLY_X86
    CONFIDENTLY_AVX2 void alike_avx2(const Row* rows, int columns, double* out) const { alike(rows, columns, out); }
#endif

    CONFIDENTLY_INLINE void alike(const Row* rows, int columns, double* out) const {
        int k = 0;
        for (; k + 8 <= columns; k += 8) group_of_four<2, 0>(rows, k, columns, out);
        for (; k + 4 <= columns; k += 4) group_of_four<1, 0>(rows, k, columns, out);
        for (; k + 2 <= columns; k += 2) group_of_four<0, 2>(rows, k, columns, out);
        if (k < columns) group_of_four<0, 1>(rows, k, columns, out);
    }

    template <int fours, int ones>
    CONFIDENTLY_INLINE void group_of_four(const Row* rows, int k, int columns, double* out) const {
        Four four[4][fours + 1] = {};
        double one[4][ones + 1] = {};
        const auto add = [&](const Real* f, int r, double x) CONFIDENTLY_INLINED {
            for (int v = 0; v < fours; ++v) four[r][v] += x * four_of(f + 4 * v);
            for (int c = 0; c < ones; ++c) one[r][c] += x * double(f[4 * fours + c]);
        };
        for (std::int32_t i = 0; i < rows[0].size; ++i) {
            const Real* f = at(rows[0].column[i]) + k;
            add(f, 0, rows[0].value[i]);
            add(f, 1, rows[1].value[i]);
            add(f, 2, rows[2].value[i]);
            add(f, 3, rows[3].value[i]);
        }
        for (int r = 0; r < 4; ++r) {
            if (rows[r].intercept) add(at(kIntercept) + k, r, 1.0);
            std::memcpy(out + r * columns + k, four[r], fours * sizeof(Four));
            std::memcpy(out + r * columns + k + 4 * fours, one[r], ones * sizeof(double));
        }
    }

    CONFIDENTLY_INLINE static Four four_of(const Real* f) {
        if constexpr (sizeof(Real) == sizeof(double)) {
            Four found;
            std::memcpy(&found, f, sizeof found);
            return found;
        } else {
            return Four{double(f[0]), double(f[1]), double(f[2]), double(f[3])};
        }
    }

    static constexpr int kFours = 6;  // vectors whose sums fit in registers

    CONFIDENTLY_INLINE void sums(const Row& row, int columns, double* out) const {
        int k = 0;
        for (; columns - k >= 4 * (kFours + 1); k += 4 * kFours) group<kFours, 0>(row, k, out);
        if (k < columns) rest<kFours>(row, k, columns - k, out);
    }

    // The last n columns, fewer than 4 (fours + 1).
    template <int fours>
    CONFIDENTLY_INLINE void rest(const Row& row, int k, int n, double* out) const {
        if constexpr (fours > 0)
            if (n < 4 * fours) return rest<fours - 1>(row, k, n, out);
        switch (n - 4 * fours) {
            case 0: return group<fours, 0>(row, k, out);
            case 1: return group<fours, 1>(row, k, out);
            case 2: return group<fours, 2>(row, k, out);
            default: return group<fours, 3>(row, k, out);
        }
    }

    template <int fours, int ones>
    CONFIDENTLY_INLINE void group(const Row& row, int k, double* out) const {
        Four four[fours + 1] = {};
        double one[ones + 1] = {};
        row.each([&](std::int32_t j, double x) CONFIDENTLY_INLINED {
            const Real* f = at(j) + k;
            for (int v = 0; v < fours; ++v) four[v] += x * four_of(f + 4 * v);
            for (int c = 0; c < ones; ++c) one[c] += x * double(f[4 * fours + c]);
        });
        std::memcpy(out + k, four, fours * sizeof(Four));
        std::memcpy(out + k + 4 * fours, one, ones * sizeof(double));
    }
};

}  // namespace confidently
