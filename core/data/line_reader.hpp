// A reader of text with one row per line: bytes go in, checked CSR rows come out.
//
// A format is a struct with
//   static constexpr bool utf8;                      whether a line must be UTF-8 text as a whole
//   const char* parse_line(const char* p, const char* end, std::int64_t line, RowWriter& rows);
// parse_line reads the line at p, which ends in \n before end. It begins and ends a row in rows if the line has one,
// and returns a pointer into the line behind which nothing is left to read. It throws RowError if the row is invalid.
// Lines end in \n or \r\n; the last line of a file may lack its end. data/line_formats.hpp lists the formats. A format
// may have a faster
//   const char* parse_plain_lines(const char* p, const char* end, std::int64_t& line, RowWriter& rows);
// which reads the first lines from p on, as many as it can, and returns where it ended; the next line is left to
// parse_line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "data/numbering.hpp"
#include "data/rows_out.hpp"
#include "data/utf8.hpp"

namespace confidently {

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

// One of the readers that share a stream. Every piece of it is parsed, numbered in the order of the stream, and taken.
class LineReader {
  public:
    explicit LineReader(ReaderOptions options) : writer(std::move(options)), order_(writer.options.path) {}
    virtual ~LineReader() = default;

    // Reads the rows of the lines that end in text. The first of these has the number line in its file, and its
    // beginning, begun, came before text. Throws std::invalid_argument, with line and column, for the first invalid
    // row.
    virtual void parse(const std::string& begun, std::string_view text, std::int64_t line) = 0;

    // Gives the new labels and features of the rows their numbers in the stream; called for the pieces in order.
    void number(Numbering& numbering) {
        numbering.number_labels(writer.rows, numbers_);
        if (writer.options.own_columns) numbering.number_features(writer.rows, numbers_);
    }

    // The rows that were parsed and numbered.
    ParsedRows take() {
        const bool numbered =
            numbers_.labels.size() == writer.n_labels() &&
            (!writer.options.own_columns || writer.features().n_provisional() == numbers_.features.size());
        if (!numbered) throw std::invalid_argument("the rows were not numbered, or those before them failed");
        ParsedRows rows = writer.take();
        if (rows.targets.empty())
            for (std::int32_t& label : rows.labels) label = numbers_.labels[static_cast<std::size_t>(label)];
        finish_entries(rows, numbers_.features, writer.options.l2, order_);
        writer.renumber(numbers_.features);
        numbers_.features.clear();
        return rows;
    }

    RowWriter writer;

  private:
    Numbers numbers_;
    RowOrder order_;
};

template <class Format>
class LineReaderOf final : public LineReader {
  public:
    LineReaderOf(Format format, ReaderOptions options) : LineReader(std::move(options)), format_(std::move(format)) {}

    void parse(const std::string& begun, std::string_view text, std::int64_t line) override {
        writer.begin_batch(line);
        writer.rows.room(static_cast<std::int64_t>((begun.size() + text.size()) / kUsualFeatureBytes + 1));
        if (!begun.empty()) {
            const std::size_t first = text.find('\n') + 1;  // npos + 1 is 0
            if (first > 0) parse_lines(begun + std::string(text.substr(0, first)), line++);
            text.remove_prefix(first);
        }
        parse_lines(text.substr(0, text.rfind('\n') + 1), line);
    }

  private:
    static constexpr std::size_t kUsualFeatureBytes = 8;  // as a guess: room for more is made as they come

    void parse_lines(std::string_view text, std::int64_t line) {
        const char *p = text.data(), *end = p + text.size();
        const char* invalid = Format::utf8 ? invalid_utf8(p, end) : end;
        for (; p != end; ++line) {
            if constexpr (requires { &Format::parse_plain_lines; })
                if (line != 1 && (p = format_.parse_plain_lines(p, end, line, writer)) == end) break;
            const char* begin = p;
            if (line == 1 && text.starts_with("\xef\xbb\xbf")) p += 3;  // a byte order mark
            try {
                if (invalid != end && std::find(p, invalid, '\n') == invalid) {
                    const char* at = std::exchange(invalid, invalid_utf8(std::find(invalid, end, '\n'), end));
                    writer.begin_row(line);  // the one that is rolled back
                    throw RowError{at, not_utf8(at)};
                }
                p = format_.parse_line(p, end, line, writer);
            } catch (const RowError& error) {
                writer.rollback_row();
                writer.skip(line, placed(error, line, begin), error);
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
};

}  // namespace confidently
