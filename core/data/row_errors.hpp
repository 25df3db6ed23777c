// Errors of rows, and the text of their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace confidently {

inline constexpr std::ptrdiff_t kMaxExcerpt = 40;

// An invalid row. at points into its text; nullptr: nowhere in particular.
struct RowError {
    const char* at;
    std::string what;
    bool no_label = false;  // it is only invalid because it has no label
};

// Text as a message shows it: quoted, cut, everything but printable ASCII escaped.
inline std::string excerpt(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, kMaxExcerpt)) {
        char code[8];
        std::snprintf(code, sizeof code, c >= ' ' && c <= '~' ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
        shown += code;
    }
    return shown + (text.size() > kMaxExcerpt ? "...'" : "'");
}

[[noreturn]] inline void fail(std::string_view token, const std::string& kind, const std::string& problem) {
    throw RowError{token.data(), kind + " " + excerpt(token) + " " + problem};
}

[[noreturn]] inline void throw_too_many(std::int64_t max_columns) {
    throw std::invalid_argument("the data have more than " + std::to_string(max_columns) +
                                " different features; hash their names into fewer columns with --bits");
}

}  // namespace confidently
