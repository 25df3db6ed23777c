// The CRC-32 of zlib by multiplication without carries, about ten times as fast as by tables: the checksums of a cache took as long as
// to learn its rows.
//
// A CRC is the remainder of a polynomial over bits. Sixteen bytes that are n bytes away from others have the same remainder as their
// products with x^8n modulo the polynomial, which are sixteen bytes again. So four registers run through the bytes and are multiplied, 64
// bytes at a time; then they are multiplied onto the last of them, whose remainder is found by Barrett's reduction. The constants are
// those powers, bits in reverse. (V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, 2009.)
//
// Not handled: processors without the instruction, for which crc32 has no value, and fewer than 64 bytes or a rest of less than 16,
// which are taken bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>
#endif

namespace confidently {

// Registers before and after: the complement of a CRC.
inline std::uint32_t crc32_by_bits(const std::uint8_t* p, std::size_t n, std::uint32_t state) {
    for (; n > 0; --n) {
        state ^= *p++;
        for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (0xedb88320u & (0u - (state & 1u)));
    }
    return state;
}

#if CONFIDENTLY_X86
// Of n >= 64 bytes, a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) inline std::uint32_t crc32_by_products(const std::uint8_t* p, std::size_t n, std::uint32_t state) {
    const auto* at = reinterpret_cast<const __m128i*>(p);
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124), reduction = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i a = _mm_xor_si128(_mm_loadu_si128(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = _mm_loadu_si128(at + 1), c = _mm_loadu_si128(at + 2), d = _mm_loadu_si128(at + 3);
    for (at += 4, n -= 64; n >= 64; at += 4, n -= 64) {
        const __m128i a0 = _mm_clmulepi64_si128(a, by_64, 0x00), b0 = _mm_clmulepi64_si128(b, by_64, 0x00);
        const __m128i c0 = _mm_clmulepi64_si128(c, by_64, 0x00), d0 = _mm_clmulepi64_si128(d, by_64, 0x00);
        a = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(a, by_64, 0x11), a0), _mm_loadu_si128(at));
        b = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(b, by_64, 0x11), b0), _mm_loadu_si128(at + 1));
        c = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(c, by_64, 0x11), c0), _mm_loadu_si128(at + 2));
        d = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(d, by_64, 0x11), d0), _mm_loadu_si128(at + 3));
    }
    for (const __m128i next : {b, c, d})
        a = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(a, by_16, 0x11), _mm_clmulepi64_si128(a, by_16, 0x00)), next);
    for (; n >= 16; ++at, n -= 16)
        a = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(a, by_16, 0x11), _mm_clmulepi64_si128(a, by_16, 0x00)), _mm_loadu_si128(at));
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low), by_8, 0x00));
    const __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low), reduction, 0x10), low);
    a = _mm_xor_si128(a, _mm_clmulepi64_si128(quotient, reduction, 0x00));
    return static_cast<std::uint32_t>(_mm_extract_epi32(a, 1));
}
#endif

// The CRC-32 of bytes that follow others, whose CRC-32 is before; none if this processor has no fast way.
inline std::optional<std::uint32_t> crc32(const std::uint8_t* p, std::size_t n, std::uint32_t before) {
#if CONFIDENTLY_X86
    static const bool fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    if (!fast || usual_simd() == Simd::plain) return std::nullopt;
    const std::size_t most = n >= 64 ? n & ~std::size_t(15) : 0;
    std::uint32_t state = ~before;
    if (most) state = crc32_by_products(p, most, state);
    return ~crc32_by_bits(p + most, n - most, state);
#else
    static_cast<void>(p), static_cast<void>(n), static_cast<void>(before);
    return std::nullopt;
#endif
}

}  // namespace confidently
