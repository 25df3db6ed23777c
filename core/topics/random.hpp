// Streams of random numbers that depend on a key only: one stream per document, on whichever thread it is processed.
#pragma once

#include <cmath>
#include <cstdint>

namespace confidently {

// The finalizer of SplitMix64: a bijection that scatters neighboring numbers (Steele, Lea & Flood, OOPSLA 2014).
inline std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

inline std::uint64_t key(std::uint64_t before, std::uint64_t part) { return mix64(before + kGolden * (part + 1)); }

class Stream {
  public:
    Stream() = default;
    explicit Stream(std::uint64_t key) : state_(key) {}

    // in (0, 1)
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

    // in 0 to n - 1; the bias of n/2^32 is negligible
    int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(6.283185307179586477 * uniform());
    }

    // Inverse Gaussian of shape 1 (Michael, Schucany & Haas 1976), with the smaller root computed without cancellation.
    double inverse_gaussian(double mean) {
        const double g = normal(), t = mean * g * g;
        const double x = 2.0 * mean / (2.0 + t + std::sqrt(4.0 * t + t * t));
        return uniform() <= mean / (mean + x) ? x : mean * (mean / x);
    }

  private:
    std::uint64_t state_ = 0;

    std::uint64_t next() { return mix64(state_ += kGolden); }
};

}  // namespace confidently
