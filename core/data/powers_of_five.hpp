// Decimal numbers of up to 19 digits as doubles, correctly rounded, by one or two multiplications of integers.
//
// A number is w 10^q = w 5^q 2^q. The table has the first 128 bits of 5^q, so that the product with w, as 64 bits, has
// an error below 2 in its 128th bit. Nearly always the 54 bits of a double and the half behind it are certain from
// that; where the product is so near to the half between two doubles that they are not, the caller must find out
// otherwise. (The idea is that of Eisel and Lemire, Number parsing at a gigabyte per second, 2021; here no case is
// decided by arguments about the range of q.)
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "rows.hpp"

namespace confidently {

#if defined(__SIZEOF_INT128__)

__extension__ typedef unsigned __int128 Wide;

// The first 128 bits of 5^q, rounded down, for |q| up to 54: then 5^|q| has 126 bits at most.
struct PowersOfFive {
    static constexpr int most = 54;

    struct Bits {
        std::uint64_t high, low;
    };
    Bits of[2 * most + 1]{};
    int exponent[2 * most + 1]{};  // of the first bit

    constexpr PowersOfFive() {
        Wide power = 1;
        for (int q = 0; q <= most; ++q, power *= 5) {
            int bits = 0;
            while (bits < 128 && power >> bits) ++bits;
            put(q, power << (128 - bits), bits - 1);
            if (q == 0) continue;
            Wide rest = Wide(1) << (bits - 1), quotient = 0;  // 2^(127 + bits) / 5^q, bit by bit
            for (int k = 0; k < 128; ++k) {
                rest <<= 1;
                quotient = quotient << 1 | (rest >= power);
                if (rest >= power) rest -= power;
            }
            put(-q, quotient, -bits);
        }
    }

  private:
    constexpr void put(int q, Wide bits, int first) {
        of[q + most] = {static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits)};
        exponent[q + most] = first;
    }
};
inline constexpr PowersOfFive kPowersOfFive;

// Computes w 10^q; returns false if the product does not tell how to round it, or is not a normal double.
CONFIDENTLY_INLINE bool rounded_product(std::uint64_t w, std::int64_t q, double& value) {
    if (w == 0 || q < -PowersOfFive::most || q > PowersOfFive::most) return false;
    const int zeros = std::countl_zero(w);
    w <<= zeros;
    const PowersOfFive::Bits power = kPowersOfFive.of[q + PowersOfFive::most];
    const Wide product = Wide(w) * power.high + (Wide(w) * power.low >> 64);
    const auto high = static_cast<std::uint64_t>(product >> 64), low = static_cast<std::uint64_t>(product);
    const int shift = 9 + static_cast<int>(high >> 63);  // 54 bits are left: those of a double, and the half
    const std::uint64_t rest = (std::uint64_t(1) << shift) - 1, bits = high >> shift;
    const bool may_carry = (high & rest) == rest && low >= ~std::uint64_t(1);
    const bool may_be_half = (high & rest) == 0 && low == 0 && (bits & 1);
    if (may_carry || may_be_half) return false;
    const std::uint64_t mantissa =
        (bits + 1) >> 1;  // perhaps 2^53: then the sum below carries into the exponent, as it should
    // from -229 to 311 for all q and w, so that it is a normal double
    const std::int64_t exponent = shift + 2 + kPowersOfFive.exponent[q + PowersOfFive::most] + q - zeros;
    const std::uint64_t double_bits = (static_cast<std::uint64_t>(exponent + 52 + 1023 - 1) << 52) + mantissa;
    std::memcpy(&value, &double_bits, sizeof value);
    return true;
}

#else

inline bool rounded_product(std::uint64_t, std::int64_t, double&) { return false; }

#endif

}  // namespace confidently
