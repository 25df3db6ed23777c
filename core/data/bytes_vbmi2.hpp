// Bytes of text in one register of AVX-512, as the parsers of svmlight and VW text use it.
#pragma once

#include <cstdint>

#include "avx512.hpp"

#if CONFIDENTLY_X86
namespace confidently {

// 0, 1, ... 63
CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m512i byte_numbers() {
    return _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
                            0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
}

// The bytes that are kept, in order, in the places of fields.
CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m512i in_fields(__m512i bytes, std::uint64_t keep, std::uint64_t fields) {
    return _mm512_maskz_expand_epi8(_cvtu64_mask64(fields), _mm512_maskz_compress_epi8(_cvtu64_mask64(keep), bytes));
}

// The integers of the digits in fields of 8 bytes.
CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m256i integers_of(__m512i spread) {
    const __m512i fours =
        _mm512_madd_epi16(_mm512_maddubs_epi16(spread, _mm512_set1_epi16(0x010a)), _mm512_set1_epi32(0x00010064));
    return _mm256_madd_epi16(_mm512_cvtepi32_epi16(fours), _mm256_set1_epi32(0x00012710));
}

// The digits that are kept, in fields of 8 bytes: an integer each.
CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m256i integers_of_fields(__m512i digits, std::uint64_t keep,
                                                                std::uint64_t fields) {
    return integers_of(in_fields(digits, keep, fields));
}

}  // namespace confidently
#endif
