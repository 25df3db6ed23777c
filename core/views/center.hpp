// Centered columns: x - mean, with the running mean of every column.
#pragma once

#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "views/columns.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Center {
    static constexpr const char* name = "center";
    static constexpr bool takes_zeros = true;

    const std::int8_t* kind;       // as in Standard, except that a plain column is 0 where it is absent
    Statistics rows, count, mean;  // weight of all rows; by column: weight, mean
    mutable std::vector<double> present;
    mutable std::vector<char> is_present;

    template <class State>
    static Center open(const State& state, Undo<double>* undo) {
        const std::int64_t n = n_features(state);
        const auto statistics = [&](const char* name, std::int64_t size) {
            return Statistics{state.template array<double>(name, size), undo};
        };
        return {state.template array<std::int8_t>("center.kind", n),
                statistics("center.rows", 1),
                statistics("center.count", n),
                statistics("center.mean", n),
                std::vector<double>(static_cast<std::size_t>(n)),
                std::vector<char>(static_cast<std::size_t>(n))};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("center.kind"));
    }

    void see(const Row& row, MadeRows& out) const {
        each(row, [&](std::int32_t j, double x) {
            if (count[j] > 0.0) out.add(j, x - mean[j]);
        });
        out.end_row();
    }

    void learn(const Row& row, double w) {
        rows.add(0, w);
        each(row, [&](std::int32_t j, double x) {
            count.add(j, w);
            mean.add(j, w / count[j] * (x - mean[j]));
        });
    }

  private:
    // Calls f with every column that has a value, ascending, those that are absent and therefore 0 included.
    template <class F>
    void each(const Row& row, F&& f) const {
        for (std::int32_t i = 0; i < row.size; ++i) {
            present[static_cast<std::size_t>(row.column[i])] = row.value[i];
            is_present[static_cast<std::size_t>(row.column[i])] = 1;
        }
        const auto n = static_cast<std::int32_t>(present.size());
        for (std::int32_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(j);
            if (is_present[at] || kind[j] != Kind::missing) f(j, present[at]);
            present[at] = 0.0;
            is_present[at] = 0;
        }
    }
};

}  // namespace confidently
