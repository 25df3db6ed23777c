// Decimal numbers, correctly rounded as strtod reads them, but faster and in no locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include "rows.hpp"

namespace confidently {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Appends the digits at p to number; returns their end.
inline const char* read_digits(const char* p, std::uint64_t& number) {
    while (is_digit(*p)) number = 10 * number + static_cast<std::uint64_t>(*p++ - '0');
    return p;
}

// Adds the exponent at p, which is an e, to exponent; returns p itself if no digits follow.
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

// mantissa 10^exponent if a single operation on numbers that are exact in their type gives it correctly rounded
// (Clinger 1990): in doubles; or in 64 bits, rounded again, unless the first result is half-way between two doubles.
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

// [first, last): any unsigned number, of so many digits times 10^exponent.
inline double round_decimal(const char* first, const char* last, std::int64_t digits, std::int64_t exponent) {
    double value = 0.0;
    if (std::from_chars(first, last, value).ec == std::errc()) return value;
    for (const char* p = first; *p == '0' || *p == '.'; ++p) digits -= *p == '0';
    return digits + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;  // too large or too small for doubles
}

// Reads [sign] digits [. digits] [e [sign] digits]. Returns the end of what was read, nullptr if it is no number. The
// text must be followed by some character that cannot belong to a number.
CONFIDENTLY_INLINE const char* read_decimal(const char* text, double& value) {
    constexpr std::int64_t most_digits = 19;  // that fit 64 bits for certain
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

}  // namespace confidently
