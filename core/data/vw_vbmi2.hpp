// Features of VW text, with AVX-512 VBMI2: up to eight, name or name:value, in one register of 64 bytes.
//
//   1. Comparisons give masks of the bytes that say something. From them follow the names, the values, the digits
//   behind each
//      point, the signs, and whether anything is not as it should be.
//   2. The digits of values are squeezed together, and spread again over fields of 8 bytes, each right-aligned. The
//   names are spread over
//      such fields, too, each left-aligned.
//   3. When the row ends or many features wait, eight fields of digits at once become integers, and are divided by
//   their powers of ten,
//      which is exact, and eight names at once are hashed. In a loop of their own, these long computations overlap.
//
// What cannot be read this way is left to the plain parser, one feature at a time: names of more than 8 bytes, values
// of more than 8 digits, without a 0 before the point, or with an exponent or a plus sign, zeros, words as values,
// features without a name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "data/bytes_vbmi2.hpp"
#include "data/hashing.hpp"
#include "data/rows_out.hpp"
#include "data/tokens.hpp"
#include "processor.hpp"

#if CONFIDENTLY_X86

namespace confidently {

class VwVbmi2 {
  public:
    static constexpr double kLargest = 99'999'999.0;  // of 8 digits

    // Whether the features that follow should be tried.
    bool is_due() {
        const bool due = left_out_ == 0;
        left_out_ -= !due;
        return due;
    }

    // Adds the features from p on, which is where one begins or the row goes on otherwise, as many as it can; returns
    // where the plain parser has to go on. last: the end of the text.
    CONFIDENTLY_VBMI2 const char* features(const char* p, const char* last, const Namespace& space, RowWriter& rows) {
        const char* first = p;
        bool more = true;
        while (more && last - p >= 64) more = eight(p, space, rows);
        add_read(space, rows);
        // where most features are of other forms, trying each costs too much
        pause_ = p - first >= kWorthIt ? 0 : std::min(2 * pause_ + 1, kLongestPause);
        left_out_ = pause_;
        return p;
    }

  private:
    static constexpr int kLongestPause = 31;        // features
    static constexpr std::ptrdiff_t kWorthIt = 24;  // bytes

    // What the bytes at p are, a bit each.
    struct Masks {
        std::uint64_t colon, space, digit, point, minus;  // the last three: in values
        std::uint64_t end, with_value;                    // the ends of features, and of those with a value
        std::uint64_t behind_fraction;                    // the ends of values with a point
        std::uint64_t silent;                             // the 0 before a point, which says nothing
        std::uint64_t wrong;                              // bytes that are not as in name:value
        std::uint64_t last_of_run;                        // the end of a feature that no other follows
    };

    // Constants in memory: made anew from numbers in every round, they would be most of the work of the processor's
    // busiest unit.
    struct Bytes {
        char of[64];

