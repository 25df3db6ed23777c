// Scores of rows and their variances together, where a feature is a pair (mean, variance), with AVX2: the same numbers
// to the last bit as those of ColumnSums and PackedDiagonal, for which every pair is read twice.
//
// Four features at a time, as in packed_avx2.hpp: the pairs of features 0 and 2 in one register, those of 1 and 3 in
// another, times the pairs (x, x^2). The second halves of the products go to the four sums of a variance. The first
// halves go to the score one after the other, in the order of the features. So an addition waits for the one before,
// and two rows are taken together.
//
// Single precision, averaged weights and other processors take the two passes.
#pragma once

#include "covariances/weights.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

class PairScores {
  public:
    // weights: of one column, with its variances and nothing else
    explicit PairScores(const Weights<double>& weights) : first_(weights.base + 2 * weights.position(0)) {}

    CONFIDENTLY_AVX2 void of_two(const Row* rows, double* scores, double* variances) const {
        Sums one, other;
        const std::int32_t common = std::min(rows[0].size, rows[1].size);
        std::int32_t i = 0;
        for (; i + 4 <= common; i += 4) {
            add_four(rows[0], i, one);
            add_four(rows[1], i, other);
        }
        finish(rows[0], i, one, scores, variances);
        finish(rows[1], i, other, scores + 1, variances + 1);
    }

  private:
    struct Sums {
        __m256d even, odd;
        __m128d score;

        CONFIDENTLY_AVX2 Sums() : even(_mm256_setzero_pd()), odd(_mm256_setzero_pd()), score(_mm_setzero_pd()) {}
    };

    const double* at(std::int32_t column) const { return first_ + 2 * static_cast<std::int64_t>(column); }

    CONFIDENTLY_AVX2 __m256d two(std::int32_t one, std::int32_t other) const {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(at(one))), _mm_loadu_pd(at(other)), 1);
    }

    CONFIDENTLY_AVX2 void add_four(const Row& row, std::int32_t i, Sums& sums) const {
        const std::int32_t* c = row.column + i;
        const __m256d x = _mm256_loadu_pd(row.value + i), xx = _mm256_mul_pd(x, x);
        const __m256d even = _mm256_mul_pd(_mm256_unpacklo_pd(x, xx), two(c[0], c[2]));
        const __m256d odd = _mm256_mul_pd(_mm256_unpackhi_pd(x, xx), two(c[1], c[3]));
        sums.even = _mm256_add_pd(sums.even, even);
        sums.odd = _mm256_add_pd(sums.odd, odd);
        sums.score = _mm_add_sd(sums.score, _mm256_castpd256_pd128(even));
        sums.score = _mm_add_sd(sums.score, _mm256_castpd256_pd128(odd));
        sums.score = _mm_add_sd(sums.score, _mm256_extractf128_pd(even, 1));
        sums.score = _mm_add_sd(sums.score, _mm256_extractf128_pd(odd, 1));
    }

    // From the feature i on.
    CONFIDENTLY_AVX2 void finish(const Row& row, std::int32_t i, Sums& sums, double* score, double* variance) const {
        for (; i + 4 <= row.size; i += 4) add_four(row, i, sums);
        __m128d lane0 = _mm256_castpd256_pd128(sums.even), lane1 = _mm256_castpd256_pd128(sums.odd);
        for (; i < row.size; ++i) {
            const double x = row.value[i];
            const __m128d term = _mm_mul_pd(_mm_setr_pd(x, x * x), _mm_loadu_pd(at(row.column[i])));
            lane0 = _mm_add_pd(lane0, term);
            sums.score = _mm_add_sd(sums.score, term);
        }
        if (row.intercept) {
            const __m128d term = _mm_loadu_pd(at(kIntercept));
            lane1 = _mm_add_pd(lane1, term);
            sums.score = _mm_add_sd(sums.score, term);
        }
        const __m128d others = _mm_add_pd(_mm256_extractf128_pd(sums.even, 1), _mm256_extractf128_pd(sums.odd, 1));
        const __m128d total = _mm_add_pd(_mm_add_pd(lane0, lane1), others);
        *score = _mm_cvtsd_f64(sums.score);
        *variance = _mm_cvtsd_f64(_mm_unpackhi_pd(total, total));
    }

    const double* first_;
};

}  // namespace confidently

#endif
