// Sorts up to a thousand numbers of 32 bits, all different, with AVX2: a bitonic network (Batcher 1968), which compares
// the same places whatever the numbers are, so that nothing is mispredicted and eight pairs are compared at a time.
//
// Each register of eight is sorted by itself. Then sorted runs of 8, 16, 32, ... are merged in pairs: every number of
// the first run with its mirror image in the second, and then, in each half, those at half the distance, and so on down
// to neighbors. Places behind the last number are filled with the largest one. It sorts no more than kMostShort
// numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>

namespace confidently {

inline constexpr std::size_t kMostShort = 1024;

class ShortSort {
  public:
    // Sorts n numbers ascending. There must be room for kMostShort.
    CONFIDENTLY_AVX2 static void sort(std::uint32_t* numbers, std::size_t n) {
        const std::size_t size = std::bit_ceil(n < 8 ? std::size_t(8) : n);
        for (std::size_t k = n; k < size; ++k) numbers[k] = ~std::uint32_t(0);
        for (std::size_t k = 0; k < size; k += 8) store(numbers + k, sorted(load(numbers + k)));
        for (std::size_t run = 8; run < size; run *= 2)
            for (std::uint32_t* first = numbers; first != numbers + size; first += 2 * run) merge(first, run);
    }

  private:
    CONFIDENTLY_AVX2 static __m256i load(const std::uint32_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    CONFIDENTLY_AVX2 static void store(std::uint32_t* p, __m256i x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
    }

    // Compares each number with the one in its place of other: the larger ones go where the mask has ones.
    template <int mask>
    CONFIDENTLY_AVX2 static __m256i exchanged(__m256i x, __m256i other) {
        return _mm256_blend_epi32(_mm256_min_epu32(x, other), _mm256_max_epu32(x, other), mask);
    }

    CONFIDENTLY_AVX2 static __m256i reversed(__m256i x) {
        return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    }

    // Neighbours at distances 2 and 1.
    CONFIDENTLY_AVX2 static __m256i last_steps(__m256i x) {
        x = exchanged<0xcc>(x, _mm256_shuffle_epi32(x, 0x4e));
        return exchanged<0xaa>(x, _mm256_shuffle_epi32(x, 0xb1));
    }

    // The steps of a merge within a register.
    CONFIDENTLY_AVX2 static __m256i within(__m256i x) {
        return last_steps(exchanged<0xf0>(x, _mm256_permute2x128_si256(x, x, 1)));
    }

    CONFIDENTLY_AVX2 static __m256i sorted(__m256i x) {
        x = exchanged<0xaa>(x, _mm256_shuffle_epi32(x, 0xb1));
        x = exchanged<0xcc>(x, _mm256_shuffle_epi32(x, 0x1b));
        x = exchanged<0xaa>(x, _mm256_shuffle_epi32(x, 0xb1));
        return last_steps(exchanged<0xf0>(x, reversed(x)));
    }

    // Merges two sorted runs that follow each other.
    CONFIDENTLY_AVX2 static void merge(std::uint32_t* first, std::size_t run) {
        std::uint32_t* last = first + 2 * run - 8;
        for (std::size_t k = 0; k < run; k += 8) {
            const __m256i low = load(first + k), high = reversed(load(last - k));
            store(first + k, _mm256_min_epu32(low, high));
            store(last - k, reversed(_mm256_max_epu32(low, high)));
        }
        for (std::size_t distance = run / 2; distance >= 8; distance /= 2)
            for (std::uint32_t* p = first; p != first + 2 * run; p += 2 * distance)
                for (std::size_t k = 0; k < distance; k += 8) {
                    const __m256i low = load(p + k), high = load(p + k + distance);
                    store(p + k, _mm256_min_epu32(low, high));
                    store(p + k + distance, _mm256_max_epu32(low, high));
                }
        for (std::uint32_t* p = first; p != first + 2 * run; p += 8) store(p, within(load(p)));
    }
};

}  // namespace confidently
#endif
