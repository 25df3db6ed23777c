// A streaming reader of text with a row a line: bytes cut anywhere go in, checked CSR rows come out.
//
// A format is a struct with
//   static constexpr const char* name;                 what the text is called
//   static constexpr std::size_t least_feature_bytes;  a row of n bytes has at most n / least_feature_bytes + 1 entries
//   const char* parse_line(const char* p, const char* end, std::int64_t line, RowWriter& rows);
// parse_line reads the line at p, which ends in \n before end, begins and ends its row in rows if it has one, and returns a place in
// the line behind which nothing is of interest. It throws RowError for what is not as it should be. Lines end in \n or
// \r\n; the last may lack it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "decimal.hpp"
#include "rows_out.hpp"

namespace confidently {

inline constexpr std::size_t kLongestLine = std::size_t(64) << 20;  // a file without line ends must not fill the memory

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

inline std::string_view between(const char* first, const char* last) { return {first, static_cast<std::size_t>(last - first)}; }

inline std::string_view token_at(const char* p) { return between(p, token_end(p)); }

// Says what is wrong with the value of a token, written as text; what ends the text cannot belong to a number. Returns
// if nothing is.
inline void check_value(std::string_view token, std::string_view text, const RowWriter& rows, const char* kind) {
    if (text.empty()) fail(token, kind, "has no value after the colon");
    if (is_not_finite(text)) fail(token, kind, "has a value that is not finite; leave it out, or impute it");
    double value = 0.0;
    if (read_decimal(text.data(), value) != text.data() + text.size()) fail(token, kind, "has a value that is not a number");
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

template <class Format>
class LineReader {
  public:
    LineReader(Format format, ReaderOptions options) : writer(std::move(options)), format_(std::move(format)) {}

    // The rows of the lines that end in text. Throws std::invalid_argument, with line and column, at what is wrong.
    ParsedRows feed(std::string_view text) {
        writer.begin_batch(line_ + 1);
        if (text.find('\n') == std::string_view::npos) {
            keep(text);
            return writer.take();
        }
        writer.rows.room(static_cast<std::int64_t>((carry_.size() + text.size()) / Format::least_feature_bytes + 2));
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
        return writer.take();
    }

    // The row of a last line without an end; what is fed next is another file.
    ParsedRows finish() {
        ParsedRows rows = feed(carry_.empty() ? "" : "\n");
        line_ = 0;
        return rows;
    }

    RowWriter writer;

  private:
    void keep(std::string_view text) {
        if (carry_.size() + text.size() > kLongestLine)
            throw std::invalid_argument("line " + std::to_string(line_ + 1) +
                                        " is longer than 64 MiB: this does not look like " + Format::name);
        carry_ += text;
    }

    void parse(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        while (p != end) {
            const char* begin = p;
            if (++line_ == 1 && text.starts_with("\xef\xbb\xbf")) p += 3;  // a byte order mark
            try {
                p = format_.parse_line(p, end, line_, writer);
            } catch (const RowError& error) {
                writer.take_back();
                writer.skip(line_, placed(error, begin));
                p = error.at ? error.at : begin;
            }
            while (*p != '\n') ++p;
            ++p;
        }
    }

    std::string placed(const RowError& error, const char* begin) const {
        const std::string where = "line " + std::to_string(line_);
        if (!error.at) return where + ": " + error.what;
        return where + ", column " + std::to_string(error.at - begin + 1) + ": " + error.what;
    }

    Format format_;
    std::string carry_;  // a line whose end has not been seen
    std::int64_t line_ = 0;
};

}  // namespace confidently
