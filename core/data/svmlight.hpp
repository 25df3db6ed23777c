// svmlight text:
//
//   line     = [labels] {space index:value} [space # comment]
//   labels   = label {, label}      integers or strings; a line that begins with a feature has none
//
// cost:W is the weight of the example; qid:N, sid:N and blank lines are skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/svmlight_avx2.hpp"
#include "data/svmlight_features.hpp"
#include "data/svmlight_lines.hpp"
#include "data/tokens.hpp"

namespace confidently {

class SvmlightFormat {
  public:
    static constexpr bool utf8 = false;  // labels are checked; comments may be anything

    SvmlightFormat(bool zero_based, const ReaderOptions& options)
        : zero_based_(zero_based), features_{!zero_based, options.max_columns, options.largest} {
#if CONFIDENTLY_X86
        constexpr double largest_of_8_digits = 99'999'999.0;  // so that no value is too large
        if (options.largest < largest_of_8_digits || options.max_columns < 1) return;
        if (options.path == Simd::avx2) avx2_ = std::make_unique<SvmlightLines>();
#endif
    }

    const char* parse_plain_lines(const char* p, [[maybe_unused]] const char* end, [[maybe_unused]] std::int64_t& line,
                                  [[maybe_unused]] RowWriter& rows) {
#if CONFIDENTLY_X86
        if (avx2_) return avx2_->read(p, end, line, features_, rows);
#endif
        return p;
    }

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
    static bool ends_line(char c) { return c == '\n' || c == '#'; }

    static bool is_tag(std::string_view token) {
        return token.starts_with("qid:") || token.starts_with("sid:") || token.starts_with("cost:");
    }

    // Whether the first token is a feature; behind a space, no label has a colon.
    static bool is_feature(const char* p, bool behind_space) {
        const char* q = p;
        while (is_digit(*q)) ++q;
        return (q != p && *q == ':') || is_tag(token_at(p)) ||
               (behind_space && token_at(p).find(':') != std::string_view::npos);
    }

    const char* parse_features(const char* p, const char* end, RowWriter& rows) const {
        const SvmlightFeatures features = features_;
        for (;; p += *p == ' ') {
            if (*p <= '#' && ends_line(*(p = skip_spaces(p)))) return p;
            std::int64_t column;
            double value;
            const char* next = features.read(p, end, column, value);
            if (next) rows.add(column, value);
            p = next ? next : other_token(p, rows);
        }
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
            if (colon + 1 == token.size())
                if (const char* next = behind_spaces(token, rows)) return next;
            check_value(token, token.substr(colon + 1, token.find('#', colon) - colon - 1), rows, "feature");
            fail(token, "feature", "is not index:value");
        }
        return p + token.size();
    }

    // Adds a feature whose value is behind spaces, and returns its end; nullptr if there is none.
    const char* behind_spaces(std::string_view token, RowWriter& rows) const {
        const std::string_view text = token_at(skip_spaces(token.data() + token.size()));
        double x;
        if (text.empty() || read_decimal(text.data(), x) != text.data() + text.size()) return nullptr;
        check_value(token, text, rows, "feature");
        std::uint64_t index = 0;
        read_digits(token.data(), index);
        rows.add(static_cast<std::int64_t>(index) - !zero_based_, x);
        return text.data() + text.size();
    }

    void check_index(std::string_view token, std::string_view index, const RowWriter& rows) const {
        const std::int64_t base = !zero_based_;
        if (index.empty() || index.find_first_not_of("0123456789") != std::string_view::npos)
            fail(token, "feature", "has an index that is not an integer from " + std::to_string(base));
        if (base == 1 && index.find_first_not_of('0') == std::string_view::npos)
            fail(token, "feature", "has index 0, but indices count from 1; use --zero-based if they count from 0");
        std::uint64_t number = 0;
        read_digits(index.data(), number);
        const std::int64_t largest = rows.options.max_columns - 1 + base;
        if (index.size() > SvmlightFeatures::kMaxIndexDigits || number > static_cast<std::uint64_t>(largest))
            fail(token, "feature",
                 "has an index above " + std::to_string(largest) + "; hash the features into fewer columns");
    }

    bool zero_based_;
    SvmlightFeatures features_;
#if CONFIDENTLY_X86
    std::unique_ptr<SvmlightLines> avx2_;
#endif
};

}  // namespace confidently
