// Cells with numbers of a table of text, with AVX-512 VBMI2: up to eight in one register of 64 bytes.
//
//   1. Comparisons give masks of the digits, the points, the signs, and the ends of cells. From them follow the sizes
//   of the
//      numbers, the digits behind each point, and whether anything is not as it should be.
//   2. The digits are squeezed together, and spread again over fields of 8 bytes, each right-aligned; they become
//   integers, and are
//      divided by their powers of ten, which is exact. svmlight_vbmi2.hpp does the same.
//   3. The numbers that are not 0 become entries of the row, eight at a time.
//
// A number of another form (more than 8 digits, without a 0 before the point, exponent, plus sign) is read by the plain
// parser. What that does not take as a number, and a row of too many or too few cells, are left to the caller.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "data/bytes_vbmi2.hpp"
#include "data/decimal.hpp"
#include "data/rows_out.hpp"

#if CONFIDENTLY_X86

namespace confidently {

class CsvVbmi2 {
  public:
    static constexpr double kLargest = 99'999'999.0;  // of 8 digits
    static constexpr double kEmpty = std::numeric_limits<double>::quiet_NaN();
    static constexpr std::size_t kRoom = 8;  // more values than asked for may be written

    explicit CsvVbmi2(char delimiter) : delimiter_(delimiter) {}

    // Reads n cells from p on into values, kEmpty if there is nothing in them; ends_row: the last of them is the last
    // of its row. Returns what is behind the delimiter or line end that follows them; nullptr if one is no number of
    // allowed size. end: of the text.
    CONFIDENTLY_VBMI2 const char* read(const char* p, const char* end, std::size_t n, bool ends_row, double largest,
                                       double* values) {
        for (std::size_t k = 0; k < n;) {
            const std::size_t read = end - p > 64 ? eight(p, n - k, ends_row, values + k) : 0;
            k += read;
            if (read > 0) continue;
            if (!one(p, end, ends_row && k + 1 == n, largest, values[k])) return nullptr;
            ++k;
        }
        return p;
    }

