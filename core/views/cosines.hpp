// Random cosines: sqrt(2/n) cos(w'x + b), by default for x of unit norm, whose products approximate a Gaussian kernel
// (Rahimi & Recht 2007).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "processor.hpp"
#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

// Coefficients of cos in powers of x^2, (-1)^k/(2k)!, the last ones first: for |x| <= pi/2 what follows is below 1e-17.
inline constexpr double kCosine[] = {-1.0 / 1124000727777607680000.0,
                                     1.0 / 2432902008176640000.0,
                                     -1.0 / 6402373705728000.0,
                                     1.0 / 20922789888000.0,
                                     -1.0 / 87178291200.0,
                                     1.0 / 479001600.0,
                                     -1.0 / 3628800.0,
                                     1.0 / 40320.0,
                                     -1.0 / 720.0,
                                     1.0 / 24.0,
                                     -1.0 / 2.0,
                                     1.0};
// pi in three parts, of which the first two times an integer below 2^20 are exact.
inline constexpr double kPi[] = {3.1415926218032836914, 3.1786509424591713469e-08, 1.2246467864107188502e-16};
inline constexpr double kLargestAngle = 1e6;          // up to which angles are reduced so
inline constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding and subtracting it rounds to integers

// The cosine of an angle that is not too large, as accurate as that of the library and, in a loop, several at a time.
CONFIDENTLY_INLINE double cosine(double angle) {
    const double half_turns = (angle * 0.31830988618379067154 + kRound) - kRound;
    const double odd = std::fabs(half_turns - 2.0 * ((0.5 * half_turns + kRound) - kRound));  // 0 or 1
    const double rest = ((angle - half_turns * kPi[0]) - half_turns * kPi[1]) - half_turns * kPi[2];
    const double square = rest * rest;
    double sum = kCosine[0];
    for (int k = 1; k < 12; ++k) sum = sum * square + kCosine[k];
    return sum * (1.0 - 2.0 * odd);
}

struct Cosines {
    static constexpr const char* name = "cosines";

    std::int64_t n;
    std::int64_t used;                // the first features, which have directions; others are left out
    const double *direction, *phase;  // by feature and cosine; by cosine
    mutable std::vector<double> angle;
    bool unit_norm = true;

    template <class State>
    static Cosines open(const State& state, Undo<double>*) {
        const auto n = static_cast<std::int64_t>(state.size("cosines.phase"));
        state.template array<std::int64_t>("cosines.key", n_features(state));  // one by feature
        const auto used = static_cast<std::int64_t>(state.size("cosines.direction"));
        return {n,
                used,
                state.template array<double>("cosines.direction", used, n),
                state.template array<double>("cosines.phase", n),
                {}};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("cosines.key"));
    }

    void see(const Row& row, MadeRows& out) const {
        angle.assign(phase, phase + n);
        if (usual_simd() >= Simd::avx2)
            made_avx2(row, angle.data());
        else
            made(row, angle.data());
        for (std::int64_t c = 0; c < n; ++c) out.add(static_cast<std::int32_t>(c), angle[static_cast<std::size_t>(c)]);
        out.end_row();
    }

  private:
    // Turns the phases into the cosines.
    CONFIDENTLY_INLINE void made(const Row& row, double* __restrict angle) const {
        const double length = unit_norm ? norm(row.value, static_cast<std::size_t>(row.size)) : 1.0;
        const double size = std::sqrt(2.0 / static_cast<double>(n));
        for (std::int32_t i = 0; i < row.size && length > 0.0; ++i) {
            if (row.column[i] >= used) break;  // columns ascend
            const double x = row.value[i] / length;
            const double* w = direction + row.column[i] * n;
            for (std::int64_t c = 0; c < n; ++c) angle[c] += x * w[c];
        }
        std::int64_t too_large = 0;
        for (std::int64_t c = 0; c < n; ++c) too_large += std::fabs(angle[c]) > kLargestAngle;
        if (too_large)
            for (std::int64_t c = 0; c < n; ++c) angle[c] = size * std::cos(angle[c]);
        else
            for (std::int64_t c = 0; c < n; ++c) angle[c] = size * cosine(angle[c]);
    }

#if CONFIDENTLY_X86
    CONFIDENTLY_AVX2 CONFIDENTLY_ALONE void made_avx2(const Row& row, double* angle) const { made(row, angle); }
#else
    void made_avx2(const Row& row, double* angle) const { made(row, angle); }
#endif
};

}  // namespace confidently
