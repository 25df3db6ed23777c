// Rows of predictions as text: numbers as printf's %.9g writes them, and names of classes.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace confidently {

// Numbers, or else the numbers of classes and their names.
struct TextColumn {
    const double* values = nullptr;
    const std::int32_t* classes = nullptr;
    std::vector<std::string_view> names;
};

// Appends a number with nine digits at most.
inline void append_number(std::string& text, double x) {
    constexpr int digits = 9;
    char shown[32];
    if (std::isnan(x)) {  // the sign of which nobody wants to see
        text += "nan";
        return;
    }
#ifdef __cpp_lib_to_chars
    text.append(shown, std::to_chars(shown, shown + sizeof shown, x, std::chars_format::general, digits).ptr);
#else
    text.append(shown, static_cast<std::size_t>(std::snprintf(shown, sizeof shown, "%.*g", digits, x)));
#endif
}

inline std::string table_text(const std::vector<TextColumn>& columns, std::size_t n_rows, std::string_view separator) {
    std::string text;
    text.reserve(n_rows * columns.size() * 16);
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (const TextColumn& column : columns) {
            if (&column != columns.data()) text += separator;
            if (column.values)
                append_number(text, column.values[i]);
            else
                text += column.names[static_cast<std::size_t>(column.classes[i])];
        }
        text += '\n';
    }
    return text;
}

}  // namespace confidently
