// The first columns that rows had; later ones are left out.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "rows.hpp"
#include "views/made_rows.hpp"

namespace confidently {

struct First {
    static constexpr const char* name = "first";

    const std::int32_t* place;  // by feature: its column; negative: it is left out
    std::int64_t size;          // columns

    template <class State>
    static First open(const State& state, Undo<double>*) {
        const std::int64_t n = n_features(state);
        return {state.template array<std::int32_t>("first.place", n),
                state.template array<std::int64_t>("first.size", 1)[0]};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("first.place"));
    }

    void see(const Row& row, MadeRows& out) const {
        for (std::int32_t i = 0; i < row.size; ++i)
            if (const std::int32_t j = place[row.column[i]]; j >= 0) {
                if (j >= size) throw std::invalid_argument("first.place does not match first.size");
                out.add(j, row.value[i]);
            }
        out.sort_row();  // the columns of a merged model come in another order
        out.end_row();
    }
};

}  // namespace confidently
