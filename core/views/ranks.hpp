// Normal scores of the ranks of values among the first ones of their column.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "rules/normal.hpp"
#include "views/first_values.hpp"
#include "views/made_rows.hpp"

namespace confidently {

struct Ranks {
    static constexpr const char* name = "ranks";
    static constexpr bool takes_zeros = true;
    static constexpr std::int64_t kKnots = 65;  // quantiles 0, 1/64, ..., 1
    static constexpr double kLargest = 3.0;     // absolute value of a score

    FirstValues first;
    bool unit_norm = true;

    template <class State>
    static Ranks open(const State& state, Undo<double>* undo) {
        return {FirstValues(state, name, kKnots, undo)};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return FirstValues::n_features(state, name);
    }

    void see(const Row& bare, MadeRows& out) {
        const Row row = first.filled(bare);
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::int32_t j = row.column[i];
            out.add(j, first.kind[j] == Kind::plain ? row.value[i] : score(j, row.value[i]));
        }
        if (unit_norm)
            out.end_row_of_unit_norm();
        else
            out.end_row();
    }

    void learn(const Row& row, double) { first.learn(row, quantiles); }
    void renew() { first.renew(quantiles); }

  private:
    static void quantiles(const std::vector<double>& sorted, double* knots) {
        for (std::int64_t i = 0; i < kKnots; ++i) knots[i] = quantile(sorted, i, kKnots - 1);
    }

    // Linear from knot to knot; where knots are equal, the score of their middle.
    double score(std::int32_t j, double x) const {
        const std::int64_t seen = first.seen(j);
        if (seen == 0) return 0.0;
        const double limit = limit_of(seen);
        const auto at = [&](std::int64_t halves) {
            return std::clamp(scores()[static_cast<std::size_t>(halves)], -limit, limit);
        };
        const double* knots = first.knots(j);
        const std::int64_t below = count_below(knots, kKnots, x);
        if (below == kKnots) return limit;
        if (knots[below] == x) {
            std::int64_t last = below;
            while (last + 1 < kKnots && knots[last + 1] == x) ++last;
            return at(below + last);
        }
        if (below == 0) return -limit;
        const double high = at(2 * below), low = at(2 * below - 2);
        return high - (high - low) * ((knots[below] - x) / (knots[below] - knots[below - 1]));
    }

    // Phi^-1 of 0, 1/128, 2/128, ..., 1: of the knots and of the middle between neighbors.
    static const double* scores() {
        static const std::array<double, 2 * kKnots - 1> found = [] {
            std::array<double, 2 * kKnots - 1> all;
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = normal_quantile(static_cast<double>(i) / static_cast<double>(all.size() - 1));
            return all;
        }();
        return found.data();
    }

    // The score of a value beyond n others, which leaves 1/(n + 1) of all values on its side, itself in their middle.
    static double limit_of(std::int64_t n) {
        static const std::array<double, 10> limits = [] {
            std::array<double, 10> found;
            for (std::size_t k = 0; k < found.size(); ++k)
                found[k] = std::min(kLargest, -normal_quantile(0.5 / (static_cast<double>(1 << k) + 1.0)));
            return found;
        }();
        return limits[std::bit_width(static_cast<std::uint64_t>(n)) - 1];
    }
};

}  // namespace confidently
