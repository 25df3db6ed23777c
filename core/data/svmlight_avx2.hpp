// The entries of a line of svmlight text, with AVX2.
//
//   1. The positions of all bytes that end something, ':' and whatever is not above ' ', for some kilobytes of text at
//   a time:
//      a mask of 8 bytes selects their offsets in a table. A feature has two such ends, wherever its '-' and '.' are,
//      so that no address depends on what was read before.
//   2. For every feature, without a branch, the bytes of its index and of its value, right-aligned in 8 bytes, with the
//   sign and
//      the point removed; and the power of ten by which the value is to be divided.
//   3. Eight features at a time: bytes become digits, integers, and doubles by one exact division, and everything is
//   checked.
//
// A feature of another form (index or value of more than 8 bytes, without a 0. before them, exponent, plus sign) is
// read again by the plain parser. What the plain parser does not take as a feature, and any white space but one ' '
// between features, ends the work on the line.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "data/svmlight_features.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

// For every set of 8 bytes the offsets of its members.
struct OffsetsOf8 {
    alignas(16) std::uint16_t of[256][8]{};

    constexpr OffsetsOf8() {
        for (int set = 0; set < 256; ++set)
            for (int bit = 0, n = 0; bit < 8; ++bit)
                if (set >> bit & 1) of[set][n++] = static_cast<std::uint16_t>(bit);
    }
};
inline constexpr OffsetsOf8 kOffsetsOf8;

class SvmlightAvx2 {
  public:
    // last: from there on, no more than kBehind bytes are readable
    void begin_text(const char* last) {
        last_ = last;
        n_ends_ = at_ = 0;
    }

    // Reads the features from p to the end of the line; returns the end, or nullptr if there is something else.
    CONFIDENTLY_AVX2 const char* features(const char* p, const SvmlightFeatures& plain, SvmlightEntries& out) {
        if (alone_ > 0) {
            --alone_;
            return one_by_one(p, plain, out);
        }
        int n = 0;  // those that were taken and not yet converted
        while (at_ < n_ends_ && block_ + ends_[at_] < p) ++at_;
        std::size_t at = at_, n_ends = n_ends_;
        for (;;) {
            if (at + 2 > n_ends) [[unlikely]] {
                find_ends(p);
                at = 0, n_ends = n_ends_;
            }
            if (at + 2 > n_ends) [[unlikely]] {  // near the end of the text
                if (!convert(n, plain, out) || !plain.one(p, last_ + kBehind, out)) return nullptr;
                n = 0;
            } else {
                const char *colon = block_ + ends_[at], *end = block_ + ends_[at + 1];
                if (*colon != ':' || *end > ' ') [[unlikely]] {
                    at_ = at;
                    return *p == '#' && convert(n, plain, out) ? p : nullptr;
                }
                at += 2;
                take(n++, p, colon, end);
                p = end;
                if (n == kMost) {
                    if (!convert(n, plain, out)) return nullptr;
                    n = 0;
                }
            }
            const SvmlightEnd end = SvmlightFeatures::end_at(p);
            ++p;
            if (end == SvmlightEnd::feature) [[likely]]
                continue;
            at_ = at;
            return end == SvmlightEnd::line && convert(n, plain, out) ? p - 1 : nullptr;
        }
    }

    static constexpr std::ptrdiff_t kBehind = 64;  // bytes behind the last one that may be read

  private:
    static constexpr std::size_t kBlock = 8192;  // bytes of text: with the ends in it, they stay in the nearest cache
    static constexpr int kMost = 512;            // features that are converted together

    static constexpr int kPause = 15;  // rows

    // The same by the plain parser alone, where most features are of another form.
    const char* one_by_one(const char* p, const SvmlightFeatures& plain, SvmlightEntries& out) const {
        for (;; ++p) {
            if (*p == '#') return p;
            if (!plain.one(p, last_ + kBehind, out)) return nullptr;
            const SvmlightEnd end = SvmlightFeatures::end_at(p);
            if (end != SvmlightEnd::feature) return end == SvmlightEnd::line ? p : nullptr;
        }
    }

