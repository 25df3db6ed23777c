// Tokens of a line: white space, values, lists of labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "data/decimal.hpp"
#include "data/rows_out.hpp"

namespace confidently {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_token(char c) { return is_space(c) || c == '\n'; }

inline const char* skip_spaces(const char* p) {
    while (is_space(*p)) ++p;
    return p;
}

inline const char* token_end(const char* p) {
    while (!ends_token(*p)) ++p;
    return p;
}

inline std::string_view between(const char* first, const char* last) {
    return {first, static_cast<std::size_t>(last - first)};
}

inline std::string_view token_at(const char* p) { return between(p, token_end(p)); }

// Throws RowError if text, the value of a token, is not a finite number of allowed size. The character behind text must
// not continue a number.
inline void check_value(std::string_view token, std::string_view text, const RowWriter& rows, const char* kind) {
    if (text.empty()) fail(token, kind, "has no value after the colon");
    if (is_not_finite(text)) fail(token, kind, "has a value that is not finite; leave it out, or impute it");
    double value = 0.0;
    if (read_decimal(text.data(), value) != text.data() + text.size())
        fail(token, kind, "has a value that is not a number");
    rows.check(value, token, kind);
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

// label {, label}
inline void read_labels(std::string_view text, RowWriter& rows) {
    const char* end = text.data() + text.size();
    for (const char* p = text.data();; ++p) {
        const char* comma = std::find(p, end, ',');
        rows.label(trimmed(between(p, comma)));
        if (comma == end) return;
        p = comma;
    }
}

}  // namespace confidently
