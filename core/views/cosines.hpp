// Random cosines: sqrt(2/n) cos(w'x + b), by default for x of unit norm, whose products approximate a Gaussian kernel
// (Rahimi & Recht 2007).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Cosines {
    static constexpr const char* name = "cosines";

    std::int64_t n;
    const double *direction, *phase;  // by feature and cosine; by cosine
    mutable std::vector<double> angle;
    bool unit_norm = true;

    template <class State>
    static Cosines open(const State& state, Undo<double>*) {
        const auto n = static_cast<std::int64_t>(state.size("cosines.phase"));
        return {n,
                state.template array<double>("cosines.direction", n_features(state), n),
                state.template array<double>("cosines.phase", n),
                {}};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("cosines.direction"));
    }

    void see(const Row& row, MadeRows& out) const {
        const double length = unit_norm ? norm(row.value, static_cast<std::size_t>(row.size)) : 1.0;
        const double size = std::sqrt(2.0 / static_cast<double>(n));
        angle.assign(phase, phase + n);
        for (std::int32_t i = 0; i < row.size && length > 0.0; ++i) {
            const double x = row.value[i] / length;
            const double* w = direction + row.column[i] * n;
            for (std::int64_t c = 0; c < n; ++c) angle[static_cast<std::size_t>(c)] += x * w[c];
        }
        for (std::int64_t c = 0; c < n; ++c)
            out.add(static_cast<std::int32_t>(c), size * std::cos(angle[static_cast<std::size_t>(c)]));
        out.end_row();
    }
};

}  // namespace confidently
