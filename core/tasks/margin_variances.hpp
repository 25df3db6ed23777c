// How uncertain predictions were: a row whose margin has a larger variance than nearly all rows before is unlike these.
#pragma once

#include <bit>
#include <cstdint>

#include "tasks/counts.hpp"

namespace confidently {

// Variances of margins, x' Sigma x, each from before the label was used. state: Counts
struct MarginVariances {
    static constexpr int bins = 96, size = Counts::size(bins);
    static constexpr double per_octave = 2.0, least_exponent = -24.0;  // bins
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        state[0] = 1.0;
    }

    // The bits of a number, read as an integer, are linear in its logarithm between powers of 2.
    static double place(double variance) {
        const double logarithm = static_cast<double>(std::bit_cast<std::int64_t>(variance)) * 0x1p-52 - 1023.0;
        return variance > 0.0 ? within_bins((logarithm - least_exponent) * per_octave, bins) : 0.0;
    }

    void learn(double variance) const {
        const Counts counts{state, bins};
        counts.add(static_cast<int>(place(variance)), growth(counts.seen() + 1.0));
    }

    // The part of the rows before, and of this one, whose variance was as large.
    double p_value(double variance) const {
        const Counts counts{state, bins};
        return (counts.rows() - counts.below(place(variance)) + 1.0) / (counts.rows() + 1.0);
    }
};

}  // namespace confidently
