// The entries of a line of svmlight text, with AVX-512 VBMI2: up to four features, index:value, in one register of 64
// bytes.
//
//   1. Comparisons give a mask of the digits, and masks of ':', of what is not above ' ', of '.' and of '-'. All that
//   follows is
//      found from these masks: the sizes of the eight numbers, the digits behind each point, the signs, and whether
//      anything is not as it should be.
//   2. The digits are squeezed together, and spread again over eight fields of 8 bytes, each right-aligned.
//   3. Pairs of digits become integers, all eight at once, and the values are divided by their powers of ten, which is
//   exact.
//
// What cannot be read this way (more than 8 digits, without a 0 before the point, exponent, plus sign, a feature that
// does not fit the register) is read by the plain parser, one feature at a time. What that does not take as a feature,
// and any white space but one ' ' between features, ends the work on the line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "data/bytes_vbmi2.hpp"
#include "data/svmlight_features.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86

namespace confidently {

class SvmlightVbmi2 {
  public:
    static constexpr std::ptrdiff_t kBehind = 64;  // bytes behind the last one that may be read

    // last: from there on, no more than kBehind bytes are readable
    void begin_text(const char* last) { last_ = last; }

    // Reads the features from p to the end of the line; returns the end, or nullptr if there is something else.
    CONFIDENTLY_VBMI2 const char* features(const char* p, const SvmlightFeatures& plain, SvmlightEntries& out) {
        for (;;) {
            const bool good = p <= last_ && (long_ ? two(p, plain, out) || four(p, plain, out)
                                                   : four(p, plain, out) || two(p, plain, out));
            if (!good) {
                if (*p == '#') return p;
                if (!plain.one(p, last_ + kBehind, out)) return nullptr;
            }
            if (const SvmlightEnd end = SvmlightFeatures::end_at(p); end == SvmlightEnd::feature) [[likely]]
                ++p;
            else
                return end == SvmlightEnd::line ? p : nullptr;
        }
    }

