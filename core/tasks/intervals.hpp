// What makes intervals around predictions of numbers conformal: the size of the noise of a row, levels that follow
// misses, and a test of the order of the rows (docs/uncertainty.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tasks/conformal.hpp"
#include "tasks/noise_scale.hpp"

namespace confidently {

// The p-values of an error among those before: the parts that are not above and not below it, of those in its bin in
// proportion; and the part below, of which those that may be equal to it are divided at random or, if these are many,
// in favor of the middle.
struct ErrorPValues {
    double below, above, random;
};

// state: the scale of the noise, the levels below and above, and the martingale
struct ConformalIntervals {
    static constexpr int at_low = NoiseScale::size, at_high = at_low + Levels::size,
                         at_martingale = at_high + Levels::size, size = at_martingale + Martingale::size;
    static constexpr double least_p = 1e-12;
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        Levels::begin(state + at_low);
        Levels::begin(state + at_high);
        Martingale::begin(state + at_martingale);
    }

    NoiseScale scale() const { return {state}; }

    void learn(const ErrorPValues& p) const {
        Levels{state + at_low}.learn(p.below);
        Levels{state + at_high}.learn(p.above);
        Martingale{state + at_martingale}.learn(std::max(2.0 * std::min(p.random, 1.0 - p.random), least_p));
    }
};

}  // namespace confidently
