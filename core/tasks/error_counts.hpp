// Standardized errors of predictions counted by bins, of which old ones count less.
#pragma once

#include <algorithm>
#include <cmath>

#include "tasks/calibration.hpp"
#include "tasks/counts.hpp"
#include "tasks/intervals.hpp"

namespace confidently {

struct ErrorCounts {
    static constexpr int bins = 512, group = 16, at_bins = bins / group, size = at_bins + bins;
    // Errors are counted by asinh(z) times this: bins are .025 wide near 0, and the last ones begin at 300 standard
    // deviations.
    static constexpr double bins_per_unit = 40.0;
    static constexpr int near = 4;  // bins on both sides, whose errors may be equal ones of a learner that has moved
    static constexpr double crowd = 0.125;  // a part of all errors, above which that is likely
    static constexpr double largest_gain = 1e100;
    double* gain;  // what a row adds to its bin: it grows, so that old rows count less
    double* sum;   // of groups of bins, and the bins

    double* bin() const { return sum + at_bins; }

    // The p-values of a standardized error, which is the n-th.
    ErrorPValues p_values(double z, double n) const {
        const double place = place_of(z);
        const int own = static_cast<int>(place), groups = own / group;
        double low = 0.0, high = 0.0, near_low = 0.0, near_high = 0.0;
        for (int j = 0; j < groups; ++j) low += sum[j];
        for (int j = groups + 1; j < bins / group; ++j) high += sum[j];
        for (int k = groups * group; k < own; ++k) low += bin()[k];
        for (int k = own + 1; k < (groups + 1) * group; ++k) high += bin()[k];
        for (int k = std::max(own - near, 0); k < own; ++k) near_low += bin()[k];
        for (int k = own + 1; k <= std::min(own + near, bins - 1); ++k) near_high += bin()[k];
        const double same = bin()[own], part = (place - own) * same, all = low + same + high + *gain;
        const double alike = near_low + same + near_high + *gain, below = low - near_low;
        // where many are alike, the least extreme of what it may be: a learner that moves makes them drift together
        const double middle = std::clamp(0.5 * all - below, 0.0, alike);
        const double random = alike > crowd * all ? middle : drawn(static_cast<std::uint64_t>(n) - 1) * alike;
        return {(low + part + *gain) / all, (high + same - part + *gain) / all,
                std::clamp((below + random) / all, 0.0, 1.0)};
    }

    void count(double z) const {
        const int k = static_cast<int>(place_of(z));
        bin()[k] += *gain;
        sum[k / group] += *gain;
        *gain /= kDecay;
        if (!(*gain > largest_gain)) return;
        for (int j = 0; j < size; ++j) sum[j] /= *gain;
        *gain = 1.0;
    }

  private:
    static double place_of(double z) { return within_bins(std::asinh(z) * bins_per_unit + bins / 2, bins); }
};

// What is known of the errors of the rows of a group: their counts, and the levels below and above. state: what a row
// adds, the rows, the counts, and the levels
struct GroupErrors {
    static constexpr int at_counts = 2, at_low = at_counts + ErrorCounts::size, at_high = at_low + Levels::size,
                         size = at_high + Levels::size;
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        state[0] = 1.0;
        Levels::begin(state + at_low);
        Levels::begin(state + at_high);
    }

    // z: relative to the size of the noise; NaN: of a prediction that counts for nothing
    void learn(double z) const {
        state[1] += 1.0;
        if (std::isnan(z)) return;
        const ErrorCounts errors{state, state + at_counts};
        const ErrorPValues p = errors.p_values(z, state[1]);
        Levels{state + at_low}.learn(p.below);
        Levels{state + at_high}.learn(p.above);
        errors.count(z);
    }
};

}  // namespace confidently
