// Rows counted by bins of a score, of which old ones count less.
#pragma once

#include <algorithm>
#include <array>

#include "tasks/calibration.hpp"

namespace confidently {

// From one row to the next, what a row adds grows by this factor: a learner has predicted its early rows worse. The
// first five rows count alike; then n rows count as (n + 15)/4, and 2000 at most.
inline double growth(double rows) {
    constexpr double alike = 5.0, power = 3.0;
    return rows < alike ? 1.0 : 1.0 + std::max(power / (rows + power * (alike - 1.0)), 1.0 - kDecay);
}

// A place among bins, whatever it was; NaN is the first.
inline double within_bins(double place, int bins) { return place > 0.0 ? std::min(place, bins - 1e-9) : 0.0; }

struct Counts {
    static constexpr double largest_gain = 1e100;
    static constexpr int group = 16;
    double* state;  // what a row adds, the sum, the rows so far, the sums of groups of bins, and the bins
    int bins;

    static constexpr int first_bin(int bins) { return 3 + bins / group; }
    static constexpr int size(int bins) { return first_bin(bins) + bins; }
    double& gain() const { return state[0]; }
    double& total() const { return state[1]; }
    double& seen() const { return state[2]; }
    double* sum() const { return state + 3; }
    double* bin() const { return state + first_bin(bins); }
    double rows() const { return total() / gain(); }
    bool has(double rows) const { return total() >= rows * gain(); }  // whether so many rows count

    static void begin(double* state, int bins) {
        std::fill_n(state, size(bins), 0.0);
        state[0] = 1.0;
    }

    // The rows in the first k bins, times the gain.
    double first(int k) const {
        std::array<double, 4> found{};  // sums that do not wait for each other, without branches that depend on k
        const int groups = k / group;
        for (int j = 0; j < bins / group; j += 4) add_first(sum() + j, groups - j, found);
        if (k < bins)
            for (int j = 0; j < group; j += 4) add_first(bin() + groups * group + j, k - groups * group - j, found);
        return (found[0] + found[1]) + (found[2] + found[3]);
    }

    // The p-value of a row in a bin: how many of the rows, with this one, have a score that is as small. Scores of a
    // bin count as equal, and those of the next bin where there are many: rows that are equal have scores that are
    // nearly equal, since the learner changes.
    double p_value(int k) const {
        constexpr double many = 0.05, least = 5.0;  // of the rows, and rows
        const double near = bin()[k] + (k > 0 ? bin()[k - 1] : 0.0) + (k + 1 < bins ? bin()[k + 1] : 0.0);
        const bool equal = near >= std::max(many * total(), least * gain());
        return (first(std::min(k + 1 + equal, bins)) + gain()) / (total() + gain());
    }

    // growth: of what a row adds, from this one to the next
    void add(int k, double growth) const {
        bin()[k] += gain();
        sum()[k / group] += gain();
        total() += gain();
        age(growth);
    }

    void age(double growth) const {
        seen() += 1.0;
        gain() *= growth;
        if (!(gain() > largest_gain)) return;
        for (double* one = sum(); one < state + size(bins); ++one) *one /= gain();
        total() /= gain();
        gain() = 1.0;
    }

    // Counts the rows of others in, as often as they count there; sign: or takes them out.
    void add_all(const Counts& others, double sign) const {
        const double factor = sign / others.gain();
        for (int k = 3; k < size(bins); ++k) state[k] += factor * others.state[k];
        total() += factor * others.total();
    }

  private:
    // Adds the first n of four numbers.
    static void add_first(const double* numbers, int n, std::array<double, 4>& sums) {
        static constexpr std::array<double, 8> ones{1.0, 1.0, 1.0, 1.0};
        const double* one = ones.data() + 4 - std::clamp(n, 0, 4);
        for (int i = 0; i < 4; ++i) sums[i] += one[i] * numbers[i];
    }
};

}  // namespace confidently