    // Finds the ends in the text from p on.
    CONFIDENTLY_AVX2 void find_ends(const char* p) {
        block_ = p;
        const std::ptrdiff_t there = last_ - p;
        const std::size_t size = there <= 0                       ? 0
                                 : there < std::ptrdiff_t(kBlock) ? static_cast<std::size_t>(there)
                                                                  : kBlock;
        const __m256i colon = _mm256_set1_epi8(':'), space = _mm256_set1_epi8(' ');
        const __m128i eight = _mm_set1_epi16(8);
        __m128i base = _mm_setzero_si128();
        std::uint16_t* out = ends_.data();
        for (std::size_t i = 0; i < size; i += 32) {
            const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
            const __m256i is_end =
                _mm256_or_si256(_mm256_cmpeq_epi8(c, colon), _mm256_cmpeq_epi8(_mm256_min_epu8(c, space), c));
            auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(is_end));
            for (int k = 0; k < 4; ++k, mask >>= 8) {
                const __m128i offsets = _mm_load_si128(reinterpret_cast<const __m128i*>(kOffsetsOf8.of[mask & 255]));
                _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_add_epi16(offsets, base));
                out += __builtin_popcount(mask & 255);
                base = _mm_add_epi16(base, eight);
            }
        }
        n_ends_ = static_cast<std::size_t>(out - ends_.data());
    }

    static std::uint64_t eight_bytes(const char* p) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        return word;
    }

    // Takes the feature at p. What is too long for 8 bytes gets no digits, which are found missing later.
    CONFIDENTLY_AVX2 CONFIDENTLY_INLINE void take(int k, const char* p, const char* colon, const char* end) {
        constexpr std::uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
        const std::uint64_t negative = colon[1] == '-';
        const char* value = colon + 1 + negative;
        const std::uint64_t below_one = std::uint64_t(value[0] == '0') & std::uint64_t(value[1] == '.');
        value += 2 * below_one;
        const auto index_size = static_cast<std::uint64_t>(colon - p),
                   value_size = static_cast<std::uint64_t>(end - value);
        text_[k] = p;
        index_[k] = eight_bytes(p) << (-(8 * index_size) & 63);
        const std::uint64_t bytes = eight_bytes(value) << (-(8 * value_size) & 63);
        const std::uint64_t other = bytes ^ '.' * ones;
        const std::uint64_t points = (other - ones) & ~other & tops & (below_one - 1);  // the lowest is the first point
        const int place = __builtin_ctzll(points | std::uint64_t(1) << 63) & ~7;
        const std::uint64_t fraction = 7 - static_cast<std::uint64_t>(place) / 8;
        const std::uint64_t behind = ~std::uint64_t(0xff) << place | -std::uint64_t(points == 0);  // bytes that stay
        const std::uint64_t digits = (bytes & behind) | (bytes << 8 & ~behind);
        value_[k] = ((index_size - 1) | (value_size - 1)) >> 3 ? 0 : digits;
        divisor_[k] = kDivisors[negative][fraction + (value_size & 15 & -below_one)];
    }

    // Which of four are not digits behind zero bytes, at least one.
    CONFIDENTLY_AVX2 static __m256i wrong(__m256i bytes) {
        const __m256i digits = _mm256_sub_epi8(bytes, _mm256_set1_epi8('0')), none = _mm256_setzero_si256();
        const __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, _mm256_set1_epi8(9)), digits);
        const __m256i good = _mm256_or_si256(is_digit, _mm256_cmpeq_epi8(bytes, none));
        const __m256i all_good = _mm256_cmpeq_epi64(good, _mm256_set1_epi8(-1));
        return _mm256_or_si256(_mm256_andnot_si256(all_good, _mm256_set1_epi8(-1)), _mm256_cmpeq_epi64(bytes, none));
    }

    // Eight integers, in order.
    CONFIDENTLY_AVX2 static __m256i integers(__m256i low, __m256i high) {
        const __m256i digit = _mm256_set1_epi8(15), tens = _mm256_set1_epi16(0x010a),
                      hundreds = _mm256_set1_epi32(0x00010064);
        const __m256i a = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_and_si256(low, digit), tens), hundreds);
        const __m256i b = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_and_si256(high, digit), tens), hundreds);
        const __m256i n = _mm256_madd_epi16(_mm256_packus_epi32(a, b), _mm256_set1_epi32(0x00012710));  // ten thousands
        return _mm256_permute4x64_epi64(n, 0xd8);
    }

    CONFIDENTLY_AVX2 static __m256i four(const std::uint64_t* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }

    CONFIDENTLY_AVX2 static unsigned mask_of(__m256i four) {
        return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(four)));
    }

    // Writes the entries of the n features that were taken. Returns false if there is one that the plain parser
    // refuses.
    CONFIDENTLY_AVX2 bool convert(int n, const SvmlightFeatures& plain, SvmlightEntries& out) {
        for (int k = n; k < n + 7; ++k) index_[k] = value_[k] = '0' * 0x0101010101010101u, divisor_[k] = 1.0;
        int n_again = 0;
        const __m256i base = _mm256_set1_epi32(plain.base),
                      most = _mm256_set1_epi32(static_cast<int>(plain.max_columns - 1));
        for (int k = 0; k < n; k += 8) {
            const __m256i i0 = four(index_ + k), i4 = four(index_ + k + 4), v0 = four(value_ + k),
                          v4 = four(value_ + k + 4);
            const __m256i column = _mm256_sub_epi32(integers(i0, i4), base), value = integers(v0, v4);
            std::int32_t* columns = out.columns + out.n + k;
            double* values = out.values + out.n + k;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns), column);
            _mm256_storeu_pd(
                values, _mm256_div_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(value)), _mm256_load_pd(divisor_ + k)));
            _mm256_storeu_pd(values + 4, _mm256_div_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(value, 1)),
                                                       _mm256_load_pd(divisor_ + k + 4)));
            const __m256i in_range = _mm256_cmpeq_epi32(_mm256_min_epu32(column, most), column);
            unsigned again =
                mask_of(_mm256_or_si256(wrong(i0), wrong(v0))) | mask_of(_mm256_or_si256(wrong(i4), wrong(v4))) << 4;
            again |= ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(in_range))) & 255;
            for (; again; again &= again - 1) {
                const int which = __builtin_ctz(again);
                if (k + which >= n) break;
                ++n_again;
                if (!plain.reread(text_[k + which], last_ + kBehind, columns[which], values[which])) return false;
            }
        }
        out.n += n;
        if (2 * n_again > n) alone_ = kPause;
        return true;
    }

    static constexpr double kDivisors[2][16] = {{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8},
                                                {-1, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8}};

    const char *last_ = nullptr, *block_ = nullptr;
    std::size_t n_ends_ = 0, at_ = 0;
    int alone_ = 0;
    std::array<std::uint16_t, kBlock + 64> ends_;
    alignas(32) std::uint64_t index_[kMost + 8], value_[kMost + 8];
    alignas(32) double divisor_[kMost + 8];
    const char* text_[kMost];
};

}  // namespace confidently
#endif
