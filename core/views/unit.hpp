// Rows of unit norm.
#pragma once

#include <cstdint>

#include "rows.hpp"
#include "views/made_rows.hpp"

namespace confidently {

struct Unit {
    static constexpr const char* name = "unit";

    std::int64_t columns;

    template <class State>
    static Unit open(const State& state, Undo<double>*) {
        return {n_features(state)};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return state.template array<std::int64_t>("unit.columns", 1)[0];
    }

    void see(const Row& row, MadeRows& out) const {
        for (std::int32_t i = 0; i < row.size; ++i) out.add(row.column[i], row.value[i]);
        out.end_row_of_unit_norm();
    }
};

}  // namespace confidently
