// The view "standard" on four neighboring columns at a time, with AVX2: the same numbers, to the last bit, as one
// column after the other.
//
// A value takes a square root and three divisions, which the processor computes for four columns in little more than
// the time of one. The operations on a column are those of Standard, in the same order. Results without a meaning
// (there was no value so far, or no deviation) are replaced by those of the exceptions in Standard.
//
// Standard itself handles columns that are not neighbors and columns that stay as they are.
#pragma once

#include <cstdint>

#include "processor.hpp"
#include "views/statistics.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

// Whether each of four columns is the one behind that before it.
CONFIDENTLY_AVX2 inline bool are_neighbors(const std::int32_t* columns) {
    const __m128i wanted = _mm_add_epi32(_mm_set1_epi32(*columns), _mm_setr_epi32(0, 1, 2, 3));
    return _mm_movemask_epi8(_mm_cmpeq_epi32(wanted, _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)))) ==
           0xffff;
}

struct FourStandard {
    const Statistics &count, &mean, &squares;
    double largest;  // absolute value of a standardized value

    // The four values of the columns from j on, standardized; then, if it learns, they are counted in with the weight
    // w.
    template <bool learns>
    CONFIDENTLY_AVX2 CONFIDENTLY_INLINE __m256d operator()(std::int32_t j, __m256d x, double w) const {
        const __m256d none = _mm256_setzero_pd(), one = _mm256_set1_pd(1.0);
        const __m256d n = _mm256_loadu_pd(count.at + j), m = _mm256_loadu_pd(mean.at + j),
                      s = _mm256_loadu_pd(squares.at + j);
        const __m256d d = _mm256_sub_pd(x, m), deviation = _mm256_sqrt_pd(_mm256_div_pd(s, n)),
                      most = _mm256_set1_pd(largest);
        __m256d z = _mm256_div_pd(d, deviation);
        z = _mm256_min_pd(most, _mm256_max_pd(_mm256_sub_pd(none, most), z));
        const __m256d sign = _mm256_blendv_pd(_mm256_set1_pd(-1.0), one, _mm256_cmp_pd(d, none, _CMP_GT_OQ));
        z = _mm256_blendv_pd(z, sign, _mm256_cmp_pd(deviation, none, _CMP_EQ_OQ));
        z = _mm256_andnot_pd(_mm256_or_pd(_mm256_cmp_pd(n, none, _CMP_EQ_OQ), _mm256_cmp_pd(d, none, _CMP_EQ_OQ)), z);
        if constexpr (learns) {
            const __m256d weight = _mm256_set1_pd(w), more = _mm256_add_pd(n, weight);
            const __m256d moved = _mm256_add_pd(m, _mm256_mul_pd(_mm256_div_pd(weight, more), d));
            const __m256d rest = _mm256_mul_pd(_mm256_mul_pd(weight, d), _mm256_sub_pd(x, moved));
            for (const Statistics* each : {&count, &mean, &squares}) each->note(j, 4);
            _mm256_storeu_pd(count.at + j, more);
            _mm256_storeu_pd(mean.at + j, moved);
            _mm256_storeu_pd(squares.at + j, _mm256_add_pd(s, rest));
        }
        return z;
    }
};

}  // namespace confidently

#endif
