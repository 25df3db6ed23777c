// How uncertain predictions were: a row whose margin has a larger variance than nearly all rows before is unlike these.
#pragma once

#include <bit>
#include <cstdint>

#include "tasks/counts.hpp"

namespace confidently {

// Variances of margins, x' Sigma x, each from before the label was used, relative to their mean on a logarithmic scale
// so far: all variances fall while the learner learns. state: this mean, then Counts
struct MarginVariances {
    static constexpr int bins = 192, size = 1 + Counts::size(bins);
    static constexpr double per_octave = 4.0;  // bins, the middle one of which is at the mean
    double* state;

    static void begin(double* state) {
        state[0] = 0.0;
        Counts::begin(state + 1, bins);
    }

    void learn(double variance) const {
        const Counts counts = this->counts();
        const double log = log2(variance), gain = counts.gain();
        const double total = counts.total() + gain;  // before they are perhaps scaled again
        if (counts.total() == 0.0) mean() = log;
        counts.add(bin(log), growth(counts.seen() + 1.0));
        mean() += gain / total * (log - mean());
    }

    // The part of the rows before, and of this one, whose variance was as large.
    double p_value(double variance) const {
        const Counts counts = this->counts();
        const double below = counts.before(bin(log2(variance)));
        return (counts.total() - below + counts.gain()) / (counts.total() + counts.gain());
    }

  private:
    double& mean() const { return state[0]; }
    Counts counts() const { return {state + 1, bins}; }

    int bin(double log) const { return static_cast<int>(within_bins((log - mean()) * per_octave + bins / 2, bins)); }

    // The bits of a number, read as an integer, are linear in its logarithm between powers of 2.
    static double log2(double variance) {
        constexpr double least = -200.0;
        if (!(variance > 0.0)) return least;
        return std::max(static_cast<double>(std::bit_cast<std::int64_t>(variance)) * 0x1p-52 - 1023.0, least);
    }
};

}  // namespace confidently
