// A reader of text with a row a line: bytes go in, checked CSR rows come out.
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

#include "data/decimal.hpp"
#include "data/numbering.hpp"
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

inline std::int64_t count_lines(std::string_view text) {
    constexpr std::size_t block = 255;  // whose counts fit a byte: several of those are counted at a time
    std::int64_t n = 0;
    for (; !text.empty(); text.remove_prefix(std::min(block, text.size()))) {
        std::uint8_t here = 0;
        for (const char c : text.substr(0, block)) here = static_cast<std::uint8_t>(here + (c == '\n'));
        n += here;
    }
    return n;
}

template <class Format>
class LineReader {
  public:
    LineReader(Format format, ReaderOptions options) : writer(std::move(options)), format_(std::move(format)) {}

    // Reads the rows of the lines that end in text; the first of them, which has that number in its file, begins with begun.
    // Throws std::invalid_argument, with line and column, at what is wrong.
    void parse(const std::string& begun, std::string_view text, std::int64_t line) {
        writer.begin_batch(line);
        writer.rows.room(static_cast<std::int64_t>((begun.size() + text.size()) / Format::least_feature_bytes + 2));
        if (!begun.empty()) {
            const std::size_t first = text.find('\n') + 1;  // npos + 1 is 0
            if (first > 0) parse_lines(begun + std::string(text.substr(0, first)), line++);
            text.remove_prefix(first);
        }
        parse_lines(text.substr(0, text.rfind('\n') + 1), line);
    }

    // Gives what is new in the rows its numbers in the stream; for one piece of it after the other.
    void number(Numbering& numbering) {
        numbering.number_labels(writer.rows, numbers_);
        if (writer.options.own_columns) numbering.number_features(writer.rows, numbers_);
    }

    // The rows that were read, and numbered.
    ParsedRows take() {
        ParsedRows rows = writer.take();
        for (std::int32_t& label : rows.labels) label = numbers_.labels[static_cast<std::size_t>(label)];
        if (writer.options.own_columns) finish_entries(rows, numbers_, writer.options.l2, order_);
        return rows;
    }

    RowWriter writer;

  private:
    void parse_lines(std::string_view text, std::int64_t line) {
        const char *p = text.data(), *end = p + text.size();
        for (; p != end; ++line) {
            const char* begin = p;
            if (line == 1 && text.starts_with("\xef\xbb\xbf")) p += 3;  // a byte order mark
            try {
                p = format_.parse_line(p, end, line, writer);
            } catch (const RowError& error) {
                writer.take_back();
                writer.skip(line, placed(error, line, begin));
                p = error.at ? error.at : begin;
            }
            while (*p != '\n') ++p;
            ++p;
        }
    }

    static std::string placed(const RowError& error, std::int64_t line, const char* begin) {
        const std::string where = "line " + std::to_string(line);
        if (!error.at) return where + ": " + error.what;
        return where + ", column " + std::to_string(error.at - begin + 1) + ": " + error.what;
    }

    Format format_;
    Numbers numbers_;
    RowOrder order_;
};

}  // namespace confidently
