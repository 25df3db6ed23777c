// Columns that are perhaps no features, by the very first rows (src/confidently/data/column_advice.py looks closer at
// them).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace confidently {

struct Suspects {
    std::int64_t n_columns = 0;      // that have a value
    std::vector<std::int32_t> ids;   // columns of integers that all differ
    std::vector<std::int32_t> late;  // columns of numbers that are nowhere below the earliest date
    std::int32_t dominant = -1;      // the column with the most of the squared length, if that is enough; -1: none
};

// rows: unchecked; fraction: of the squared length that a dominant column has.
inline Suspects find_suspects(const Rows& rows, double earliest, double fraction) {
    struct Entry {
        std::int32_t column;
        std::int64_t row;
        double value;
    };
    std::vector<Entry> entries;
    RowBuffer buffer;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const Row row = rows.at(i, false, buffer);
        for (std::int32_t k = 0; k < row.size; ++k) entries.push_back({row.column[k], i, row.value[k]});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.column < b.column; });
    Suspects found;
    double largest = 0.0, total = 0.0;
    std::vector<double> values;
    for (auto first = entries.begin(); first != entries.end();) {
        const auto last = std::find_if(first, entries.end(), [&](const Entry& e) { return e.column != first->column; });
        values.assign(static_cast<std::size_t>(rows.n_rows), 0.0);
        for (auto entry = first; entry != last; ++entry) values[static_cast<std::size_t>(entry->row)] = entry->value;
        ++found.n_columns;
        double square = 0.0;
        for (const double value : values) square += value * value;
        total += square;
        if (square > largest) largest = square, found.dominant = first->column;
        if (std::all_of(values.begin(), values.end(), [&](double v) { return v >= earliest; }))
            found.late.push_back(first->column);
        if (std::all_of(values.begin(), values.end(), [](double v) { return v == std::rint(v); })) {
            std::sort(values.begin(), values.end());
            if (std::adjacent_find(values.begin(), values.end()) == values.end()) found.ids.push_back(first->column);
        }
        first = last;
    }
    if (!(largest > fraction * total)) found.dominant = -1;
    return found;
}

}  // namespace confidently
