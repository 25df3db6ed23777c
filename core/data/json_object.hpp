// The text of a JSON object of numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace confidently {

// Writes the shortest text that is read as a number, which is finite; a whole one has a fraction. Returns its end.
inline char* write_json_number(char* out, double x) {
    constexpr std::size_t most = 32;
#ifdef __cpp_lib_to_chars
    char* end = std::to_chars(out, out + most, x).ptr;
#else
    char* end = out + std::snprintf(out, most, "%.17g", x);
#endif
    const auto in_digits = [](char c) { return c == '-' || ('0' <= c && c <= '9'); };
    if (std::all_of(out, end, in_digits)) end = std::copy_n(".0", 2, end);
    return end;
}

// keys: of n numbers, each with its quotes and a colon, one after the other; ends: where each of them ends.
inline std::string json_object(const char* keys, const std::int64_t* ends, const double* values, std::size_t n) {
    constexpr std::size_t most = 40;  // of a number and a comma
    std::string text((n ? std::size_t(ends[n - 1]) : 0) + n * most + 2, '\0');
    char* out = text.data();
    *out++ = '{';
    const char *number = nullptr, *number_end = nullptr;  // the text of the value before
    for (std::size_t k = 0; k < n; ++k) {
        const std::int64_t from = k ? ends[k - 1] : 0;
        if (k) *out++ = ',';
        out = std::copy(keys + from, keys + ends[k], out);
        const char* begun = out;
        if (k && values[k] == values[k - 1])
            out = std::copy(number, number_end, out);
        else
            out = write_json_number(out, values[k]);
        number = begun, number_end = out;
    }
    *out++ = '}';
    text.resize(std::size_t(out - text.data()));
    return text;
}

}  // namespace confidently
