// Standardized columns: (x - mean)/standard deviation, with running moments of every numeric column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Standard {
    static constexpr const char* name = "standard";
    static constexpr double kLargest = 1e3;       // absolute value of a standardized value
    static constexpr double kLargestAlone = 5.0;  // the same where rows are not scaled, which bounds a row's influence

    // What a column is, and what its absence from a row means.
    enum Kind : std::int8_t { plain = 0, missing = 1, zero = 2 };  // plain: it stays as it is

    const std::int8_t* kind;
    Statistics rows, count, mean, squares;  // weight of all rows; by column: weight, mean, sum of squared deviations
    std::vector<std::int32_t> zeros;        // the columns that are 0 where they are absent
    mutable std::vector<double> present;    // of a row, by column up to the last of these
    bool unit_norm = true;

    template <class State>
    static Standard open(const State& state, Undo<double>* undo) {
        const auto n = static_cast<std::int64_t>(state.size("standard.kind"));
        const auto statistics = [&](const char* name, std::int64_t size) {
            return Statistics{state.template array<double>(name, size), undo};
        };
        Standard view{state.template array<std::int8_t>("standard.kind", n), statistics("standard.rows", 1),
                      statistics("standard.count", n), statistics("standard.mean", n), statistics("standard.squares", n), {}, {}};
        for (std::int64_t j = 0; j < n; ++j)
            if (view.kind[j] == zero) view.zeros.push_back(static_cast<std::int32_t>(j));
        if (!view.zeros.empty()) view.present.resize(static_cast<std::size_t>(view.zeros.back()) + 1);
        return view;
    }

    template <class State>
    static std::int64_t n_features(const State& state) { return static_cast<std::int64_t>(state.size("standard.kind")); }

    void see(const Row& row, MadeRows& out) const {
        each(row, [&](std::int32_t j, double x) { out.add(j, kind[j] == plain ? x : standardized(j, x)); });
        if (unit_norm)
            out.end_row_of_unit_norm();
        else
            out.end_row();
    }

    void learn(const Row& row, double w) {
        rows.add(0, w);
        each(row, [&](std::int32_t j, double x) {
            if (kind[j] != plain) count_in(j, x, w);
        });
    }

  private:
    // Calls f with every column that has a value, ascending, those that are absent and therefore 0 included.
    template <class F>
    void each(const Row& row, F&& f) const {
        for (std::int32_t i = 0; i < row.size; ++i)
            if (kind[row.column[i]] == zero) present[static_cast<std::size_t>(row.column[i])] = row.value[i];
        auto next = zeros.begin();
        const auto zeros_below = [&](std::int32_t j) {
            for (; next != zeros.end() && *next < j; ++next) {
                f(*next, present[static_cast<std::size_t>(*next)]);
                present[static_cast<std::size_t>(*next)] = 0.0;
            }
        };
        for (std::int32_t i = 0; i < row.size; ++i) {
            if (kind[row.column[i]] == zero) continue;
            zeros_below(row.column[i]);
            f(row.column[i], row.value[i]);
        }
        zeros_below(std::numeric_limits<std::int32_t>::max());
    }

    // Without a value so far there is no unit; while all were equal, the sign is all that is known.
    double standardized(std::int32_t j, double x) const {
        const double d = x - mean[j];
        if (count[j] == 0.0 || d == 0.0) return 0.0;
        const double deviation = std::sqrt(squares[j] / count[j]);
        if (deviation == 0.0) return d > 0.0 ? 1.0 : -1.0;
        const double largest = unit_norm ? kLargest : kLargestAlone;
        return std::clamp(d / deviation, -largest, largest);
    }

    void count_in(std::int32_t j, double x, double w) {
        const double d = x - mean[j];
        count.add(j, w);
        mean.add(j, w / count[j] * d);
        squares.add(j, w * d * (x - mean[j]));
    }
};

}  // namespace confidently