  private:
    // What the bytes at p are, a bit each.
    struct Masks {
        std::uint64_t is_digit, colon, end, both, point, minus;
        std::uint64_t behind_fraction;  // the ends of values with a point
        std::uint64_t silent;           // the 0 before a point, which says nothing
        std::uint64_t wrong;            // bytes that are not as in index:value
        std::uint64_t last_of_line;     // the end of a feature that no other follows
    };

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static Masks masks_of(__m512i text, __m512i digits) {
        Masks m;
        m.is_digit = _cvtmask64_u64(_mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)));
        m.colon = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(':')));
        m.end = _cvtmask64_u64(_mm512_cmple_epu8_mask(text, _mm512_set1_epi8(' ')));
        m.point = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('.')));
        m.minus = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('-')));
        const std::uint64_t space = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(' ')));
        const std::uint64_t zero = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('0')));
        m.both = m.colon | m.end;
        m.behind_fraction =
            ((m.point << 1) + m.is_digit) & ~m.is_digit;  // the sum carries to what follows the digits behind a point
        m.silent = zero & (m.colon << 1 | m.minus << 1) & m.point >> 1;
        m.wrong =
            ~(m.is_digit | m.both | m.point | m.minus) | (m.minus & ~(m.colon << 1)) | (m.behind_fraction & ~m.end);
        m.last_of_line = m.end & (~space | m.end >> 1);
        return m;
    }

    // The numbers at p, up to eight of them, index and value in turns: a byte for each, and a bit for each that has
    // something.
    struct Numbers {
        __m128i size;      // in digits
        __m128i fraction;  // digits behind the point
        __mmask16 has_minus;
    };

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static Numbers numbers_of(const Masks& m) {
        const __m128i places =
            _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(m.both), byte_numbers()));
        const __m128i one = _mm_set1_epi8(1), before = _mm_or_si128(_mm_slli_epi64(places, 8), _mm_set_epi64x(0, 0xff));
        const auto has_point = static_cast<__mmask16>(_pext_u64(m.behind_fraction, m.both) & 0xaa);
        const auto has_silent =
            static_cast<__mmask16>(_pext_u64((m.silent >> 1 | m.silent >> 2) & m.colon, m.both) << 1 & 0xaa);
        const auto has_minus = static_cast<__mmask16>(_pext_u64(m.minus >> 1, m.both) << 1 & 0xaa);
        __m128i size = _mm_sub_epi8(_mm_sub_epi8(places, before), one);
        size = _mm_mask_sub_epi8(size, has_point, size, one);
        size = _mm_mask_sub_epi8(size, has_minus, size, one);
        size = _mm_mask_sub_epi8(size, has_silent, size, one);
        const __m128i point_places = _mm_maskz_expand_epi8(
            has_point, _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(m.point), byte_numbers())));
        return {size, _mm_maskz_sub_epi8(has_point, _mm_sub_epi8(places, one), point_places), has_minus};
    }

    // Reads up to four features from p on, no further than to the end of the line, and moves p behind them. Returns
    // whether there is any.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static bool four(const char*& p, const SvmlightFeatures& plain,
                                                          SvmlightEntries& out) {
        const __m512i text = _mm512_loadu_si512(p), digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
        const Masks m = masks_of(text, digits);
        const Numbers numbers = numbers_of(m);
        const __m128i one = _mm_set1_epi8(1),
                      tops = _mm_setr_epi8(0, -128, -64, -32, -16, -8, -4, -2, -1, 0, 0, 0, 0, 0, 0, 0);
        const auto fields = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(tops, numbers.size)));
        const __m256i both = integers_of_fields(digits, m.is_digit & ~m.silent, fields);  // index, value, ...
        const __m128i column = _mm_sub_epi32(_mm256_cvtepi64_epi32(both), _mm_set1_epi32(plain.base));
        const __m256d whole = _mm256_cvtepi32_pd(_mm256_cvtepi64_epi32(_mm256_srli_epi64(both, 32)));
        const __m512i divisor = _mm512_castsi256_si512(_mm256_cvtepu16_epi64(_mm_srli_epi16(numbers.fraction, 8)));
        const __m512d low = _mm512_setr_pd(1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7), high = _mm512_set1_pd(1e8);
        const __m256d size_of_value =
            _mm256_div_pd(whole, _mm512_castpd512_pd256(_mm512_permutex2var_pd(low, divisor, high)));
        const __mmask8 negative = static_cast<__mmask8>(_pext_u32(numbers.has_minus, 0xaa));
        const __m256d value = _mm256_mask_xor_pd(size_of_value, negative, size_of_value, _mm256_set1_pd(-0.0));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out.columns + out.n), column);
        _mm256_storeu_pd(out.values + out.n, value);

        // a bit for every number that is no such number, or not in its place
        std::uint64_t bad = _pext_u64(m.colon, m.both) ^ 0x55;
        bad |= _mm_cmpgt_epu8_mask(_mm_sub_epi8(numbers.size, one), _mm_set1_epi8(7));
        bad |= _pdep_u64(_mm_cmpge_epu32_mask(column, _mm_set1_epi32(static_cast<int>(plain.max_columns))), 0x55);
        return all(4, p, out, m, bad) || some(p, out, m, bad | 0x100);
    }

    // Moves p behind n features, if all are good and in the register and in the line; bad: a bit for every number that
    // is not good. So p waits for no number, if the processor guesses well.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static bool all(int n, const char*& p, SvmlightEntries& out, const Masks& m,
                                                         std::uint64_t bad) {
        const std::uint64_t last = _pdep_u64(std::uint64_t(1) << (2 * n - 1), m.both);
        const std::uint64_t up_to_last = last ^ (last - 1);  // all if there is none
        const std::uint64_t numbers = (std::uint64_t(1) << 2 * n) - 1;
        if (!last || ((bad & numbers) | ((m.wrong | (m.last_of_line & ~last)) & up_to_last))) [[unlikely]]
            return false;
        out.n += n;
        p += __builtin_ctzll(last);
        return true;
    }

    // The same for the first features that are; whether there is any.
    CONFIDENTLY_VBMI2 static bool some(const char*& p, SvmlightEntries& out, const Masks& m, std::uint64_t bad) {
        const std::uint64_t before_wrong = m.wrong ? (m.wrong & -m.wrong) - 1 : ~std::uint64_t(0);
        const std::uint64_t in_line = m.last_of_line ? m.last_of_line ^ (m.last_of_line - 1) : ~std::uint64_t(0);
        const int numbers = __builtin_popcountll(m.both & before_wrong & in_line);
        const int good = std::min(numbers, __builtin_ctzll(bad)) / 2;
        if (good == 0) return false;
        out.n += good;
        p += __builtin_ctzll(_pdep_u64(std::uint64_t(1) << (2 * good - 1), m.both));
        return true;
    }

    // The same for up to two features whose values have up to 19 digits, in fields of 24 bytes behind those of the
    // index.
    CONFIDENTLY_VBMI2 bool two(const char*& p, const SvmlightFeatures& plain, SvmlightEntries& out) {
        const __m512i text = _mm512_loadu_si512(p), digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
        const Masks m = masks_of(text, digits);
        const Numbers numbers = numbers_of(m);
        const auto size = static_cast<std::uint64_t>(_mm_cvtsi128_si64(numbers.size));
        const auto fraction = static_cast<std::uint64_t>(_mm_cvtsi128_si64(numbers.fraction));
        alignas(32) std::uint32_t parts[8];
        const std::uint64_t fields = fields_of(size) | fields_of(size >> 16) << 32;
        _mm256_store_si256(reinterpret_cast<__m256i*>(parts),
                           integers_of_fields(digits, m.is_digit & ~m.silent, fields));
        std::uint64_t bad = (_pext_u64(m.colon, m.both) ^ 0x5) | 0x10;
        bool is_long = false;
        for (int k = 0; k < 2; ++k) {
            const std::uint32_t* part = parts + 4 * k;
            const std::uint64_t value = (part[1] * std::uint64_t(100'000'000) + part[2]) * 100'000'000 + part[3];
            const std::uint64_t index_size = size >> 16 * k & 0xff, value_size = size >> (16 * k + 8) & 0xff;
            const std::int64_t column = static_cast<std::int64_t>(part[0]) - plain.base;
            double rounded = 0.0;
            const std::int64_t exponent = -static_cast<std::int64_t>(fraction >> (16 * k + 8) & 0xff);
            const bool in_range = static_cast<std::uint64_t>(column) < static_cast<std::uint64_t>(plain.max_columns);
            const bool good = index_size - 1 < 8 && value_size - 1 < 19 && in_range &&
                              rounded_product(value, exponent, rounded) && rounded <= plain.largest;
            bad |= std::uint64_t(!good) << 2 * k;
            is_long |= value_size > 8;
            out.columns[out.n + k] = static_cast<std::int32_t>(column);
            out.values[out.n + k] = numbers.has_minus >> (2 * k + 1) & 1 ? -rounded : rounded;
        }
        long_ = is_long;
        return all(2, p, out, m, bad) || some(p, out, m, bad);
    }

    // A bit for each digit of an index, at the end of 8, and of a value, at the end of 24 that follow.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static std::uint64_t fields_of(std::uint64_t size) {
        const std::uint64_t index = 0xff00u >> (size & 15),
                            value = 0xff'ffff'0000'00u >> (size >> 8 & 31);  // the last bits, from the top
        return (index & 0xff) | (value & 0xffffff) << 8;
    }

    const char* last_ = nullptr;
    bool long_ = false;  // whether the last values were
};

}  // namespace confidently
#endif
