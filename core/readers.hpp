// A streaming reader of svmlight text: bytes cut anywhere go in, checked CSR rows come out.
//
//   line     = [labels] {space index:value} [space # comment]
//   labels   = label {, label}      integers or words; a line that begins with a space or a feature has none
//
// qid:N and blank lines are passed over. Lines end in \n or \r\n; the last may lack it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decimal.hpp"
#include "label_table.hpp"
#include "rows.hpp"

namespace confidently {

inline constexpr std::size_t kLongestLine = std::size_t(64) << 20;  // a file without line ends must not fill the memory
inline constexpr std::size_t kLeastFeatureBytes = 4;                // "1:1 "
inline constexpr std::ptrdiff_t kMostIndexDigits = 18, kLongestExcerpt = 40;

// A label at its first appearance.
struct NewLabel {
    Label label;
    std::int64_t row, line;  // row: within its batch
};

struct ParsedRows {
    std::unique_ptr<double[]> values;
    std::unique_ptr<std::int32_t[]> columns;
    std::int64_t size = 0, n_columns = 0, first_line = 0;
    std::vector<std::int64_t> start{0}, label_start{0};
    std::vector<std::int32_t> labels;
    std::vector<NewLabel> new_labels;
    std::int64_t list_row = -1, list_line = -1;  // the first row that has no label or more than one

    std::int64_t n_rows() const { return static_cast<std::int64_t>(start.size()) - 1; }

    void reserve(std::size_t bytes) {
        values = std::make_unique_for_overwrite<double[]>(bytes / kLeastFeatureBytes + 1);
        columns = std::make_unique_for_overwrite<std::int32_t[]>(bytes / kLeastFeatureBytes + 1);
    }
};

struct SvmlightOptions {
    bool zero_based, ignore_labels;
    double largest;             // value, in size
    std::int64_t most_columns;
};

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_token(char c) { return is_space(c) || c == '\n'; }
inline bool ends_line(char c) { return c == '\n' || c == '#'; }

inline const char* skip_spaces(const char* p) {
    while (is_space(*p)) ++p;
    return p;
}

inline const char* token_end(const char* p) {
    while (!ends_token(*p)) ++p;
    return p;
}

// Text as it may stand in a message: quoted, cut, everything but printable ASCII escaped.
inline std::string excerpt(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, kLongestExcerpt)) {
        char code[8];
        std::snprintf(code, sizeof code, c >= ' ' && c <= '~' ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
        shown += code;
    }
    return shown + (text.size() > kLongestExcerpt ? "...'" : "'");
}

class SvmlightReader {
  public:
    explicit SvmlightReader(SvmlightOptions options) : options_(options) {}

    // The rows of the lines that end in text. Throws std::invalid_argument, with line and column, at what is no svmlight.
    ParsedRows feed(std::string_view text) {
        ParsedRows rows;
        rows_ = &rows;
        if (text.find('\n') == std::string_view::npos) {
            keep(text);
            return rows;
        }
        rows.reserve(carry_.size() + text.size());
        rows.first_line = line_ + 1;
        if (!carry_.empty()) {
            const std::size_t first = text.find('\n') + 1;
            keep(text.substr(0, first));
            parse(carry_);
            carry_.clear();
            text.remove_prefix(first);
        }
        const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
        parse(text.substr(0, whole));
        keep(text.substr(whole));
        return rows;
    }

    // The row of a last line without an end; what is fed next is another file.
    ParsedRows finish() {
        ParsedRows rows = feed(carry_.empty() ? "" : "\n");
        line_ = 0;
        return rows;
    }

  private:
    void keep(std::string_view text) {
        if (carry_.size() + text.size() > kLongestLine)
            throw std::invalid_argument("line " + std::to_string(line_ + 1) +
                                        " is longer than 64 MiB: this does not look like svmlight text");
        carry_ += text;
    }

    void parse(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        while (p != end) {
            line_begin_ = p;
            if (++line_ == 1 && text.starts_with("\xef\xbb\xbf")) p += 3;  // a byte order mark
            p = parse_line(p);
            while (*p != '\n') ++p;
            ++p;
        }
    }

    const char* parse_line(const char* p) {
        const char* first = skip_spaces(p);
        if (ends_line(*first)) return first;
        const std::size_t labels_before = rows_->labels.size();
        const bool labelled = first == p && !is_feature(p);
        if (options_.ignore_labels) {
            if (labelled) p = token_end(p);
        } else {
            if (labelled) p = parse_labels(p);
            if (rows_->labels.size() != labels_before + 1 && rows_->list_row < 0) {
                rows_->list_row = rows_->n_rows();
                rows_->list_line = line_;
            }
            rows_->label_start.push_back(static_cast<std::int64_t>(rows_->labels.size()));
        }
        return parse_features(p);
    }

    static bool is_feature(const char* p) {
        const char* q = p;
        while (is_digit(*q)) ++q;
        return (q != p && *q == ':') || std::string_view(p, static_cast<std::size_t>(token_end(p) - p)).starts_with("qid:");
    }

    const char* parse_labels(const char* p) {
        const char* end = token_end(p);
        const std::size_t before = rows_->labels.size();
        for (const char* label = p;; ++label) {
            const char* comma = std::find(label, end, ',');
            add_label({label, static_cast<std::size_t>(comma - label)}, before);
            if (comma == end) return end;
            label = comma;
        }
    }

