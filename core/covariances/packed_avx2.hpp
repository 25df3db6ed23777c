// PackedDiagonal with AVX2, in double precision: the same numbers to the last bit, four features at a time.
//
// A feature is a pair (mean, variance) of 16 bytes. The pairs of features 0 and 2 are loaded into one register, those
// of 1 and 3 into another. For a score, each register is multiplied by the pairs (x, x^2) of its features and added to
// a sum of its own: its halves are lanes 0 and 2, or 1 and 3, of the sums that PackedDiagonal keeps, and they are added
// up in the same order. For an update, unpacking the two registers gives four means and four variances, for each of
// which the operations are those of PackedDiagonal in the same order, none of them fused; packing gives the pairs back.
// The features that are left over, and the intercept, go through the same operations two at a time, the second of which
// may be none.
//
// Single precision, other tasks than two classes and other storage of the variances take the paths without AVX2.
#pragma once

#include "covariances/packed.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

template <bool moments>
struct PackedDiagonalAvx2 {
    static constexpr bool one_column = true, avx2 = true;

    Weights<double> weights;
    double floor;

    CONFIDENTLY_AVX2 Margin score(const Row& row, Pair p) const {
        __m256d even = _mm256_setzero_pd(), odd = _mm256_setzero_pd();  // lanes 0 and 2, 1 and 3
        const double* const first = first_feature();
        std::int32_t i = 0;
        for (; i + 4 <= row.size; i += 4) {
            const std::int32_t* c = row.column + i;
            const __m256d x = _mm256_loadu_pd(row.value + i), xx = _mm256_mul_pd(x, x);
            const __m256d f = two(at(first, c[0]), at(first, c[2])), g = two(at(first, c[1]), at(first, c[3]));
            even = _mm256_add_pd(even, _mm256_mul_pd(_mm256_unpacklo_pd(x, xx), f));
            odd = _mm256_add_pd(odd, _mm256_mul_pd(_mm256_unpackhi_pd(x, xx), g));
        }
        __m128d lane0 = _mm256_castpd256_pd128(even), lane1 = _mm256_castpd256_pd128(odd);
        for (; i < row.size; ++i) lane0 = _mm_add_pd(lane0, term(at(first, row.column[i]), row.value[i]));
        if (row.intercept) lane1 = _mm_add_pd(lane1, term(at(first, kIntercept), 1.0));
        const __m128d others = _mm_add_pd(_mm256_extractf128_pd(even, 1), _mm256_extractf128_pd(odd, 1));
        const __m128d total = _mm_add_pd(_mm_add_pd(lane0, lane1), others);
        return {p.sign() * _mm_cvtsd_f64(total), _mm_cvtsd_f64(_mm_unpackhi_pd(total, total))};
    }

    double variance(const Row& row, Pair p) const { return score(row, p).variance; }

    CONFIDENTLY_AVX2 double update(const Row& row, Pair p, const Margin& margin, const Step& step, double) const {
        const Change change(p.sign() * step.alpha, step.zeta, margin.variance, floor);
        __m256d largest = _mm256_setzero_pd();
        double* const first = first_feature();
        std::int32_t i = 0;
        for (; i + 4 <= row.size; i += 4) {
            const std::int32_t* c = row.column + i;
            four(at(first, c[0]), at(first, c[1]), at(first, c[2]), at(first, c[3]), _mm256_loadu_pd(row.value + i),
                 change, largest);
        }
        // the intercept, and what is left over: at most four features; in place of those that are missing, none
        double none[4][2] = {{0.0, 1.0}, {0.0, 1.0}, {0.0, 1.0}, {0.0, 1.0}};
        const std::int32_t *c = row.column + i, left = row.size - i;
        const double* x = row.value + i;
        if (left || row.intercept)
            four(row.intercept ? at(first, kIntercept) : none[0], left > 0 ? at(first, c[0]) : none[1],
                 left > 1 ? at(first, c[1]) : none[2], left > 2 ? at(first, c[2]) : none[3],
                 _mm256_setr_pd(row.intercept ? 1.0 : 0.0, left > 0 ? x[0] : 0.0, left > 1 ? x[1] : 0.0,
                                left > 2 ? x[2] : 0.0),
                 change, largest);
        const __m128d half = _mm_max_pd(_mm256_castpd256_pd128(largest), _mm256_extractf128_pd(largest, 1));
        return std::max(_mm_cvtsd_f64(half), _mm_cvtsd_f64(_mm_unpackhi_pd(half, half)));
    }

  private:
    // The numbers of an update that all features share.
    struct Change {
        __m256d alpha, zeta, inverse, v, whole, floor;

        CONFIDENTLY_AVX2 Change(double a, double z, double variance, double least)
            : alpha(_mm256_set1_pd(a)), zeta(_mm256_set1_pd(z)), v(_mm256_set1_pd(variance)),
              floor(_mm256_set1_pd(least)) {
            const double reciprocal = 1.0 / std::max(z, PackedDiagonal<double, moments>::kLeastGain);
            inverse = _mm256_set1_pd(reciprocal);
            whole = _mm256_set1_pd(reciprocal + variance);
        }
    };

    double* first_feature() const { return weights.base + 2 * weights.position(0); }

    // first: the first feature; the position of the intercept is -1
    template <class Number>
    static Number* at(Number* first, std::int32_t column) {
        return first + 2 * static_cast<std::int64_t>(column);
    }

    CONFIDENTLY_AVX2 static __m256d two(const double* f, const double* g) {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(f)), _mm_loadu_pd(g), 1);
    }

    CONFIDENTLY_AVX2 static __m128d term(const double* f, double x) {
        return _mm_mul_pd(_mm_setr_pd(x, x * x), _mm_loadu_pd(f));
    }

    CONFIDENTLY_AVX2 static void four(double* f0, double* f1, double* f2, double* f3, __m256d x, const Change& change,
                                      __m256d& largest) {
        const __m256d even = two(f0, f2), odd = two(f1, f3);
        __m256d mean = _mm256_unpacklo_pd(even, odd), s = _mm256_unpackhi_pd(even, odd);
        mean = _mm256_add_pd(mean, _mm256_mul_pd(_mm256_mul_pd(change.alpha, x), s));
        if constexpr (moments) {
            const __m256d rest = _mm256_sub_pd(change.v, _mm256_mul_pd(_mm256_mul_pd(x, x), s));
            s = _mm256_mul_pd(s, _mm256_div_pd(_mm256_add_pd(change.inverse, rest), change.whole));
        } else {
            const __m256d gained = _mm256_mul_pd(_mm256_mul_pd(_mm256_mul_pd(change.zeta, x), x), s);
            s = _mm256_div_pd(s, _mm256_add_pd(_mm256_set1_pd(1.0), gained));
        }
        s = _mm256_max_pd(change.floor, s);
        // the order of the operands is that of std::max where a number is NaN
        largest = _mm256_max_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), mean), largest);
        const __m256d low = _mm256_unpacklo_pd(mean, s), high = _mm256_unpackhi_pd(mean, s);
        _mm_storeu_pd(f0, _mm256_castpd256_pd128(low));
        _mm_storeu_pd(f1, _mm256_castpd256_pd128(high));
        _mm_storeu_pd(f2, _mm256_extractf128_pd(low, 1));
        _mm_storeu_pd(f3, _mm256_extractf128_pd(high, 1));
    }
};

}  // namespace confidently

#endif
