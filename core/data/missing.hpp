// How tables write missing values, and numbers that are not plain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "data/decimal.hpp"
#include "data/number_formats.hpp"
#include "data/rows_out.hpp"

namespace confidently {

inline char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Whether a cell is empty or says that its value is missing, in either case of letters.
inline bool is_missing(std::string_view text) {
    constexpr std::string_view words[] = {
        "",    "?",   "na", "n/a", "#n/a", "<na>",    "n.a.",    "null",       "none",
        "nan", "\\n", "-",  "--",  ".",    "missing", "unknown", "unavailable"};  // \N in dumps of databases, a point
                                                                                  // in those of SAS
    constexpr std::size_t longest = 11;
    if (text.size() > longest) return false;
    char low[longest];
    std::transform(text.begin(), text.end(), low, lower);
    return std::find(std::begin(words), std::end(words), std::string_view(low, text.size())) != std::end(words);
}

inline bool is_digits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Whether a cell that is a number as it is written looks like a code: with an exponent without a sign and a point, such
// as 48E0160; a plus and many digits, as telephone numbers have them; or more digits than times in nanoseconds.
inline bool looks_like_code(std::string_view text) {
    constexpr std::size_t telephone = 7, nanoseconds = 19;  // digits
    if (text.front() == '+') return text.size() > telephone && is_digits(text.substr(1));
    const std::size_t mark = text.find_first_of("eE");
    if (mark == text.npos) return text.size() > nanoseconds && is_digits(text);
    return is_digits(text.substr(0, mark)) && is_digits(text.substr(mark + 1));
}

// Whether a number may stand for a missing value: 99, 9999.9 and the like, or -200 and other multiples of -100.
inline bool may_be_mark(double x) {
    if (x <= -100.0 && std::fmod(x, 100.0) == 0.0) return true;
    constexpr double digits[] = {1.0, 10.0, 100.0, 1000.0}, largest = 1e9;
    for (const double unit : digits) {
        const double shifted = std::fabs(x) * unit, whole = std::rint(shifted),
                     power = std::rint(std::log10(whole + 1.0));
        const bool nines = whole >= 99.0 && whole < largest && std::pow(10.0, power) == whole + 1.0;
        if (nines && std::fabs(shifted - whole) < 1e-6) return true;
    }
    return false;
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
