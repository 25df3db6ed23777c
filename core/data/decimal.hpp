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

#include "data/powers_of_five.hpp"
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

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Computes mantissa 10^exponent, rounded once; returns false if that takes more than 128 bits.
inline bool exactly_rounded(std::uint64_t mantissa, std::int64_t exponent, double& value) {
    if (mantissa <= std::uint64_t(1) << 53 && -22 <= exponent &&
        exponent <= 22) {  // one operation on exact numbers (Clinger 1990)
        const auto m = static_cast<double>(mantissa);
        value = exponent < 0 ? m / kPowersOfTen[-exponent] : m * kPowersOfTen[exponent];
        return true;
    }
    return rounded_product(mantissa, exponent, value);
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

// Reads [sign] digits [. digits] [e [sign] digits]. Returns the end of the number, or nullptr if there is none. The
// text must be followed by a byte that does not continue a number.
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
    if (digits > most_digits || !exactly_rounded(mantissa, exponent, size))
        size = round_decimal(first, p, digits, exponent);
    value = negative ? -size : size;
    return p;
}

inline constexpr std::uint64_t kTenTo[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// 8 bytes, each the value of a digit, the first the lowest byte, as one number: pairs, then all four pairs.
inline std::uint64_t joined(std::uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    return ((digits & 0x000000ff000000ff) * 0x000f424000000064 +
            (digits >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
           32;
}

// The leading digits among 8 bytes, and their number. Without branches, because the number of digits is hard to
// predict.
struct Digits {
    std::uint64_t number;
    int count;
};

CONFIDENTLY_INLINE Digits digits_of_8(const char* p) {
    static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    const std::uint64_t digits = bytes ^ 0x3030303030303030;  // a digit's byte is its value, all others are above 9
    const std::uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    const int bits = std::countr_zero(others) & ~7;     // 64 if all are digits
    const int half = 32 - bits / 2;                     // a shift by 64 at once is not defined
    return {joined(digits << half << half), bits / 8};  // with zeros before the first
}

// The same for a fraction of 8 digits or more, from p on, up to 19 in all with those before the point; with an
// exponent.
inline const char* read_long_fraction(const char* p, Digits whole, double& value) {
    std::uint64_t mantissa = whole.number;
    int digits = 0;
    for (int k = 0; k < 3; ++k) {
        const Digits next = digits_of_8(p + digits);
        mantissa = mantissa * kTenTo[next.count] + next.number;
        digits += next.count;
        if (next.count < 8) break;
    }
    if (digits + (whole.number ? whole.count : 0) > 19) return nullptr;
    std::int64_t exponent = -digits;
    p += digits;
    if (*p == 'e' || *p == 'E') p = read_exponent(p, exponent);
    return rounded_product(mantissa, exponent, value) || exactly_rounded(mantissa, exponent, value) ? p : nullptr;
}

// Without a branch, because signs are hard to predict.
inline double with_sign(double size, bool negative) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | std::uint64_t(negative) << 63);
}

inline constexpr std::ptrdiff_t kShortDecimal = 40;  // bytes that read_short_decimal may look at, up to an exponent

// Reads the most common numbers, [-] up to 7 digits [. digits], faster; nullptr for others, which may be numbers too.
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
        if (fraction.count == 8) {
            p = read_long_fraction(p, whole, value);
            value = with_sign(value, negative);
            return p;
        }
        exponent = fraction.count;
        mantissa = mantissa * kTenTo[exponent] + fraction.number;  // below 10^14: exact
        p += exponent;
    }
    value = static_cast<double>(static_cast<std::int64_t>(mantissa));
    if (exponent) value /= kPowersOfTen[exponent];  // quotient of two exact numbers: rounded once
    value = with_sign(value, negative);
    return whole.count + exponent > 0 && *p != 'e' && *p != 'E' ? p : nullptr;
}

}  // namespace confidently
