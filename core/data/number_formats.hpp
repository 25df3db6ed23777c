// Numbers as spreadsheets and other programs write them for people: with another decimal mark, groups of thousands, a
// unit or a currency.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "data/decimal.hpp"

namespace confidently {

// A number, and what stands before and behind it.
struct FormattedNumber {
    double value;
    std::string unit;
};

// How the numbers of a column are written.
struct NumberFormat {
    char decimal = '.', thousands = '\0';  // \0: no groups; a space or an apostrophe stands for all of its kind
    bool units = false;                    // every cell is a number, perhaps with a unit, and all units are the same
    bool strict = false;                   // a number in another form is an error, not a category

    bool plain() const { return decimal == '.' && thousands == '\0' && !units; }

    // Reads the text as a whole; with groups, all but the first have three digits.
    std::optional<FormattedNumber> read(std::string_view text) const {
        const bool negative = take_sign(text);
        FormattedNumber found{0.0, ""};
        std::string number = negative ? "-" : "";
        if (units) {
            const std::size_t prefix = std::min(text.find_first_of("0123456789"), text.size());
            const std::size_t point = prefix > 0 && text[prefix - 1] == decimal ? 1 : 0;  // .5
            std::string_view before = text.substr(0, prefix - point);
            text.remove_prefix(prefix - point);
            if (!before.empty() && (before.back() == '-' || before.back() == '+') && number.empty()) {
                if (before.back() == '-') number = "-";
                before.remove_suffix(1);
            }
            found.unit = stripped(before);
        }
        if (!take_digits(text, number)) return std::nullopt;
        if (units)
            found.unit += stripped(text);
        else if (!text.empty())
            return std::nullopt;
        if (found.unit.size() > kMaxUnit || !is_unit(found.unit)) return std::nullopt;
        return read_decimal(number.c_str(), found.value) == number.c_str() + number.size() ? std::optional(found)
                                                                                           : std::nullopt;
    }

  private:
    static constexpr std::size_t kMaxUnit = 24;  // bytes
    static constexpr std::string_view kSpaces[] = {" ", "\xc2\xa0", "\xe2\x80\xaf",
                                                   "\xe2\x80\x89"};  // plain, no break, narrow, thin
    static constexpr std::string_view kApostrophes[] = {"'", "\xe2\x80\x99"};
    static constexpr std::string_view kMinus = "\xe2\x88\x92";

    // Removes a sign; returns whether it is a minus.
    static bool take_sign(std::string_view& text) {
        if (text.starts_with(kMinus)) return text.remove_prefix(kMinus.size()), true;
        if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
        const bool negative = text.front() == '-';
        text.remove_prefix(1);
        return negative;
    }

    // The length of the separator of groups at the beginning of text, otherwise 0.
    std::size_t separator(std::string_view text) const {
        const auto length = [&](const auto& all) {
            const auto found = std::find_if(std::begin(all), std::end(all),
                                            [&](std::string_view one) { return text.starts_with(one); });
            return found == std::end(all) ? std::size_t(0) : found->size();
        };
        if (thousands == ' ') return length(kSpaces);
        if (thousands == '\'') return length(kApostrophes);
        return thousands != '\0' && text.starts_with(thousands) ? 1 : 0;
    }

    static std::size_t n_digits(std::string_view text) {
        return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    }

    // Moves a number from the beginning of text to the end of number, there with a decimal point; returns whether it is
    // one.
    bool take_digits(std::string_view& text, std::string& number) const {
        const auto move = [&](std::size_t n) {
            number += text.substr(0, n);
            text.remove_prefix(n);
        };
        std::size_t n = n_digits(text);
        const std::size_t first = n;
        move(n);
        for (std::size_t mark;
             n > 0 && first <= 3 && (mark = separator(text)) > 0 && (n = n_digits(text.substr(mark))) == 3;) {
            text.remove_prefix(mark);
            move(n);
        }
        if (text.starts_with(decimal) && text.size() > 1 && is_digit(text[1])) {
            number += '.';
            text.remove_prefix(1);
            move(n_digits(text));
        } else if (first == 0) {
            return false;
        }
        if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
            const std::size_t sign = text.size() > 1 && (text[1] == '-' || text[1] == '+') ? 1 : 0;
            if (const std::size_t exponent = n_digits(text.substr(1 + sign)); exponent > 0) move(1 + sign + exponent);
        }
        return true;
    }

    static std::string stripped(std::string_view text) {
        for (bool more = true; more;) {
            more = false;
            for (const std::string_view space : kSpaces) {
                while (text.starts_with(space)) text.remove_prefix(space.size()), more = true;
                while (text.ends_with(space)) text.remove_suffix(space.size()), more = true;
            }
        }
        return std::string(text);
    }

    // What is left of another number, a date or a range is no unit; m2 and m3 are.
    static bool is_unit(std::string_view text) {
        if (text.empty()) return true;
        if (std::string_view("+-.,:;'_").find(text.front()) != std::string_view::npos) return false;
        if (text.size() > 1 && (text.back() == '2' || text.back() == '3')) text.remove_suffix(1);
        return std::none_of(text.begin(), text.end(), is_digit);
    }
};

}  // namespace confidently
