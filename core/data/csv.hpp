// Text with one row of cells per line, separated by a delimiter. A cell may be in double quotes: then it may contain
// delimiters, line ends and doubled double quotes (RFC 4180).
//
// Bytes cut anywhere go in, checked CSR rows come out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/cells.hpp"
#include "data/tokens.hpp"

namespace confidently {

inline constexpr std::size_t kMaxLineBytes = std::size_t(64)
                                             << 20;  // a file without line ends must not fill the memory

struct CsvFormat {
    char delimiter;        // continues no number
    bool quotes;           // whether cells may be quoted
    bool careful = false;  // read every row in the careful way, which gives the same
};

// What the first cells of a column are, of which those that are empty and NaN do not count.
struct CellCounts {
    static constexpr std::size_t kSeveral = 3, kSamples = 100;

    std::int64_t numbers = 0, missing = 0, dates = 0, formatted = 0, others = 0;
    std::int64_t moments = 0;                       // cells that can be read as a date, whatever they are
    std::int64_t digits = 0, zeros = 0, codes = 0;  // numbers of digits only, with leading zeros, as 48E0160
    double low = 0.0, high = 0.0;                   // the smallest and the largest number that is not among the marks
    std::int64_t measured = 0;                      // how many these are
    std::map<double, std::int64_t> marks;           // numbers that may stand for missing values
    std::set<std::string, std::less<>> different;   // values of dates, formatted numbers and others, up to kSeveral
    std::string first, first_missing, first_formatted;
    std::vector<std::string> texts;    // all cells, if they are wanted
    std::vector<std::string> samples;  // the first cells that are neither numbers, dates nor missing, up to kSamples

    bool operator==(const CellCounts&) const = default;

    void number(double x) {
        ++numbers;
        if (may_be_mark(x)) return void(++marks[x]);
        low = measured ? std::min(low, x) : x;
        high = measured ? std::max(high, x) : x;
        ++measured;
    }

    // A cell of a column. The byte behind text must not continue a number.
    void add(std::string_view text, const CellColumn& column) {
        if (text.empty() || is_not_finite(text)) return;
        if (is_missing(text)) return count(missing, first_missing, text);
        if (first.empty()) first = text;
        moments += read_moment(text, column.date_format()).has_value();
        if (const auto x = column.read(text)) {
            digits += is_digits(text);
            zeros += text.size() > 1 && text[0] == '0' && is_digits(text);
            codes += looks_like_code(text);
            return number(*x);
        }
        if (different.size() < kSeveral && !different.contains(text)) different.emplace(text);
        if (is_date(text, column.date_format())) {
            ++dates;
            return;
        }
        if (samples.size() < kSamples) samples.emplace_back(text);
        is_formatted_number(text) ? count(formatted, first_formatted, text) : void(++others);
    }

  private:
    static void count(std::int64_t& n, std::string& first, std::string_view text) {
        if (n++ == 0) first = text;
    }
};

class CsvReader {
  public:
    CsvReader(CsvFormat format, ReaderOptions options, NgramOptions ngrams)
        : writer(std::move(options)), format_(format), ngrams_(ngrams) {}

    // Returns the cells of the first row that is not blank once its end has been fed, and keeps what follows for the
    // rows. Throws std::invalid_argument even if invalid rows are skipped.
    std::optional<std::vector<std::string>> header(std::string_view text) {
        keep(text);
        const char *p = buffer_.data(), *end = p + buffer_.size(), *next = nullptr;
        do {
            try {
                next = cut(beginning(p), end);
            } catch (const RowError& error) {
                throw std::invalid_argument(placed(error));
            }
            if (!next) break;
            line_ += std::count(p, next, '\n');
            p = next;
        } while (is_blank());
        std::optional<std::vector<std::string>> names;
        if (next) names.emplace();
        for (std::size_t k = 0; next && k < cells_.size(); ++k) names->emplace_back(trimmed(text_of(cells_[k])));
        buffer_.erase(0, static_cast<std::size_t>(p - buffer_.data()));
        return names;
    }

    // Sets the use of the cells of the next rows.
    void describe(const std::vector<ColumnUse>& columns) {
        columns_.clear();
        for (const ColumnUse& column : columns) columns_.emplace_back(column);
        // A row that is left must not have shown the unit of a column, and the fast way may leave one behind some of
        // its cells.
        careful_ = format_.careful || !writer.options.missing.empty() ||
                   std::any_of(columns_.begin(), columns_.end(), [](const CellColumn& c) { return c.numbers.units; });
    }

