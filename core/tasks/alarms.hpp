// Alarms: whether rows could have come in any other order, by what a learner expected of each before it used the label.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "tasks/counts.hpp"

namespace confidently {

// Tests whether rows could have come in any other order, by p-values of several kinds, each uniform if they could. Bets
// that they are small, which begin after every 32 rows, reach 1/level with a probability of at most `level`, ever
// (Shiryaev & Roberts; Vovk, Gammerman & Shafer 2022, chapter 8). There is an alarm when those on all kinds have; then
// all begin anew.
template <int kinds>
struct MartingaleOf {
    static constexpr std::array<double, 2> powers{0.3, 0.7};  // a bet multiplies by c p^(c - 1)
    static constexpr int per_kind = 1 + powers.size(), size = 3 + kinds * per_kind, rows_between = 32;
    static constexpr double level = 0.01;
    static constexpr double least = 1e-9;   // p-value, so that products of 32 stay above 0
    static constexpr double largest = 1e6;  // capital, which is soon lost again when rows are as before
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        for (int k = 0; k < kinds; ++k) state[3 + k * per_kind] = 1.0;
    }

    double& rows() const { return state[0]; }                         // since it began
    double& alarms() const { return state[1]; }                       // so far
    double& quiet() const { return state[2]; }                        // rows since the last alarm, or the first row
    double& product(int k) const { return state[3 + k * per_kind]; }  // of p-values, bets on which are to be settled
    double& capital(int k, int i) const { return state[4 + k * per_kind + i]; }

    // Returns whether there is an alarm. p: one of each kind
    template <class... P>
    CONFIDENTLY_INLINE bool learn(P... p) const {
        static_assert(sizeof...(P) == kinds);
        int k = 0;
        ((product(k++) *= std::max(p, least)), ...);
        quiet() += 1.0;
        return std::int64_t(rows() += 1.0) % rows_between == 0 && settle();
    }

  private:
    bool settle() const {
        const double turn = rows() / rows_between, begun = 1.0 / (turn * (turn + 1.0));
        bool alarm = true;
        for (int k = 0; k < kinds; ++k) {
            const double log_p = std::log(product(k));
            double sum = 0.0;
            for (int i = 0; i < int(powers.size()); ++i)
                sum += capital(k, i) = std::min(
                    (capital(k, i) + begun) * std::exp((powers[i] - 1.0) * log_p + rows_between * std::log(powers[i])),
                    largest);
            product(k) = 1.0;
            alarm = alarm && sum * level >= powers.size();
        }
        if (!alarm) return false;
        const double so_far = alarms() + 1.0;
        begin(state);
        alarms() = so_far;
        return true;
    }
};
using Martingale = MartingaleOf<1>;

// The probability that a learner gives to the classes less probable than a row's, and to this one, or all as probable.
struct Expected {
    double less, own;

    // p: that of the row's class; at_least: of all that are as probable
    static Expected of(double p, double at_least, double as_probable) {
        return {std::max(1.0 - at_least, 0.0), std::max(as_probable, p)};
    }
    static Expected of_two(double p) { return {kTarget[p > 0.5] * (1.0 - p), p == 0.5 ? 1.0 : p}; }
    static Expected of_several(const double* p, int classes, int truth) {
        double at_least = 0.0, as_probable = 0.0;
        for (int k = 0; k < classes; ++k) {
            at_least += p[k] >= p[truth] ? p[k] : 0.0;
            as_probable += p[k] == p[truth] ? p[k] : 0.0;
        }
        return of(p[truth], at_least, as_probable);
    }
};

// 64 bits that look random, for each n (splitmix64: Steele, Lea & Flood 2014).
inline std::uint64_t mixed(std::uint64_t n) {
    n = (n + 1) * 0x9E3779B97F4A7C15u;
    n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9u;
    n = (n ^ (n >> 27)) * 0x94D049BB133111EBu;
    return n ^ (n >> 31);
}

// A number in [0, 1) that looks random, for each n: results stay reproducible.
inline double drawn(std::uint64_t n) { return static_cast<double>(mixed(n) >> 11) * 0x1p-53; }

// Alarms about classes. Where a row's class lies among those that were expected, u = P(less probable) + U P(this one),
// is uniform if probabilities are right, whether the learner still learns or not (randomized probability integral
// transform). If they are not, its rank among those before is uniform as long as rows could have come in any other
// order. An alarm needs both: small u, and a small rank. state: the martingale, and the u since the last alarm
struct Surprise {
    static constexpr int bins = 128, at_counts = MartingaleOf<2>::size, size = at_counts + Counts::size(bins);
    double* state;

    static void begin(double* state) {
        MartingaleOf<2>::begin(state);
        Counts::begin(state + at_counts, bins);
    }

    // For the next row, and what is drawn of it beside u and the rank.
    double draw(int more) const { return drawn(std::uint64_t(before().seen()) << 24 | std::uint64_t(more + 2)); }

    // Returns whether there is an alarm.
    CONFIDENTLY_INLINE bool learn(const Expected& expected) const {
        const Counts counts = before();
        const double u = expected.less + draw(-2) * expected.own;
        const int at = static_cast<int>(within_bins(u * bins, bins));
        const double rank = counts.before(at) + draw(-1) * (counts.bin()[at] + 1.0);
        counts.add(at, 1.0);
        if (!MartingaleOf<2>{state}.learn(u, rank / (counts.total()))) return false;
        const double seen = counts.seen();
        Counts::begin(counts.state, bins);
        counts.seen() = seen;
        return true;
    }

  private:
    Counts before() const { return {state + at_counts, bins}; }
};

}  // namespace confidently
