// Columns of numbers with units, which must be the same in all rows.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "data/number_formats.hpp"
#include "data/rows_out.hpp"

namespace confidently {

// Returns the number in a cell that is not missing. unit: that of the cells before, or "" if none had one; a cell may
// lack it.
inline double read_with_unit(std::string_view text, const NumberFormat& format, std::string& unit, RowWriter& rows) {
    auto number = format.read(text);
    if (!number)
        fail(text, "cell",
             "is not a number, perhaps with a unit (--units); look at --decimal and --thousands, or take the column as "
             "a category (--category)");
    if (!number->unit.empty() && number->unit != unit) {
        if (!unit.empty())
            fail(text, "cell",
                 "has another unit than " + excerpt(unit) +
                     " of the cells before; convert it, or take the column as a category (--category)");
        unit = number->unit;
    }
    if (!(std::fabs(number->value) <= rows.options.largest)) rows.check(number->value, text);
    return number->value;
}

}  // namespace confidently