    // Adds n values and their columns to the row, as all its entries; those that are 0 only if zeros are wanted.
    CONFIDENTLY_VBMI2 static void add(const double* values, const std::int32_t* columns, std::size_t n, bool ascending,
                                      RowWriter& rows) {
        rows.rows.room(static_cast<std::int64_t>(n + kRoom));
        std::int32_t* const first = rows.rows.columns.get() + rows.rows.size;
        std::int32_t* column = first;
        double* value = rows.rows.values.get() + rows.rows.size;
        for (std::size_t k = 0; k < n; k += 8) {
            const auto there = static_cast<__mmask8>(n - k < 8 ? (1u << (n - k)) - 1 : 255u);
            const __m512d x = _mm512_loadu_pd(values + k);
            const __mmask8 used = rows.options.zeros
                                      ? _mm512_mask_cmp_pd_mask(there, x, x, _CMP_ORD_Q)
                                      : _mm512_mask_cmp_pd_mask(there, x, _mm512_setzero_pd(), _CMP_NEQ_OQ);
            const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + k));
            _mm512_storeu_pd(value, _mm512_maskz_compress_pd(used, x));  // compressing into memory takes much longer
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(column), _mm256_maskz_compress_epi32(used, all));
            value += __builtin_popcount(used), column += __builtin_popcount(used);
        }
        rows.added(column - first, ascending);
    }

  private:
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static std::uint64_t in(__m512i text, char c) {
        return _cvtmask64_u64(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(c)));
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m128i places(std::uint64_t bits) {
        return _mm512_castsi512_si128(_mm512_maskz_compress_epi8(_cvtu64_mask64(bits), byte_numbers()));
    }

    // Reads up to eight of the n cells from p on, and moves p behind what follows them; returns how many.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE std::size_t eight(const char*& p, std::size_t n, bool ends_row,
                                                           double* values) const {
        const __m512i text = _mm512_loadu_si512(p), digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
        const std::uint64_t line = in(text, '\n');
        std::uint64_t ends = in(text, delimiter_) | line;
        ends &= _blsmsk_u64(_pdep_u64(std::uint64_t(1) << (std::min<std::size_t>(n, 8) - 1), ends));
        if (ends == 0) return 0;
        const std::uint64_t cells = std::uint64_t(2) << (63 ^ __builtin_clzll(ends)), inside = (cells - 1) & ~ends;
        const std::uint64_t starts = (ends << 1 | 1) & (cells - 1);
        const std::uint64_t digit = _cvtmask64_u64(_mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9))) & inside;
        const std::uint64_t point = in(text, '.') & inside, minus = in(text, '-') & starts;
        const std::uint64_t behind_fraction =
            ((point << 1) + digit) & ~digit;  // the sum carries to what follows the digits behind a point
        const std::uint64_t silent = in(text, '0') & (starts | minus << 1) & point >> 1;

        // a bit for every cell
        const auto has_point = static_cast<__mmask16>(_pext_u64(behind_fraction, ends)),
                   has_minus = static_cast<__mmask16>(_pext_u64(minus, starts));
        const auto has_silent = static_cast<__mmask16>(_pext_u64(silent | silent >> 1, starts)),
                   is_empty = static_cast<__mmask16>(_pext_u64(ends, starts));

        // a byte for each
        const __m128i one = _mm_set1_epi8(1), place = places(ends);
        const __m128i start = _mm_add_epi8(_mm_or_si128(_mm_slli_epi64(place, 8), _mm_set_epi64x(0, 0xff)), one);
        __m128i size = _mm_sub_epi8(place, start);
        size = _mm_mask_sub_epi8(size, has_point, size, one);
        size = _mm_mask_sub_epi8(size, has_minus, size, one);
        size = _mm_mask_sub_epi8(size, has_silent, size, one);
        const __m128i fraction =
            _mm_maskz_sub_epi8(has_point, _mm_sub_epi8(place, one), _mm_maskz_expand_epi8(has_point, places(point)));

        // what follows the last cell of a row, and only that, is a line end
        int n_read = __builtin_popcountll(ends);
        std::uint64_t end = std::uint64_t(1) << (63 ^ __builtin_clzll(ends));  // of the last
        const std::uint64_t lines = _pext_u64(line, ends),
                            expected = std::uint64_t(ends_row && static_cast<std::size_t>(n_read) == n) << (n_read - 1);
        const std::uint64_t wrong = (inside & ~(digit | point | minus)) | (behind_fraction & inside);
        const std::uint64_t too_long =
            _mm_cmpgt_epu8_mask(_mm_sub_epi8(size, one), _mm_set1_epi8(7)) & ~std::uint64_t(is_empty);
        const std::uint64_t bad = (lines ^ expected) | (too_long & (2 * (std::uint64_t(1) << (n_read - 1)) - 1));
        if (wrong | bad) [[unlikely]] {  // so that the next cells need not wait for what is found here
            const std::uint64_t before_wrong = wrong ? (wrong & -wrong) - 1 : ~std::uint64_t(0);
            n_read =
                std::min(__builtin_popcountll(ends & before_wrong), __builtin_ctzll(bad | std::uint64_t(1) << n_read));
            if (n_read == 0) return 0;
            end = _pdep_u64(std::uint64_t(1) << (n_read - 1), ends);
        }

        const __m128i tops = _mm_setr_epi8(0, -128, -64, -32, -16, -8, -4, -2, -1, 0, 0, 0, 0, 0, 0, 0);
        const auto fields = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(tops, size)));
        const __m256i whole = integers_of_fields(digits, digit & ~silent, fields);
        const __m512d low = _mm512_setr_pd(1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7), high = _mm512_set1_pd(1e8);
        const __m512d divisor = _mm512_permutex2var_pd(low, _mm512_cvtepu8_epi64(fraction), high);
        const __m512d quotient = _mm512_div_pd(_mm512_cvtepi32_pd(whole), divisor);
        const __m512d value =
            _mm512_mask_xor_pd(quotient, static_cast<__mmask8>(has_minus), quotient, _mm512_set1_pd(-0.0));
        _mm512_storeu_pd(values, _mm512_mask_mov_pd(value, static_cast<__mmask8>(is_empty), _mm512_set1_pd(kEmpty)));
        p += __builtin_ctzll(end) + 1;
        return static_cast<std::size_t>(n_read);
    }

    // Reads a cell at p in the plain way, and moves p behind what follows it.
    bool one(const char*& p, const char* end, bool is_last, double largest, double& value) const {
        const char* behind = p;
        value = kEmpty;
        if (*p != delimiter_ && *p != '\n' && *p != '\r') {
            behind = end - p > kShortDecimal ? read_short_decimal(p, value) : nullptr;
            if (!behind || !(std::fabs(value) <= largest)) return false;
        }
        if (is_last && *behind == '\r') ++behind;
        p = behind + 1;
        return *behind == (is_last ? '\n' : delimiter_);
    }

    char delimiter_;
};

}  // namespace confidently
#endif