    // Counts the cells of the first rows, column by column. Returns nothing while there are too few rows, unless text
    // is the last one. Of one column, all texts are kept. A reader that counts cells reads no rows.
    std::optional<std::vector<CellCounts>> counts(std::string_view text, bool last, std::int64_t rows,
                                                  std::size_t texts = std::size_t(-1)) {
        keep(text);
        if (last && !buffer_.empty()) buffer_ += '\n';
        std::vector<CellCounts> found(columns_.size());
        const char *p = buffer_.data(), *end = p + buffer_.size();
        for (; rows > 0 && p != end; --rows) {
            const char* next = nullptr;
            try {
                next = cut(beginning(p), end);
                if (next && cells_.size() == columns_.size())
                    for (std::size_t k = 0; k < columns_.size(); ++k) {
                        if (k == texts) found[k].texts.emplace_back(trimmed(text_of(cells_[k])));
                        if (const auto text = trimmed(text_of(cells_[k])); !writer.options.missing.has(text))
                            found[k].add(text, columns_[k]);
                    }
            } catch (const RowError&) {
                next = line_end(p, end);
            }
            if (!next) break;
            p = next;
        }
        if (rows > 0 && !last) return std::nullopt;
        return found;
    }

    // Returns the rows that end in text. Throws std::invalid_argument, with line and column, for an invalid one.
    ParsedRows feed(std::string_view text) { return parsed(text, false); }

    // Returns the row of a last line without an end; the next text is that of another file.
    ParsedRows finish() {
        ParsedRows rows = parsed(buffer_.empty() ? "" : "\n", true);
        buffer_.clear();
        line_ = 0;
        return rows;
    }

    RowWriter writer;

  private:
    static constexpr int kLongestPause = 63;  // rows

    struct Cell {
        std::string_view text;
        bool escaped;  // contains doubled quotes
    };

    ParsedRows parsed(std::string_view text, bool last) {
        writer.begin_batch(line_ + 1);
        keep(text);
        if (text.find('\n') == std::string_view::npos && !(last && !buffer_.empty()))
            return writer.take();  // no row ends here
        writer.rows.room(static_cast<std::int64_t>(buffer_.size() / 2 + 2));
        const char *p = buffer_.data(), *end = p + buffer_.size();
        const bool too_long = buffer_.size() > kMaxLineBytes;
        while (p != end) {
            const char* next = record(p, end, last || too_long);
            if (!next) break;
            p = next;
        }
        buffer_.erase(0, static_cast<std::size_t>(p - buffer_.data()));
        return writer.take();
    }

    void keep(std::string_view text) {
        if (buffer_.size() > kMaxLineBytes && text.find('\n') == std::string_view::npos)
            throw std::invalid_argument("line " + std::to_string(line_ + 1) +
                                        " is longer than 64 MiB; is this a table of text?");
        buffer_ += text;
    }

    // Reads the row at p. Returns the beginning of the next one, or nullptr if the end of this one is missing.
    const char* record(const char* p, const char* end, bool last) {
        at_ = nullptr;
        const char* next = nullptr;
        if (left_out_ > 0) {
            --left_out_;
        } else if ((next = plain_row(p, end))) {
            pause_ = 0;
            ++line_;
            return next;
        } else {
            left_out_ = pause_ =
                std::min(2 * pause_ + 1, kLongestPause);  // most rows may be other ones: trying each costs too much
        }
        next = p;
        try {
            next = cut(beginning(p), end);
            if (!next && !last) return nullptr;
            if (!next) throw RowError{nullptr, "a quote is never closed"};
            if (!is_blank()) row();
        } catch (const RowError& error) {
            if (!next || next == p) next = line_end(p, end);  // quotes cannot be trusted: only this line is lost
            if (!next) return nullptr;
            if (began_) writer.rollback_row();
            writer.skip(line_ + 1, placed(error), error);
        }
        began_ = false;
        line_ += std::count(p, next, '\n');
        return next;
    }

    // The fast way: reads the row at p cell by cell as it is cut, if no cell is quoted and nothing is wrong. Returns
    // the beginning of the next row; nullptr for any other row, of which no trace is left, because only the careful way
    // knows which of several errors comes first.
    const char* plain_row(const char* p, const char* end) {
        if (careful_ || line_ == 0 || columns_.empty()) return nullptr;
        if (is_space(*p) || *p == '\n') return nullptr;  // perhaps a blank line
        writer.begin_row(line_ + 1);
        try {
            if (const char* next = plain_cells(p, end)) {
                writer.end_row();
                return next;
            }
        } catch (const RowError&) {
        } catch (const std::invalid_argument&) {  // too many features, but the row may have too few cells
        }
        writer.rollback_row();
        return nullptr;
    }

    const char* plain_cells(const char* p, const char* end) {
        for (CellColumn& column : columns_)
            if (!(p = plain_cell_and_end(column, p, end))) return nullptr;
        return p;
    }

    // Returns what is behind the cell and the delimiter or line end that must follow it.
    const char* plain_cell_and_end(CellColumn& column, const char* p, const char* end) {
        const bool is_last = &column == &columns_.back();
        p = plain_cell(column, p, end);
        if (!p) return nullptr;
        if (is_last && *p == '\r') ++p;
        return *p == (is_last ? '\n' : format_.delimiter) ? p + 1 : nullptr;
    }

