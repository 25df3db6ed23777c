// svmlight text:
//
//   line     = [labels] {space index:value} [space # comment]
//   labels   = label {, label}      integers or strings; a line that begins with a feature has none
//
// cost:W is the weight of the example; qid:N, sid:N and blank lines are skipped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/decimal.hpp"
#include "data/tokens.hpp"

namespace confidently {

struct SvmlightFormat {
    static constexpr bool utf8 = false;                   // labels are checked; comments may be anything

    bool zero_based;

    const char* parse_line(const char* p, const char* end, std::int64_t line, RowWriter& rows) const {
        const bool behind_space = is_space(*p);
        p = skip_spaces(p);
        if (ends_line(*p)) return p;
        rows.begin_row(line);
        if (!is_feature(p, behind_space)) {
            const std::string_view labels = token_at(p);
            if (rows.options.labels != LabelCount::ignored) read_labels(labels, rows);
            p += labels.size();
        }
        p = parse_features(p, end, rows);
        rows.end_row();
        return p;
    }

  private:
    static constexpr std::ptrdiff_t kMaxIndexDigits = 18, kShortFeature = 8 + kShortDecimal;

    static bool ends_line(char c) { return c == '\n' || c == '#'; }

    static bool is_tag(std::string_view token) {
        return token.starts_with("qid:") || token.starts_with("sid:") || token.starts_with("cost:");
    }

    // Whether the first token is a feature; behind a space, no label has a colon.
    static bool is_feature(const char* p, bool behind_space) {
        const char* q = p;
        while (is_digit(*q)) ++q;
        return (q != p && *q == ':') || is_tag(token_at(p)) || (behind_space && token_at(p).find(':') != std::string_view::npos);
    }

    const char* parse_features(const char* p, const char* end, RowWriter& rows) const {
        const double largest = rows.options.largest;
        const std::int64_t max_columns = rows.options.max_columns;
        for (;; p += *p == ' ') {
            if (*p <= '#' && ends_line(*(p = skip_spaces(p)))) return p;
            std::int64_t column;
            double value;
            const char* next = end - p > kShortFeature ? parse_short_feature(p, column, value) : nullptr;
            if (!next) next = parse_feature(p, column, value);
            const bool good = next && 0 <= column && column < max_columns && std::fabs(value) <= largest;
            if (good) rows.add(column, value);
            p = good ? next : other_token(p, rows);
        }
    }

    // Reads the most common index:value, looking at no more than kShortFeature bytes; nullptr for others.
    CONFIDENTLY_INLINE const char* parse_short_feature(const char* p, std::int64_t& column, double& value) const {
        const Digits index = digits_of_8(p);
        const char* text = p + index.count + 1;
        if (index.count == 0 || index.count == 8 || text[-1] != ':') return nullptr;
        column = static_cast<std::int64_t>(index.number) - !zero_based;
        if (text[1] == ' ' && is_digit(text[0])) {  // one-hot data have no other values
            value = text[0] - '0';
            return text + 1;
        }
        const char* end = read_short_decimal(text, value);
        return end && (*end == ' ' || *end == '\n') ? end : nullptr;
    }

    // Reads one index:value; nullptr if it is none.
    const char* parse_feature(const char* p, std::int64_t& column, double& value) const {
        std::uint64_t index = 0;
        const char* colon = read_digits(p, index);
        if (colon == p || *colon != ':' || colon - p > kMaxIndexDigits) return nullptr;
        column = static_cast<std::int64_t>(index) - !zero_based;
        const char* end = read_decimal(colon + 1, value);
        return end && (ends_token(*end) || *end == '#') ? end : nullptr;
    }

    // A token that is not a feature: a tag, or an error.
    const char* other_token(const char* p, RowWriter& rows) const {
        const std::string_view token = token_at(p);
        const std::size_t colon = token.find(':');
        if (is_tag(token)) {
            if (token.starts_with("cost:")) rows.weight(token.substr(5), token);
        } else if (colon == std::string_view::npos) {
            fail(token, "feature", "is not index:value (labels of a row are separated by commas, without spaces)");
        } else {
            check_index(token, token.substr(0, colon), rows);
            check_value(token, token.substr(colon + 1, token.find('#', colon) - colon - 1), rows, "feature");
            fail(token, "feature", "is not index:value");
        }
        return p + token.size();
    }

    void check_index(std::string_view token, std::string_view index, const RowWriter& rows) const {
        const std::int64_t base = !zero_based;
        if (index.empty() || index.find_first_not_of("0123456789") != std::string_view::npos)
            fail(token, "feature", "has an index that is not an integer from " + std::to_string(base));
        if (base == 1 && index.find_first_not_of('0') == std::string_view::npos)
            fail(token, "feature", "has index 0, but indices count from 1; use --zero-based if they count from 0");
        std::uint64_t number = 0;
        read_digits(index.data(), number);
        const std::int64_t largest = rows.options.max_columns - 1 + base;
        if (index.size() > kMaxIndexDigits || number > static_cast<std::uint64_t>(largest))
            fail(token, "feature", "has an index above " + std::to_string(largest) + "; hash the features into fewer columns");
    }
};

}  // namespace confidently
