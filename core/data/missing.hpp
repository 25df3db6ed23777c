// How tables write missing values, and numbers that are not plain.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "data/decimal.hpp"
#include "data/number_formats.hpp"
#include "data/rows_out.hpp"

namespace confidently {

inline char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Whether a cell is empty or says that its value is missing, in either case of letters.
inline bool is_missing(std::string_view text) {
    constexpr std::size_t longest = 4;
    if (text.size() > longest) return false;
    char low[longest];
    std::transform(text.begin(), text.end(), low, lower);
    const std::string_view word(low, text.size());
    return word.empty() || word == "?" || word == "na" || word == "n/a" || word == "#n/a" || word == "<na>" ||
           word == "null" || word == "none" || word == "nan" || word == "\\n";  // \N in dumps of databases
}

// Whether a cell that is no plain number is one with separators, such as 1_000, 1,000 and 3,5, a percentage or an
// amount of money, or a hexadecimal one, such as 0x1F. The byte behind text must not continue a number.
inline bool is_formatted_number(std::string_view text) {
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
    if (text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x')
        return std::all_of(text.begin() + 2, text.end(),
                           [](char c) { return is_digit(c) || ('a' <= lower(c) && lower(c) <= 'f'); });
    constexpr std::string_view marks[] = {"%", "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"};  // euro, pound, yen
    if (std::any_of(std::begin(marks), std::end(marks),
                    [&](std::string_view mark) { return text.starts_with(mark) || text.ends_with(mark); }))
        for (const char decimal : {'.', ','})
            if (NumberFormat{decimal, decimal == '.' ? ',' : '.', true}.read(text)) return true;
    std::string plain;
    for (const char c : text)
        if (c != '_' && c != ',') plain += c;
    double value;
    return plain.size() < text.size() && is_digit(text.front()) && is_digit(text.back()) &&
           read_decimal(plain.c_str(), value) == plain.c_str() + plain.size();
}

}  // namespace confidently