    // Returns what is behind the cell; nullptr if it is another kind of cell.
    const char* plain_cell(CellColumn& column, const char* p, const char* end) {
        const bool may_be_number = column.may_be_plain;
        if (may_be_number && ends_plain(*p)) return p;  // empty
        double x;
        if (may_be_number && end - p > kShortDecimal)
            if (const char* behind = read_short_decimal(p, x);
                behind && ends_plain(*behind) && std::fabs(x) <= writer.options.largest) {
                column.number(x, writer);
                return behind;
            }
        const char* behind = p;
        while (behind != end && !ends_plain(*behind)) ++behind;
        if (behind == end || (format_.quotes && opening_quote(p, behind))) return nullptr;
        column.written(between(p, behind), ngrams_, writer);
        return behind;
    }

    bool ends_plain(char c) const { return c == format_.delimiter || c == '\n' || c == '\r'; }

    bool is_blank() const { return cells_.size() == 1 && trimmed(cells_[0].text).empty(); }

    // Skips the byte order mark at the beginning of a file.
    const char* beginning(const char* p) const {
        return p + (line_ == 0 && p == buffer_.data() && buffer_.starts_with("\xef\xbb\xbf") ? 3 : 0);
    }

    static const char* line_end(const char* p, const char* end) {
        const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
        return newline ? newline + 1 : nullptr;
    }

    void row() {
        writer.begin_row(line_ + 1);
        began_ = true;
        if (cells_.size() != columns_.size())
            throw RowError{
                nullptr,
                "the row has " + std::to_string(cells_.size()) +
                    (cells_.size() == 1 ? " cell, expected " : " cells, expected ") + std::to_string(columns_.size()) +
                    (cells_[0].text.starts_with('#') ? "; # begins a comment only above the header: use --on-error skip"
                                                     : "")};
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            at_ = &columns_[k];
            columns_[k].written(text_of(cells_[k]), ngrams_, writer);
        }
        at_ = nullptr;
        writer.end_row();
    }

    std::string placed(const RowError& error) const {
        return "line " + std::to_string(line_ + 1) + (at_ ? ", column " + excerpt(at_->name) : "") + ": " + error.what;
    }

    // Cuts the row at p into cells. Returns the beginning of the next one, or nullptr if the end of this one is
    // missing.
    const char* cut(const char* p, const char* end) {
        cells_.clear();
        for (;; ++p) {
            const char* quote = format_.quotes ? opening_quote(p, end) : nullptr;
            p = quote ? quoted(quote + 1, end) : plain(p, end);
            if (!p) return nullptr;
            if (*p == '\n') return p + 1;
        }
    }

    // The quote that opens the cell at p, behind spaces; nullptr if there is none.
    const char* opening_quote(const char* p, const char* end) const {
        while (p != end && is_space(*p) && *p != format_.delimiter) ++p;
        return p != end && *p == '"' ? p : nullptr;
    }

    const char* plain(const char* first, const char* end) {
        const char* p = first;
        while (p != end && *p != format_.delimiter && *p != '\n') ++p;
        cells_.push_back({between(first, p - (p != first && p != end && *p == '\n' && p[-1] == '\r')), false});
        return p == end ? nullptr : p;
    }

    const char* quoted(const char* first, const char* end) {
        bool escaped = false;
        const char* p = first;
        for (;; p += 2, escaped = true) {
            p = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
            if (!p || p + 1 == end) return nullptr;
            if (p[1] != '"') break;
        }
        cells_.push_back({between(first, p), escaped});
        for (++p; p != end && *p != format_.delimiter && *p != '\n'; ++p)
            if (!is_space(*p))
                throw RowError{nullptr, "text follows the closing quote of " + excerpt(cells_.back().text) +
                                            "; "
                                            "double the quotes inside a quoted cell"};
        return p == end ? nullptr : p;
    }

    std::string_view text_of(const Cell& cell) {
        if (!cell.escaped) return cell.text;
        unescaped_.clear();
        for (const char *p = cell.text.data(), *end = p + cell.text.size(); p != end; p += 1 + (*p == '"'))
            unescaped_ += *p;
        return unescaped_;
    }

    CsvFormat format_;
    bool careful_ = false;  // every row is read in the careful way
    Ngrams ngrams_;
    std::vector<CellColumn> columns_;
    std::vector<Cell> cells_;
    std::string buffer_;     // a row whose end is missing
    std::string unescaped_;  // a cell
    std::int64_t line_ = 0;  // lines before the row
    const CellColumn* at_ = nullptr;
    bool began_ = false;
    int pause_ = 0, left_out_ = 0;  // rows that are not tried as plain ones
};

}  // namespace confidently
