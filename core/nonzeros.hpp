// The non-zero values of a dense row, with their columns, in order.
//
// With AVX2, four values at a time: the comparison with zero gives a number from 0 to 15, and a table says which of the
// four to move to the front. All four are then written, and the next ones begin after those that were meant. Nothing
// depends on a branch, since where zeros are cannot be predicted.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>
#endif

namespace confidently {

inline constexpr std::int64_t kSpareNumbers = 15;  // room that nonzeros() needs beyond n numbers

namespace loops {

// From the number j on, after the first m that were found; returns how many were found.
template <class Value>
std::int32_t nonzeros(const Value* x, std::int64_t n, std::int64_t j, std::int32_t m, std::int32_t* column,
                      double* value) {
    for (; j < n; ++j) {
        column[m] = static_cast<std::int32_t>(j);
        value[m] = x[j];
        m += x[j] != Value(0);
    }
    return m;
}

#if CONFIDENTLY_X86
// Which of four values come first, for every set of those that are not zero.
inline constexpr std::array<std::array<std::int32_t, 4>, 16> kFront = [] {
    std::array<std::array<std::int32_t, 4>, 16> front{};
    for (std::size_t set = 0; set < 16; ++set)
        for (std::size_t k = 0, n = 0; k < 4; ++k)
            if (set >> k & 1) front[set][n++] = static_cast<std::int32_t>(k);
    return front;
}();

CONFIDENTLY_AVX2 inline __m256d four(const double* x) { return _mm256_loadu_pd(x); }
CONFIDENTLY_AVX2 inline __m256d four(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }

template <class Value>
CONFIDENTLY_AVX2 std::int32_t nonzeros_avx2(const Value* x, std::int64_t n, std::int32_t* column, double* value) {
    std::int32_t m = 0;
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const __m256d values = four(x + j);
        const int set = _mm256_movemask_pd(_mm256_cmp_pd(values, _mm256_setzero_pd(), _CMP_NEQ_UQ));
        const __m128i front =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFront[static_cast<std::size_t>(set)].data()));
        // doubles are moved as pairs of 32 bits: k becomes 2k, 2k + 1
        const __m256i pairs = _mm256_cvtepu32_epi64(_mm_add_epi32(front, front));
        const __m256i halves =
            _mm256_or_si256(pairs, _mm256_slli_epi64(_mm256_add_epi64(pairs, _mm256_set1_epi64x(1)), 32));
        const __m256 moved = _mm256_permutevar8x32_ps(_mm256_castpd_ps(values), halves);
        _mm256_storeu_pd(value + m, _mm256_castps_pd(moved));
        const __m128i columns = _mm_add_epi32(front, _mm_set1_epi32(static_cast<std::int32_t>(j)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(column + m), columns);
        m += std::popcount(static_cast<unsigned>(set));
    }
    return nonzeros(x, n, j, m, column, value);
}
#endif

}  // namespace loops

// Returns how many there are. There must be room for n + kSpareNumbers of them.
template <class Value>
std::int32_t nonzeros(const Value* x, std::int64_t n, std::int32_t* column, double* value) {
#if CONFIDENTLY_X86
    if (usual_simd() == Simd::avx2) return loops::nonzeros_avx2(x, n, column, value);
#endif
    return loops::nonzeros(x, n, 0, 0, column, value);
}

}  // namespace confidently
