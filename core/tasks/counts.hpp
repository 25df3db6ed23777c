// Rows counted by bins of a score, of which old ones count less.
#pragma once

#include <algorithm>
#include <array>

#include "tasks/calibration.hpp"

namespace confidently {

// What was learned of early rows counts less, since they were predicted worse: the weights of rows grow with the square
// of their number, and by 1/2000 a row later on.
inline double growth(double rows) { return 1.0 + std::max(2.0 / rows, 1.0 - kDecay); }

// A place among bins, whatever it was; NaN is the first.
inline double within_bins(double place, int bins) { return place > 0.0 ? std::min(place, bins - 1e-9) : 0.0; }

// Rows by bins; old ones count less, since what a row adds grows.
struct Counts {
    static constexpr int group = 8;
    static constexpr double largest_gain = 1e100;
    double* state;  // what a row adds, the sum, the rows so far, the sums of groups of bins, and the bins
    int bins;

    static constexpr int size(int bins) { return 3 + bins / group + bins; }
    double& gain() const { return state[0]; }
    double& total() const { return state[1]; }
    double& seen() const { return state[2]; }
    double& sum(int j) const { return state[3 + j]; }
    double& bin(int k) const { return state[3 + bins / group + k]; }
    double rows() const { return total() / gain(); }

    // The rows below a place, of those in its bin in proportion.
    double below(double z) const {
        const int at = static_cast<int>(z), groups = at / group;
        const double* bin_of_group = &bin(groups * group);
        std::array<double, 4> found{};  // without branches that depend on the place
        for (int j = 0; j < bins / group; j += 4) add_first(&sum(j), groups - j, found);
        for (int k = 0; k < group; k += 4) add_first(bin_of_group + k, at - groups * group - k, found);
        return ((found[0] + found[1]) + (found[2] + found[3]) + (z - at) * bin(at)) / gain();
    }

    // growth: of what a row adds, from this one to the next
    void add(int k, double growth) const {
        bin(k) += gain();
        sum(k / group) += gain();
        total() += gain();
        age(growth);
    }

    void age(double growth) const {
        seen() += 1.0;
        gain() *= growth;
        if (!(gain() > largest_gain)) return;
        for (int k = 0; k < bins; ++k) bin(k) /= gain();
        for (int j = 0; j < bins / group; ++j) sum(j) /= gain();
        total() /= gain();
        gain() = 1.0;
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
