// The non-zero values of a dense row with AVX-512, sixteen at a time.
//
// A comparison with zero gives a bit for each value. Compressing moves the values and columns of the set bits to the
// front of a register, which is stored as a whole, and the next ones begin after those that were meant; so there must
// be room for fifteen numbers more than a row has. (Instructions that compress into memory write nothing else, but take
// far longer on some processors.) Sixteen zeros in a row, as in pictures, are skipped: this is the only branch. At the
// end of a row, lanes beyond it are not loaded and count as zeros.
#pragma once

#include <bit>
#include <cstdint>

#include "avx512.hpp"

#if CONFIDENTLY_X86
namespace confidently::loops {

CONFIDENTLY_VBMI2 inline __m512d eight(const double* x, unsigned lanes) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), x);
}
CONFIDENTLY_VBMI2 inline __m512d eight(const float* x, unsigned lanes) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(static_cast<__mmask8>(lanes), x));
}

CONFIDENTLY_VBMI2 inline __mmask8 not_zero(__m512d values) {
    return _mm512_cmp_pd_mask(values, _mm512_setzero_pd(), _CMP_NEQ_UQ);
}

template <class Value>
CONFIDENTLY_VBMI2 std::int32_t nonzeros_vbmi2(const Value* x, std::int64_t n, std::int32_t* column, double* value) {
    std::int32_t m = 0;
    __m512i columns = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (std::int64_t j = 0; j < n; j += 16, columns = _mm512_add_epi32(columns, _mm512_set1_epi32(16))) {
        const unsigned lanes = n - j < 16 ? (1u << (n - j)) - 1 : 0xffff;
        const __m512d low = eight(x + j, lanes), high = eight(x + j + 8, lanes >> 8);
        const unsigned first = not_zero(low), second = not_zero(high), all = first | second << 8;
        if (all == 0) continue;
        _mm512_storeu_pd(value + m, _mm512_maskz_compress_pd(static_cast<__mmask8>(first), low));
        _mm512_storeu_pd(value + m + std::popcount(first),
                         _mm512_maskz_compress_pd(static_cast<__mmask8>(second), high));
        _mm512_storeu_si512(column + m, _mm512_maskz_compress_epi32(static_cast<__mmask16>(all), columns));
        m += std::popcount(all);
    }
    return m;
}

}  // namespace confidently::loops

#endif