    void add_label(std::string_view token, std::size_t before) {
        std::vector<std::int32_t>& labels = rows_->labels;
        std::pair<std::int32_t, bool> found;
        try {
            found = table_.number_of(token);
        } catch (const std::invalid_argument& e) {
            fail(token.data(), "label", e.what());
        }
        if (found.second) rows_->new_labels.push_back({canonical_label(token), rows_->n_rows(), line_});
        if (std::find(labels.begin() + static_cast<std::ptrdiff_t>(before), labels.end(), found.first) == labels.end())
            labels.push_back(found.first);
    }

    const char* parse_features(const char* p) {
        const std::int64_t first = rows_->size;
        std::int32_t* const columns = rows_->columns.get();
        double* const values = rows_->values.get();
        std::int64_t before = -1, n = first;
        bool ascending = true;
        for (p = skip_spaces(p); !ends_line(*p); p = skip_spaces(p)) {
            std::int64_t column;
            double value;
            const char* end = parse_feature(p, column, value);
            p = end ? end : other_token(p);
            if (!end) continue;
            ascending &= column > before;
            before = column;
            columns[n] = static_cast<std::int32_t>(column);
            values[n++] = value;
        }
        rows_->size = n;
        if (!ascending) sort_row(first);
        if (n > first) rows_->n_columns = std::max<std::int64_t>(rows_->n_columns, columns[rows_->size - 1] + 1);
        rows_->start.push_back(rows_->size);
        return p;
    }

    // One index:value; nullptr if it is none.
    CONFIDENTLY_INLINE const char* parse_feature(const char* p, std::int64_t& column, double& value) const {
        std::uint64_t index = 0;
        const char* colon = read_digits(p, index);
        if (colon == p || *colon != ':' || colon - p > kMostIndexDigits) return nullptr;
        column = static_cast<std::int64_t>(index) - !options_.zero_based;
        if (column < 0 || column >= options_.most_columns) return nullptr;
        const char* text = colon + 1;
        if (is_digit(text[0]) && ends_token(text[1])) {  // one-hot data have no other values
            value = text[0] - '0';
            return text + 1;
        }
        const char* end = read_decimal(text, value);
        return end && (ends_token(*end) || *end == '#') && std::fabs(value) <= options_.largest ? end : nullptr;
    }

    // A token that is no feature: qid:N is passed over, all else is an error.
    const char* other_token(const char* p) const {
        const char* end = token_end(p);
        const std::string_view token(p, static_cast<std::size_t>(end - p));
        if (token.starts_with("qid:")) return end;
        const std::size_t colon = token.find(':');
        if (colon == std::string_view::npos)
            fail(p, "feature", "is not index:value (labels of a row are separated by commas, without spaces)");
        check_index(p, token.substr(0, colon));
        check_value(p, token.substr(colon + 1));
        fail(p, "feature", "is not index:value");
    }

    void check_index(const char* p, std::string_view index) const {
        const std::int64_t base = !options_.zero_based;
        if (index.empty() || index.find_first_not_of("0123456789") != std::string_view::npos)
            fail(p, "feature", "has an index that is not a whole number from " + std::to_string(base));
        if (base == 1 && index.find_first_not_of('0') == std::string_view::npos)
            fail(p, "feature", "has index 0, but indices count from 1 here (--zero-based if they count from 0)");
        std::uint64_t number = 0;
        read_digits(index.data(), number);
        const std::int64_t largest = options_.most_columns - 1 + base;
        if (index.size() > kMostIndexDigits || number > static_cast<std::uint64_t>(largest))
            fail(p, "feature", "has an index above " + std::to_string(largest) + "; hash the features into fewer");
    }

    void check_value(const char* p, std::string_view text) const {
        if (text.empty()) fail(p, "feature", "has no value after the colon");
        if (is_not_finite(text)) fail(p, "feature", "has a value that is not finite; leave it out, or impute it");
        double value = 0.0;
        const char* end = read_decimal(text.data(), value);
        if (!end || !(ends_token(*end) || *end == '#')) fail(p, "feature", "has a value that is not a number");
        char bound[32];
        std::snprintf(bound, sizeof bound, "%g", options_.largest);
        fail(p, "feature", "has a value above " + std::string(bound) + " in size; rescale it");
    }

    // Ascending columns, equal ones summed in the order they came.
    void sort_row(std::int64_t first) {
        std::int64_t n = rows_->size;
        pairs_.clear();
        for (std::int64_t k = first; k < n; ++k) pairs_.emplace_back(rows_->columns[k], rows_->values[k]);
        std::stable_sort(pairs_.begin(), pairs_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        n = first;
        for (const auto& [column, value] : pairs_) {
            if (n > first && rows_->columns[n - 1] == column) {
                rows_->values[n - 1] += value;
            } else {
                rows_->columns[n] = column;
                rows_->values[n++] = value;
            }
        }
        rows_->size = n;
    }

    [[noreturn]] void fail(const char* at, const std::string& kind, const std::string& problem) const {
        const std::string_view token(at, static_cast<std::size_t>(token_end(at) - at));
        throw std::invalid_argument("line " + std::to_string(line_) + ", column " + std::to_string(at - line_begin_ + 1) +
                                    ": " + kind + " " + excerpt(token) + " " + problem);
    }

    SvmlightOptions options_;
    LabelTable table_;
    ParsedRows* rows_ = nullptr;
    std::string carry_;  // a line whose end has not been seen
    const char* line_begin_ = nullptr;
    std::int64_t line_ = 0;
    std::vector<std::pair<std::int32_t, double>> pairs_;
};

}  // namespace confidently
