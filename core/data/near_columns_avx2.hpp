// Columns of hashed features, looked up four at a time with AVX2.
//
// A table of features with open addressing has a key and a column in each slot of 64 bits (data/hashing.hpp). Most keys
// are in the slot where their search begins or in the next one. So both slots of a key are loaded at once, and for four
// keys together comparisons choose the column: there is nothing to mispredict, and the loads of many keys wait for
// memory together. (Gathers, which load one slot of four keys, take longer: a processor executes them as loads and as
// many steps in between.)
//
// What it does not do: search further, add features, or compare names. A key that is in neither slot gets -1, as does
// one whose slot is empty; behind the last slot is one more, which is empty. Up to three more keys than asked for are
// read, and as many columns written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

// mask: of slot numbers; spread, shift: a search begins at (key * spread >> shift) & mask.
CONFIDENTLY_AVX2 inline void near_columns_avx2(const void* slots, std::uint64_t mask, std::uint64_t spread, int shift,
                                               const std::uint32_t* keys, std::int64_t n, std::int32_t* columns) {
    const auto* table = static_cast<const char*>(slots);
    const __m256i low = _mm256_set1_epi64x(static_cast<long long>(spread)), high = _mm256_srli_epi64(low, 32);
    const __m256i all = _mm256_set1_epi64x(static_cast<long long>(mask)), none = _mm256_set1_epi32(-1);
    const __m256i upper_halves = _mm256_setr_epi32(1, 5, 3, 7, 1, 5, 3, 7);
    const auto both = [table](std::uint64_t at) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 8 * at));
    };
    const __m128i shifted = _mm_cvtsi32_si128(shift);
    for (std::int64_t k = 0; k < n; k += 4) {
        const __m256i key = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + k)));
        const __m256i product =
            _mm256_add_epi64(_mm256_mul_epu32(key, low), _mm256_slli_epi64(_mm256_mul_epu32(key, high), 32));
        const __m256i place = _mm256_and_si256(_mm256_srl_epi64(product, shifted), all);
        alignas(32) std::uint64_t at[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(at), place);
        const __m256i early = _mm256_set_m128i(both(at[1]), both(at[0])),
                      late = _mm256_set_m128i(both(at[3]), both(at[2]));
        const __m256i first = _mm256_unpacklo_epi64(early, late),
                      second = _mm256_unpackhi_epi64(early, late);  // of keys 0, 2, 1, 3
        const __m256i searched = _mm256_permute4x64_epi64(key, 0xd8);
        const __m256i is_first =
            _mm256_shuffle_epi32(_mm256_cmpeq_epi32(first, searched), 0xa0);  // of keys, the lower halves
        const __m256i is_second = _mm256_shuffle_epi32(_mm256_cmpeq_epi32(second, searched), 0xa0);
        const __m256i found = _mm256_blendv_epi8(_mm256_blendv_epi8(none, second, is_second), first, is_first);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(columns + k),
                         _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(found, upper_halves)));
    }
}

}  // namespace confidently
#endif
