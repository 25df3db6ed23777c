// What makes intervals around predictions of numbers conformal: the size of the noise of a row, levels that follow
// misses, and a test of the order of the rows (docs/uncertainty.md).
#pragma once

#include <algorithm>

#include "tasks/conformal.hpp"
#include "tasks/noise_scale.hpp"

namespace confidently {

// The p-values of an error among those before: the parts that are not above and not below it. Within a bin of equal
// ones they are in proportion, or, in `atoms`, all of them.
struct ErrorPValues {
    double below, above, below_atoms, above_atoms;
};

// state: the scale of the noise, the levels below and above, and the martingale
struct ConformalIntervals {
    static constexpr int at_low = NoiseScale::size, at_high = at_low + Levels::size,
                         at_martingale = at_high + Levels::size, size = at_martingale + Martingale::size;
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
        Martingale{state + at_martingale}.learn(std::min(1.0, 2.0 * std::min(p.below_atoms, p.above_atoms)));
    }
};

}  // namespace confidently
