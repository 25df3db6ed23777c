// Rows counted by bins of a score, of which old ones count less.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "processor.hpp"
#include "tasks/calibration.hpp"

namespace confidently {

// From one row to the next, what a row adds grows by this factor: a learner has predicted its early rows worse. The
// first five rows count alike; then n rows count as (n + 15)/4, and 2000 at most.
inline double growth(double rows) {
    constexpr double alike = 5.0, power = 3.0;
    constexpr double least = 1.0 - kDecay, begun = power * (alike - 1.0), last = power / least - begun;
    if (rows > last) return 1.0 + least;  // most rows, without a division
    return rows < alike ? 1.0 : 1.0 + std::max(power / (rows + begun), least);
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

    // The rows in the bins before this one, times the gain.
    CONFIDENTLY_INLINE double before(int k) const {
        Four found{};  // sums that do not wait for each other, without branches that depend on k
        const int groups = unsigned(k) / group;
        add_first(sum(), groups, bins / group, found);
        add_first(bin() + groups * group, k - groups * group, group, found);
        return (found[0] + found[1]) + (found[2] + found[3]);
    }

    // The p-value of a row in a bin: how many of the rows, with this one, have a score that is as small. Scores of a
    // bin count as equal.
    CONFIDENTLY_INLINE double p_value(int k) const { return p_value(k, k); }

    // The same where rows repeat: equal rows have scores that are nearly equal, since the learner changes. So scores of
    // a peak that begins with the bin, or a little above, count as equal too.
    double p_value_of_repeated(int k) const {
        constexpr double many = 0.05, least = 5.0;  // of the rows, and rows
        constexpr int reach = 2, above = 3;         // bins on each side of a peak's middle, and from this bin to that
        const double enough = std::max(many * total(), least * gain());
        int last = k;
        for (int j = k - reach; j <= k + above; ++j) {
            const double near = within(j - reach, j + reach);
            if (near >= enough && 2.0 * near > within(j - 8, j + 8)) last = std::min(j + reach, bins - 1);
        }
        return p_value(k, last);
    }

    // growth: of what a row adds, from this one to the next; counts: or a row only passes
    CONFIDENTLY_INLINE void add(int k, double growth, bool counts = true) const {
        const double one = kTarget[counts] * gain();
        bin()[k] += one;
        sum()[unsigned(k) / group] += one;
        total() += one;
        seen() += 1.0;
        if ((gain() *= growth) > largest_gain) rescale();
    }

    // Counts the rows of others in, as often as they count there; sign: or takes them out.
    void add_all(const Counts& others, double sign) const {
        const double factor = sign / others.gain();
        for (int k = 3; k < size(bins); ++k) state[k] += factor * others.state[k];
        total() += factor * others.total();
    }

  private:
    // That of a row in a bin, to which scores up to the last bin are equal.
    CONFIDENTLY_INLINE double p_value(int k, int last) const {
        double equal = 0.0;
        for (int i = k; i <= last; ++i) equal += bin()[i];
        return (before(k) + equal + gain()) / (total() + gain());
    }

    double within(int first, int last) const {
        double found = 0.0;
        for (int i = std::max(first, 0); i <= std::min(last, bins - 1); ++i) found += bin()[i];
        return found;
    }

    CONFIDENTLY_SELDOM void rescale() const {
        for (double* one = sum(); one < state + size(bins); ++one) *one /= gain();
        total() /= gain();
        gain() = 1.0;
    }

    using Four = double __attribute__((vector_size(32)));

    // Adds the first n of so many numbers, which are at most 16.
    CONFIDENTLY_INLINE static void add_first(const double* numbers, int n, int among, Four& sums) {
        static constexpr std::array<double, 32> ones{1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
                                                     1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
        const double* one = ones.data() + 16 - n;
        for (int j = 0; j < among; j += 4) {
            Four part, factor;
            std::memcpy(&part, numbers + j, sizeof part);
            std::memcpy(&factor, one + j, sizeof factor);
            sums += factor * part;
        }
    }
};

}  // namespace confidently
