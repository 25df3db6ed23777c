// Inverse document frequency: x_j log((2 + rows)/(1 + rows that have j)), then unit norm.
#pragma once

#include <cmath>
#include <cstdint>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Idf {
    static constexpr const char* name = "idf";

    Statistics rows, frequency;  // weight of all rows; of those that have a feature

    template <class State>
    static Idf open(const State& state, Undo<double>* undo) {
        return {{state.template array<double>("idf.rows", 1), undo},
                {state.template array<double>("idf.frequency", n_features(state)), undo}};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("idf.frequency"));
    }

    void see(const Row& row, MadeRows& out) const {
        const double all = std::log(2.0 + rows[0]);
        const LogCount<One> log_count;
        for (std::int32_t i = 0; i < row.size; ++i)
            out.add(row.column[i], row.value[i] * (all - log_count(frequency[row.column[i]])));
        out.end_row_of_unit_norm();
    }

    void learn(const Row& row, double w) {
        rows.add(0, w);
        for (std::int32_t i = 0; i < row.size; ++i)
            if (row.value[i] != 0.0) frequency.add(row.column[i], w);  // a stored 0 is no occurrence
    }

  private:
    struct One {
        static constexpr double value = 1.0;
    };
};

}  // namespace confidently
