// Decimal numbers, rounded correctly as by strtod, but faster and independent of the locale.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#if defined(__APPLE__) || defined(__FreeBSD__)
#include <xlocale.h>
#else
#include <locale.h>
#include <stdlib.h>
#endif

#include "rows.hpp"

namespace confidently {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Appends the digits at p to number; returns their end.
inline const char* read_digits(const char* p, std::uint64_t& number) {
    while (is_digit(*p)) number = 10 * number + static_cast<std::uint64_t>(*p++ - '0');
    return p;
}

// Adds the exponent at p, which is an e, to exponent; returns p if no digits follow.
inline const char* read_exponent(const char* p, std::int64_t& exponent) {
    constexpr std::int64_t saturation = 100'000;
    const bool negative = p[1] == '-';
    const char* q = p + 1 + (negative || p[1] == '+');
    if (!is_digit(*q)) return p;
    std::int64_t written = 0;
    for (; is_digit(*q); ++q)
        if (written < saturation) written = 10 * written + (*q - '0');
    exponent += negative ? -written : written;
    return q;
}

template <class Real>
inline constexpr Real kPowersOfTen[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

template <class Real>
Real times_power(std::uint64_t mantissa, std::int64_t exponent) {
    const Real m = static_cast<Real>(mantissa);
    return exponent < 0 ? m / kPowersOfTen<Real>[-exponent] : m * kPowersOfTen<Real>[exponent];
}

// Computes mantissa 10^exponent if one operation on exact numbers rounds it correctly (Clinger 1990): in doubles, or in 64 bits and
// rounded again, unless the first result is half-way between two doubles.
inline bool exactly_rounded(std::uint64_t mantissa, std::int64_t exponent, double& value) {
    if (mantissa <= std::uint64_t(1) << 53 && -22 <= exponent && exponent <= 22) {
        value = times_power<double>(mantissa, exponent);
        return true;
    }
    if constexpr (std::numeric_limits<long double>::digits == 64) {
        if (-27 <= exponent && exponent <= 27) {
            const long double wide = times_power<long double>(mantissa, exponent);
            std::uint64_t bits;
            std::memcpy(&bits, &wide, sizeof bits);
            value = static_cast<double>(wide);
            return (bits & 0x7FF) != 0x400;
        }
    }
    return false;
}

// [first, last): any unsigned number, with so many digits times 10^exponent.
inline double round_decimal(const char* first, const char* last, [[maybe_unused]] std::int64_t digits,
                            [[maybe_unused]] std::int64_t exponent) {
#if !defined(_LIBCPP_VERSION) || defined(__cpp_lib_to_chars)
    double value = 0.0;
    if (std::from_chars(first, last, value).ec == std::errc()) return value;
    for (const char* p = first; *p == '0' || *p == '.'; ++p) digits -= *p == '0';
    return digits + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;  // too large or too small for doubles
#elif defined(_WIN32)  // libc++ reads no doubles, or does not declare that it does
    static const _locale_t plain = _create_locale(LC_ALL, "C");
    return _strtod_l(std::string(first, last).c_str(), nullptr, plain);
#else
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(std::string(first, last).c_str(), nullptr, plain);
#endif
}

// Reads [sign] digits [. digits] [e [sign] digits]. Returns the end of the number, or nullptr if there is none. The text must be
// followed by a byte that does not continue a number.
CONFIDENTLY_INLINE const char* read_decimal(const char* text, double& value) {
    constexpr std::int64_t most_digits = 19;  // always fit 64 bits
    const bool negative = *text == '-';
    const char* first = text + (negative || *text == '+');
    std::uint64_t mantissa = 0;
    const char* p = read_digits(first, mantissa);
    std::int64_t digits = p - first - (*first == '0'), exponent = 0;
    if (p == first && *p != '.') return nullptr;
    if (*p == '.') {
        const char* fraction = p + 1;
        const char* end = read_digits(fraction, mantissa);
        if (p == first && end == fraction) return nullptr;
        exponent = fraction - end;
        digits -= exponent;
        p = end;
    }
    if (*p == 'e' || *p == 'E') p = read_exponent(p, exponent);
    double size;
    if (digits > most_digits || !exactly_rounded(mantissa, exponent, size)) size = round_decimal(first, p, digits, exponent);
    value = negative ? -size : size;
    return p;
}

inline constexpr std::uint64_t kTenTo[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000};

// The leading digits among 8 bytes: how many there are, and their number if they are fewer than 8. Without branches, because the number
// of digits is hard to predict.
struct Digits {
    std::uint64_t number;
    int count;
};

CONFIDENTLY_INLINE Digits digits_of_8(const char* p) {
    static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    std::uint64_t digits = bytes ^ 0x3030303030303030;  // a digit's byte is its value, all others are above 9
    const std::uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    const int bits = std::countr_zero(others) & ~7;  // 64 if all are digits
    digits = digits << 8 << ((56 - bits) & 63);      // leading zeros before the first
    digits = digits * 10 + (digits >> 8);            // pairs, then all four pairs
    digits = ((digits & 0x000000ff000000ff) * 0x000f424000000064 + (digits >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >> 32;
    return {digits & 0xffffffff, bits / 8};
}

inline constexpr std::ptrdiff_t kShortDecimal = 24;  // bytes that read_short_decimal may look at

// Reads the most common numbers, [-] up to 7 digits [. up to 7 digits], faster; nullptr for others, which may be numbers too.
CONFIDENTLY_INLINE const char* read_short_decimal(const char* text, double& value) {
    const bool negative = *text == '-';
    text += negative;
    const bool single = text[1] == '.' && is_digit(*text);  // most fractions begin with 0.
    const Digits whole = single ? Digits{static_cast<std::uint64_t>(*text - '0'), 1} : digits_of_8(text);
    const char* p = text + whole.count;
    if (whole.count == 8) return nullptr;
    int exponent = 0;
    std::uint64_t mantissa = whole.number;
    if (*p == '.') {
        const Digits fraction = digits_of_8(++p);
        if (fraction.count == 8) return nullptr;
        exponent = fraction.count;
        mantissa = mantissa * kTenTo[exponent] + fraction.number;  // below 10^14: exact
        p += exponent;
    }
    value = static_cast<double>(mantissa);
    if (exponent) value /= static_cast<double>(kTenTo[exponent]);  // quotient of two exact numbers: rounded once
    value = negative ? -value : value;
    return whole.count + exponent > 0 && *p != 'e' && *p != 'E' ? p : nullptr;
}

}  // namespace confidently
