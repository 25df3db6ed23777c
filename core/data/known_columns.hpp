// Rows for a model that does not know all of their columns: the entries in the others become one entry of each row, at
// the end, whose value is the root of the sum of their squares.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace confidently {

struct KnownRows {
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> start{0};
};

// The rows of flat arrays, whose columns ascend. `number(column)` is that of the model, or negative if it has none; the
// numbers of known columns ascend with them and are below `n_known`, the column of all others.
template <class Value, class Number>
KnownRows known_rows(const Value* values, const std::int32_t* columns, std::span<const std::int64_t> start,
                     std::int32_t n_known, Number&& number) {
    KnownRows found;
    found.start.reserve(start.size());
    for (std::size_t row = 0; row + 1 < start.size(); ++row) {
        double squares = 0.0;
        bool any = false;
        for (std::int64_t i = start[row]; i < start[row + 1]; ++i) {
            const double value = values[i];
            if (const std::int32_t own = number(columns[i]); own >= 0) {
                found.values.push_back(value);
                found.columns.push_back(own);
            } else {
                squares += value * value;
                any = true;
            }
        }
        if (any) {
            found.values.push_back(std::sqrt(squares));
            found.columns.push_back(n_known);
        }
        found.start.push_back(static_cast<std::int64_t>(found.values.size()));
    }
    return found;
}

}  // namespace confidently
