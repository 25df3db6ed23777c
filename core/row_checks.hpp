// Checks of the numbers of a row. Each is one loop without branches, compiled twice: for any processor, and for AVX2,
// where the compiler makes it of vectors twice as long.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>
#endif

namespace confidently {

namespace loops {

template <class Value>
CONFIDENTLY_INLINE bool within(const Value* values, std::int64_t n, Value largest) {
    using Mask = std::conditional_t<sizeof(Value) == 8, std::int64_t,
                                    std::int32_t>;  // of the same width, so that the loop vectorizes
    Mask bad = 0;
    for (std::int64_t k = 0; k < n; ++k) bad |= -static_cast<Mask>(!(std::fabs(values[k]) <= largest));
    return !bad;
}

CONFIDENTLY_INLINE bool ascending(const std::int32_t* numbers, std::int64_t n) {
    std::int32_t descending = 0;
    for (std::int64_t k = 1; k < n; ++k) descending |= -static_cast<std::int32_t>(numbers[k - 1] >= numbers[k]);
    return !descending;
}

#if CONFIDENTLY_X86
template <class Value>
CONFIDENTLY_AVX2 bool within_avx2(const Value* values, std::int64_t n, Value largest) {
    return within(values, n, largest);
}

CONFIDENTLY_AVX2 inline __m256i next_greater(const std::int32_t* at) {
    return _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 1)),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

// Eight comparisons at a time; the last eight may overlap those before.
CONFIDENTLY_AVX2 inline bool ascending_avx2(const std::int32_t* numbers, std::int64_t n) {
    if (n <= 8) return ascending(numbers, n);
    const std::int32_t* last = numbers + n - 9;
    __m256i greater = next_greater(last);
    for (const std::int32_t* at = numbers; at < last; at += 8) greater = _mm256_and_si256(greater, next_greater(at));
    return _mm256_movemask_epi8(greater) == -1;
}
#endif

}  // namespace loops

// Whether all values are finite and no absolute value exceeds `allowed`.
template <class Value>
bool all_within(const Value* values, std::int64_t n, double allowed) {
    const Value largest = static_cast<Value>(std::min(allowed, double(std::numeric_limits<Value>::max())));
#if CONFIDENTLY_X86
    if (usual_simd() >= Simd::avx2) return loops::within_avx2(values, n, largest);
#endif
    return loops::within(values, n, largest);
}

// Index of the first of n values that is not finite or whose absolute value exceeds `allowed`; n if there is none.
template <class Value>
std::int64_t first_too_large(const Value* values, std::int64_t n, double allowed) {
    if (all_within(values, n, allowed)) return n;
    return std::find_if(values, values + n, [=](Value v) { return !all_within(&v, 1, allowed); }) - values;
}

inline bool all_ascending(const std::int32_t* numbers, std::int64_t n) {
#if CONFIDENTLY_X86
    if (usual_simd() >= Simd::avx2) return loops::ascending_avx2(numbers, n);
#endif
    return loops::ascending(numbers, n);
}

}  // namespace confidently
