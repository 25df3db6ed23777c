// The entries of a line of svmlight text, with AVX-512 VBMI2: up to four features, index:value, in one register of 64 bytes.
//
//   1. Comparisons give a mask of the digits, and masks of ':', of what is not above ' ', of '.' and of '-'. All that follows is
//      found from these masks: the sizes of the eight numbers, the digits behind each point, the signs, and whether anything is
//      not as it should be.
//   2. The digits are squeezed together, and spread again over eight fields of 8 bytes, each right-aligned.
//   3. Pairs of digits become integers, all eight at once, and the values are divided by their powers of ten, which is exact.
//
// What cannot be read this way (more than 8 digits, without a 0 before the point, exponent, plus sign, a feature that does not fit the register) is read by the
// plain parser, one feature at a time. What that does not take as a feature, and any white space but one ' ' between features,
// ends the work on the line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "data/svmlight_features.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC's own headers read such a variable, on purpose
#endif
#include <immintrin.h>

namespace confidently {

class SvmlightVbmi2 {
  public:
    static constexpr std::ptrdiff_t kBehind = 64;  // bytes behind the last one that may be read

    // last: from there on, no more than kBehind bytes are readable
    void begin_text(const char* last) { last_ = last; }

    // Reads the features from p to the end of the line; returns the end, or nullptr if there is something else.
    CONFIDENTLY_VBMI2 const char* features(const char* p, const SvmlightFeatures& plain, SvmlightEntries& out) {
        for (int alone = 0;;) {
            if (p > last_ || alone > 0) {
                if (*p == '#') return p;
                if (!plain.one(p, out)) return nullptr;
                alone -= alone > 0;
            } else if (!four(p, plain, out)) {
                // after one feature of another form, others are likely
                alone = pause_ = std::min(2 * pause_ + 1, kLongestPause);
                continue;
            } else {
                pause_ = 0;
            }
            if (const SvmlightEnd end = SvmlightFeatures::end_at(p); end == SvmlightEnd::feature) [[likely]] ++p;
            else return end == SvmlightEnd::line ? p : nullptr;
        }
    }

  private:
    static constexpr int kLongestPause = 31;