        explicit Bytes(int c) { std::fill_n(of, 64, static_cast<char>(c)); }
        CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m512i all() const { return _mm512_loadu_si512(of); }
        CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m128i few() const {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(of));
        }
        CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE std::uint64_t in(__m512i text) const {
            return _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, all()));
        }
    };

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE Masks masks_of(__m512i text, __m512i digits) const {
        Masks m;
        m.end = _cvtmask64_u64(_mm512_cmple_epu8_mask(text, space_.all()));
        m.colon = colon_.in(text);
        m.space = space_.in(text);
        const std::uint64_t bar = bar_.in(text);
        const std::uint64_t inside = ~m.end,
                            carried = inside + m.colon;  // every colon carries to the end of its feature
        const std::uint64_t value = inside & ~carried;
        m.with_value = m.end & carried;
        m.digit = _cvtmask64_u64(_mm512_cmple_epu8_mask(digits, nine_.all())) & value;
        m.point = point_.in(text) & value;
        m.minus = minus_.in(text) & value;
        m.behind_fraction =
            ((m.point << 1) + m.digit) & ~m.digit;  // the sum carries to what follows the digits behind a point
        m.silent = zero_.in(text) & (m.colon << 1 | m.minus << 1) & m.point >> 1;
        m.wrong = bar | (m.colon & carried) | (value & ~(m.digit | m.colon | m.point | m.minus)) |
                  (m.minus & ~(m.colon << 1)) | (m.behind_fraction & ~m.end);
        m.last_of_run = m.end & (~m.space | (m.end | bar) >> 1);
        return m;
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i times(__m512i a, const std::uint32_t& b) {
        return _mm512_mullo_epi32(a, _mm512_set1_epi32(static_cast<int>(b)));
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m512i stirred(__m512i h) const {
        const __m512i turned = _mm512_rol_epi32(h, 13), five = _mm512_add_epi32(_mm512_slli_epi32(turned, 2), turned);
        return _mm512_add_epi32(five, _mm512_set1_epi32(static_cast<int>(step_)));
    }

    // murmur3 of texts of 1 to 8 bytes, with zeros behind them, in the lower halves of 64 bits
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE __m512i hashes(__m512i texts, __m512i size, const std::uint32_t& seed) const {
        const __m512i low = times(_mm512_rol_epi32(times(texts, c1_), 15), c2_), high = _mm512_srli_epi64(low, 32);
        const __m512i first = _mm512_xor_si512(_mm512_set1_epi32(static_cast<int>(seed)), low);
        const __mmask8 is_long = _mm512_cmpgt_epi64_mask(size, _mm512_set1_epi64(three_)),
                       is_longest = _mm512_test_epi64_mask(size, _mm512_set1_epi64(eight_));
        __m512i h = _mm512_mask_xor_epi64(first, is_long, stirred(first), high);
        h = _mm512_xor_si512(_mm512_mask_mov_epi64(h, is_longest, stirred(h)), size);
        h = times(_mm512_xor_si512(h, _mm512_srli_epi32(h, 16)), c3_);
        h = times(_mm512_xor_si512(h, _mm512_srli_epi32(h, 13)), c4_);
        return _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static std::uint64_t low_half(__m128i a) {
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(a));
    }

    // Adds up to eight features from p on, and moves p behind them. Returns whether more may follow.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE bool eight(const char*& p, const Namespace& space, RowWriter& rows) {
        const __m512i text = _mm512_loadu_si512(p), digits = _mm512_sub_epi8(text, zero_.all());
        Masks m = masks_of(text, digits);
        std::uint64_t ends = m.end & _blsmsk_u64(m.last_of_run);
        ends &= _blsmsk_u64(_pdep_u64(0x80, ends));

        // a byte for each feature: where it ends, where its name ends, and sizes
        const __m128i one = one_.few(),
                      places = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(ends), byte_numbers()));
        const std::uint64_t has_value = _pext_u64(m.with_value, ends);
        const auto values = static_cast<__mmask16>(has_value),
                   has_point = static_cast<__mmask16>(_pext_u64(m.behind_fraction, ends));
        const auto has_minus = static_cast<__mmask16>(_pdep_u64(_pext_u64(m.minus >> 1, m.colon), has_value));
        const auto has_silent =
            static_cast<__mmask16>(_pdep_u64(_pext_u64(m.silent >> 1 | m.silent >> 2, m.colon), has_value));
        const __m128i colons =
            _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(m.colon), byte_numbers()));
        const __m128i name_ends = _mm_mask_expand_epi8(places, values, colons);
        const __m128i starts = _mm_add_epi8(_mm_or_si128(_mm_slli_epi64(places, 8), _mm_set_epi64x(0, 0xff)), one);
        const __m128i name_size = _mm_sub_epi8(name_ends, starts);
        __m128i value_size = _mm_maskz_sub_epi8(values, _mm_sub_epi8(places, name_ends), one);
        value_size = _mm_mask_sub_epi8(value_size, has_point, value_size, one);
        value_size = _mm_mask_sub_epi8(value_size, has_minus, value_size, one);
        value_size = _mm_mask_sub_epi8(value_size, has_silent, value_size, one);
        const __m128i points = _mm_maskz_expand_epi8(
            has_point, _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(m.point), byte_numbers())));
        const __m128i fraction = _mm_maskz_sub_epi8(has_point, _mm_sub_epi8(places, one), points);

        const __m128i tops = _mm_setr_epi8(0, -128, -64, -32, -16, -8, -4, -2, -1, 0, 0, 0, 0, 0, 0, 0);
        const __m512i whole = in_fields(digits, m.digit & ~m.silent, low_half(_mm_shuffle_epi8(tops, value_size)));

        constexpr long long eighths = 0x0808080808080808;
        const __m512i repeated = _mm512_setr_epi64(0, eighths, 0, eighths, 0, eighths, 0, eighths);
        const __m512i size = _mm512_cvtepu8_epi64(name_size), start = _mm512_cvtepu8_epi64(starts);
        const __m512i bytes = _mm512_add_epi8(_mm512_shuffle_epi8(start, repeated), _mm512_set1_epi64(counted_));
        const __m512i unused = _mm512_sub_epi64(_mm512_set1_epi64(bits_), _mm512_slli_epi64(size, 3));
        const __m512i names =
            _mm512_srlv_epi64(_mm512_sllv_epi64(_mm512_permutexvar_epi8(bytes, text), unused), unused);

        // a bit for every feature that is not such a feature
        std::uint64_t bad = _mm_cmpgt_epu8_mask(_mm_sub_epi8(name_size, one), seven_.few()) |
                            (has_value & (_mm_cmpgt_epu8_mask(_mm_sub_epi8(value_size, one), seven_.few()) |
                                          _mm512_testn_epi64_mask(whole, whole)));
        std::uint64_t last = ends ? std::uint64_t(1) << (63 ^ __builtin_clzll(ends)) : 0;
        int n = __builtin_popcountll(ends);
        if ((last & ~m.space) && !ends_token(p[__builtin_ctzll(last)])) [[unlikely]]
            m.wrong |= last;  // it is part of a name
        bool more = (last & m.last_of_run) == 0;
        if ((bad & ~(~std::uint64_t(0) << n)) | (m.wrong & _blsmsk_u64(last)) | (last == 0)) [[unlikely]] {
            const std::uint64_t before_wrong = m.wrong ? (m.wrong & -m.wrong) - 1 : ~std::uint64_t(0);
            n = std::min(__builtin_popcountll(ends & before_wrong), __builtin_ctzll(bad | 0x100));
            if (n == 0) return false;
            last = _pdep_u64(std::uint64_t(1) << (n - 1), ends);
            more = false;
        }
        // the value 1 where there is none
        const __m512i value = _mm512_mask_mov_epi64(_mm512_set1_epi64(1ll << 56), static_cast<__mmask8>(values), whole);
        _mm512_storeu_si512(digits_ + n_read_, value);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(fraction_ + n_read_),
                         _mm_mask_sub_epi8(fraction, has_minus, fraction, sign_.few()));
        _mm512_storeu_si512(name_ + n_read_, names);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(size_ + n_read_), name_size);
        WaitingFeatures& out = rows.waiting();
        _mm512_storeu_si512(out.name + out.n + n_read_,
                            _mm512_add_epi64(_mm512_set1_epi64(reinterpret_cast<long long>(p)), start));
        n_read_ += n;
        if (out.n + n_read_ > kMaxWaiting) [[unlikely]]
            add_read(space, rows);
        p += __builtin_ctzll(last) + more;
        return more;
    }

    // Adds the features that were read.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE void add_read(const Namespace& space, RowWriter& rows) {
        WaitingFeatures& out = rows.waiting();
        const __m512d low = _mm512_setr_pd(1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7), high = _mm512_set1_pd(1e8);
        const auto bytes = [](const std::uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); };
        for (std::int64_t k = 0; k < n_read_; k += 8) {
            const std::int64_t at = out.n + k;
            const __m512i size = _mm512_cvtepu8_epi64(bytes(size_ + k)), names = _mm512_loadu_si512(name_ + k);
            const __m512i keys =
                _mm512_and_si512(hashes(names, size, space.seed), _mm512_set1_epi64(rows.features().mask()));
            rows.features().expect(keys);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.key + at), _mm512_cvtepi64_epi32(keys));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.size + at), _mm512_cvtepi64_epi32(size));
            _mm512_storeu_si512(out.space + at, _mm512_set1_epi64(reinterpret_cast<long long>(&space)));
            const __m512i fraction = _mm512_cvtepu8_epi64(bytes(fraction_ + k));  // its lowest bits choose the divisor
            const __m512d whole = _mm512_cvtepi32_pd(integers_of(_mm512_loadu_si512(digits_ + k)));
            const __m512d value = _mm512_div_pd(whole, _mm512_permutex2var_pd(low, fraction, high));
            const __m512i sign = _mm512_slli_epi64(_mm512_srli_epi64(fraction, 7), 63);
            _mm512_storeu_pd(out.value + at, _mm512_xor_pd(value, _mm512_castsi512_pd(sign)));
        }
        rows.add_waiting(static_cast<int>(std::exchange(n_read_, 0)));
    }

    const Bytes colon_{':'}, space_{' '}, bar_{'|'}, point_{'.'}, minus_{'-'}, zero_{'0'}, nine_{9}, one_{1}, seven_{7},
        sign_{0x80};
    const std::uint32_t c1_ = 0xcc9e2d51, c2_ = 0x1b873593, step_ = 0xe6546b64, c3_ = 0x85ebca6b,
                        c4_ = 0xc2b2ae35;  // of murmur3
    const long long three_ = 3, eight_ = 8, bits_ = 64, counted_ = 0x0706050403020100;
    std::int64_t n_read_ = 0;  // features that are read, but not added
    std::uint64_t digits_[WaitingFeatures::kRoom]{},
        name_[WaitingFeatures::kRoom]{};  // of these: fields of digits, and names
    std::uint8_t fraction_[WaitingFeatures::kRoom]{},
        size_[WaitingFeatures::kRoom]{};  // sizes in digits, 128 more with a minus sign; of names
    int pause_ = 0, left_out_ = 0;
};

}  // namespace confidently
#endif
