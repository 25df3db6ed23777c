// Sorts up to 128 numbers of 32 bits, all different, with AVX-512: the network of sort_short.hpp, without its loads and
// stores.
//
// All numbers stay in registers of sixteen, as many as a power of two; places behind the last number hold the largest
// one. Each register is sorted by itself. Then sorted runs of registers are merged in pairs: every number of the first
// run is compared with its mirror image in the second, then those at half the distance in each half, and so on down to
// neighbors. A half whose numbers were mirrored need not be turned back, since the steps that follow sort it either
// way.
//
// It takes columns, and gives them back with the numbers of their entries, 8 bits each. So it sorts no rows with
// columns of 2^24 and more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "avx512.hpp"

#if CONFIDENTLY_X86
namespace confidently {

class ShortSortAvx512 {
  public:
    static constexpr std::size_t kMost = 128;

    // Sorts the columns of n entries, 0 < n <= kMost. order, which has room for kMost: column * 256 + entry, sorted.
    // Returns whether two columns are equal, or -1 if a column is too large, and nothing is done.
    CONFIDENTLY_VBMI2 static int sort(std::int32_t* columns, std::size_t n, std::uint32_t* order) {
        if (n <= 16) return sort_registers<1>(columns, n, order);
        if (n <= 32) return sort_registers<2>(columns, n, order);
        if (n <= 64) return sort_registers<4>(columns, n, order);
        return sort_registers<8>(columns, n, order);
    }

  private:
    // Compares each number with the one in its place of other: the larger ones go where the mask has ones.
    template <int mask>
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i exchanged(__m512i x, __m512i other) {
        return _mm512_mask_max_epu32(_mm512_min_epu32(x, other), static_cast<__mmask16>(mask), x, other);
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i reversed(__m512i x) {
        return _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), x);
    }

    // Neighbours at distances 2 and 1; 4, 2 and 1; 8, 4, 2 and 1.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i from_2(__m512i x) {
        x = exchanged<0xcccc>(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC));
        return exchanged<0xaaaa>(x, _mm512_shuffle_epi32(x, _MM_PERM_CDAB));
    }
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i from_4(__m512i x) {
        return from_2(exchanged<0xf0f0>(x, _mm512_shuffle_i64x2(x, x, 0xb1)));
    }
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i from_8(__m512i x) {
        return from_4(exchanged<0xff00>(x, _mm512_shuffle_i64x2(x, x, 0x4e)));
    }

    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __m512i sorted(__m512i x) {
        x = exchanged<0xaaaa>(x, _mm512_shuffle_epi32(x, _MM_PERM_CDAB));
        x = exchanged<0xcccc>(x, _mm512_shuffle_epi32(x, _MM_PERM_ABCD));
        x = exchanged<0xaaaa>(x, _mm512_shuffle_epi32(x, _MM_PERM_CDAB));
        x = exchanged<0xf0f0>(
            x, _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), x));
        x = from_2(x);
        return from_4(exchanged<0xff00>(x, reversed(x)));
    }

    // Merges two sorted runs of registers that follow each other.
    template <int run>
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static void merge(__m512i* x) {
        __m512i mirrored[run];
#pragma GCC unroll 8
        for (int k = 0; k < run; ++k) mirrored[k] = reversed(x[2 * run - 1 - k]);
#pragma GCC unroll 8
        for (int k = 0; k < run; ++k) {
            x[run + k] = _mm512_max_epu32(x[k], mirrored[k]);
            x[k] = _mm512_min_epu32(x[k], mirrored[k]);
        }
#pragma GCC unroll 8
        for (int distance = run / 2; distance > 0; distance /= 2)
#pragma GCC unroll 16
            for (int k = 0; k < 2 * run; ++k) {
                if (k & distance) continue;
                const __m512i low = x[k], high = x[k + distance];
                x[k] = _mm512_min_epu32(low, high);
                x[k + distance] = _mm512_max_epu32(low, high);
            }
#pragma GCC unroll 16
        for (int k = 0; k < 2 * run; ++k) x[k] = from_8(x[k]);
    }

    // The places of the k-th register that n numbers use.
    CONFIDENTLY_VBMI2 CONFIDENTLY_INLINE static __mmask16 used(int k, std::size_t n) {
        const std::size_t first = 16 * static_cast<std::size_t>(k), left = n > first ? n - first : 0;
        return _cvtu32_mask16(_bzhi_u32(0xffff, left < 16 ? static_cast<unsigned>(left) : 16));
    }

    template <int size>
    CONFIDENTLY_VBMI2 static int sort_registers(std::int32_t* columns, std::size_t n, std::uint32_t* order) {
        __m512i x[size], all = _mm512_setzero_si512();
        __m512i entry = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#pragma GCC unroll 8
        for (int k = 0; k < size; ++k) {
            const __mmask16 here = used(k, n);
            const __m512i column = _mm512_maskz_loadu_epi32(here, columns + 16 * k);
            all = _mm512_or_si512(all, column);
            x[k] = _mm512_mask_or_epi32(_mm512_set1_epi32(-1), here, _mm512_slli_epi32(column, 8), entry);
            entry = _mm512_add_epi32(entry, _mm512_set1_epi32(16));
        }
        if (_mm512_test_epi32_mask(all, _mm512_set1_epi32(static_cast<int>(0xff000000)))) return -1;
#pragma GCC unroll 8
        for (int k = 0; k < size; ++k) x[k] = sorted(x[k]);
#pragma GCC unroll 8
        for (int k = 0; k < size; k += 2)
            if constexpr (size >= 2) merge<1>(x + k);
#pragma GCC unroll 8
        for (int k = 0; k < size; k += 4)
            if constexpr (size >= 4) merge<2>(x + k);
        if constexpr (size >= 8) merge<4>(x);
        unsigned equal = 0;
        __m512i before = _mm512_set1_epi32(-1);
#pragma GCC unroll 8
        for (int k = 0; k < size; ++k) {
            const __mmask16 here = used(k, n);
            const __m512i column = _mm512_srli_epi32(x[k], 8);
            equal |= _mm512_mask_cmpeq_epi32_mask(here, column, _mm512_alignr_epi32(column, before, 15));
            before = column;
            _mm512_storeu_si512(order + 16 * k, x[k]);
            _mm512_mask_storeu_epi32(columns + 16 * k, here, column);
        }
        return equal != 0;
    }
};

}  // namespace confidently
#endif