    // Reads up to four features from p on, no further than to the end of the line, and moves p behind them. Returns whether there is any.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static bool four(const char*& p, const SvmlightFeatures& plain, SvmlightEntries& out) {
        const __m512i text = _mm512_loadu_si512(p), digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
        const std::uint64_t is_digit = _cvtmask64_u64(_mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)));
        const std::uint64_t colon = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(':')));
        const std::uint64_t end = _cvtmask64_u64(_mm512_cmple_epu8_mask(text, _mm512_set1_epi8(' ')));
        const std::uint64_t space = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(' ')));
        const std::uint64_t point = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('.')));
        const std::uint64_t minus = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('-')));
        const std::uint64_t both = colon | end;

        // adding to the first digit behind a point carries to what follows the digits
        const std::uint64_t behind_fraction = ((point << 1) + is_digit) & ~is_digit;
        const std::uint64_t wrong = ~(is_digit | both | point | minus) | (minus & ~(colon << 1)) | (behind_fraction & ~end);
        const std::uint64_t last_of_line = end & (~space | end >> 1);  // the end of a feature that no other follows

        // the 0 before the point of a fraction says nothing
        const std::uint64_t zero = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('0')));
        const std::uint64_t silent = zero & (colon << 1 | minus << 1) & point >> 1;

        // the ends of all eight numbers, each a byte, and their sizes in digits
        const __m128i places = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(both), iota()));
        const __m128i one = _mm_set1_epi8(1), before = _mm_or_si128(_mm_slli_epi64(places, 8), _mm_set_epi64x(0, 0xff));
        const auto has_point = static_cast<__mmask16>(_pext_u64(behind_fraction, both) & 0xaa);
        const auto has_silent = static_cast<__mmask16>(_pext_u64((silent >> 1 | silent >> 2) & colon, both) << 1 & 0xaa);
        const auto has_minus = static_cast<__mmask16>(_pext_u64(minus >> 1, both) << 1 & 0xaa);
        __m128i size = _mm_sub_epi8(_mm_sub_epi8(places, before), one);
        size = _mm_mask_sub_epi8(size, has_point, size, one);
        size = _mm_mask_sub_epi8(size, has_minus, size, one);
        size = _mm_mask_sub_epi8(size, has_silent, size, one);
        const __m128i point_places = _mm_maskz_expand_epi8(
            has_point, _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(point), iota())));
        const __m128i fraction = _mm_maskz_sub_epi8(has_point, _mm_sub_epi8(places, one), point_places);

        // the digits of each number in the last of 8 bytes
        const __m128i tops = _mm_setr_epi8(0, -128, -64, -32, -16, -8, -4, -2, -1, 0, 0, 0, 0, 0, 0, 0);
        const auto fields = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(tops, size)));
        const __m512i squeezed = _mm512_maskz_compress_epi8(_cvtu64_mask64(is_digit & ~silent), digits);
        const __m512i spread = _mm512_maskz_expand_epi8(_cvtu64_mask64(fields), squeezed);
        const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(spread, _mm512_set1_epi16(0x010a)), _mm512_set1_epi32(0x00010064));
        const __m256i numbers = _mm256_madd_epi16(_mm512_cvtepi32_epi16(fours), _mm256_set1_epi32(0x00012710));  // index, value, ...
        const __m128i column = _mm_sub_epi32(_mm256_cvtepi64_epi32(numbers), _mm_set1_epi32(plain.base));
        const __m256d whole = _mm256_cvtepi32_pd(_mm256_cvtepi64_epi32(_mm256_srli_epi64(numbers, 32)));
        const __m512i divisor = _mm512_castsi256_si512(_mm256_cvtepu16_epi64(_mm_srli_epi16(fraction, 8)));
        const __m512d low = _mm512_setr_pd(1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7), high = _mm512_set1_pd(1e8);
        const __m256d size_of_value = _mm256_div_pd(whole, _mm512_castpd512_pd256(_mm512_permutex2var_pd(low, divisor, high)));
        const __mmask8 negative = static_cast<__mmask8>(_pext_u32(has_minus, 0xaa));
        const __m256d value = _mm256_mask_xor_pd(size_of_value, negative, size_of_value, _mm256_set1_pd(-0.0));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out.columns + out.n), column);
        _mm256_storeu_pd(out.values + out.n, value);

        // a bit for every number that is no such number, or not in its place
        std::uint64_t bad = (_pext_u64(colon, both) ^ 0x55) & 0xff;
        bad |= _mm_cmpgt_epu8_mask(_mm_sub_epi8(size, one), _mm_set1_epi8(7));
        bad |= _pdep_u64(_mm_cmpge_epu32_mask(column, _mm_set1_epi32(static_cast<int>(plain.max_columns))), 0x55);
        const std::uint64_t eighth = _pdep_u64(0x80, both);
        const std::uint64_t up_to_eighth = eighth ^ (eighth - 1);  // all if there is none
        if (eighth && !((bad & 0xff) | ((wrong | (last_of_line & ~eighth)) & up_to_eighth))) [[likely]] {
            out.n += 4;
            p += __builtin_ctzll(eighth);
            return true;
        }
        return some(p, out, both, bad, wrong, last_of_line);
    }

    // The same where fewer than four are good, and in the register.
    CONFIDENTLY_VBMI2 static bool some(const char*& p, SvmlightEntries& out, std::uint64_t both, std::uint64_t bad, std::uint64_t wrong,
                                       std::uint64_t last_of_line) {
        const std::uint64_t before_wrong = wrong ? (wrong & -wrong) - 1 : ~std::uint64_t(0);
        const std::uint64_t in_line = last_of_line ? last_of_line ^ (last_of_line - 1) : ~std::uint64_t(0);
        const int numbers = __builtin_popcountll(both & before_wrong & in_line);
        const int good = std::min(numbers, __builtin_ctzll(bad | 0x100)) / 2;
        if (good == 0) return false;
        out.n += good;
        p += __builtin_ctzll(_pdep_u64(std::uint64_t(1) << (2 * good - 1), both));
        return true;
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i iota() {
        return _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120, 0x1f1e1d1c1b1a1918,
                                0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
    }

    const char* last_ = nullptr;
    int pause_ = 0;
};

}  // namespace confidently
#endif
