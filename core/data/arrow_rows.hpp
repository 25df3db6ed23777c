// Rows of batches of Arrow columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/cells.hpp"

namespace confidently {

// Which values are present: one bit per value, lowest first; without a bitmap, all.
struct Validity {
    const std::uint8_t* bits = nullptr;
    std::int64_t first = 0, size = 0;  // in bits, in bytes

    bool operator[](std::int64_t i) const { return !bits || (bits[(first + i) >> 3] >> ((first + i) & 7) & 1); }
    bool covers(std::int64_t n) const { return !bits || (first >= 0 && first <= 8 * size - n); }
};

// Where each part of an array begins, and where the last one ends.
struct Parts {
    const std::int64_t* start = nullptr;
    std::int64_t n = 0;

    bool within(std::int64_t size) const {
        return start[0] >= 0 && start[n] <= size && std::is_sorted(start, start + n + 1);
    }
};

// A column of numbers or of strings, which may be entries of a dictionary; or of lists of these.
struct ArrowColumn {
    std::size_t which = 0;  // index among the described columns
    Validity valid;
    const double* numbers = nullptr;  // otherwise strings
    std::int64_t n = 0;               // of numbers, entries or strings, over all rows and lists
    const char* text = nullptr;
    std::int64_t text_size = 0;
    Parts strings;
    const std::int32_t* entry = nullptr;
    Validity list_valid;
    Parts lists;

    void check(std::int64_t n_rows) const {
        const bool sound = valid.covers(n) && list_valid.covers(lists.start ? n_rows : 0) &&
                           (lists.start ? lists.n == n_rows && lists.within(n) : n == n_rows) &&
                           (numbers || (strings.within(text_size) && (entry || strings.n == n)));
        if (!sound) throw std::invalid_argument("the buffers of a column are damaged");
    }

    std::int64_t string_of(std::int64_t element) const {
        if (!entry) return element;
        if (entry[element] < 0 || entry[element] >= strings.n)
            throw std::invalid_argument("the entries of a dictionary are damaged");
        return entry[element];
    }

    std::string_view string(std::int64_t k) const {
        return {text + strings.start[k], static_cast<std::size_t>(strings.start[k + 1] - strings.start[k])};
    }
};

class ArrowReader {
  public:
    ArrowReader(ReaderOptions options, NgramOptions ngrams) : writer(std::move(options)), ngrams_(ngrams) {}

    // Describes the columns of the next batches, whose rows are numbered from 1.
    void describe(const std::vector<ColumnUse>& columns) {
        columns_.clear();
        for (const ColumnUse& column : columns) columns_.emplace_back(column);
        row_ = 0;
    }

    // Returns the rows of a batch. Throws std::invalid_argument, with row and column, for an invalid one.
    ParsedRows feed(std::int64_t n_rows, const std::vector<ArrowColumn>& columns) {
        std::int64_t n_entries = 0;
        for (const ArrowColumn& column : columns) {
            if (column.which >= columns_.size()) throw std::invalid_argument("a column was not described");
            column.check(n_rows);
            n_entries += column.n;
            columns_[column.which].known.assign(column.entry ? static_cast<std::size_t>(column.strings.n) : 0, -1);
        }
        writer.begin_batch(row_ + 1);
        writer.rows.room(n_entries);
        for (std::int64_t i = 0; i < n_rows; ++i) row(i, columns);
        return writer.take();
    }

    RowWriter writer;

  private:
    struct Column {
        explicit Column(const ColumnUse& use) : cell(use) {}

        CellColumn cell;
        std::vector<std::int32_t> known;  // the feature of every entry of the dictionary; -1: not looked up yet
        std::uint64_t known_since = 0;
        std::deque<SteadyFeature> elements;  // of lists of numbers
    };

    void row(std::int64_t i, const std::vector<ArrowColumn>& columns) {
        ++row_;
        const Column* at = nullptr;
        writer.begin_row(row_);
        try {
            for (const ArrowColumn& arrow : columns) {
                at = &columns_[arrow.which];
                values(i, arrow, columns_[arrow.which]);
            }
            at = nullptr;
            writer.end_row();
        } catch (const RowError& error) {
            writer.rollback_row();
            const std::string column = at ? ", column " + excerpt(at->cell.name) : "";
            writer.skip(row_, "row " + std::to_string(row_) + column + ": " + error.what, error);
        }
    }

    void values(std::int64_t i, const ArrowColumn& arrow, Column& column) {
        const std::int64_t first = arrow.lists.start ? arrow.lists.start[i] : i;
        const std::int64_t last = arrow.lists.start ? arrow.lists.start[i + 1] : i + 1;
        if (!arrow.list_valid[i]) return;
        for (std::int64_t k = first; k < last; ++k) {
            if (!arrow.valid[k]) {
                if (column.cell.use == Use::weight) fail("", "weight", "is missing");
                if (column.cell.use == Use::target) writer.label("");
            } else if (arrow.numbers) {
                number(arrow.numbers[k], arrow.lists.start ? k - first : -1, column);
            } else {
                string(arrow, arrow.string_of(k), column);
            }
        }
    }

    void number(double x, std::int64_t place, Column& column) {
        if (column.cell.use == Use::weight) return writer.weight(x, written(x));
        if (writer.options.missing.has(x) || std::isnan(x))
            return column.cell.use == Use::target ? writer.no_target(written(x)) : void();
        if (column.cell.use == Use::target) return writer.target(x, written(x));
        if (column.cell.use != Use::value && column.cell.use != Use::number) return;
        if (std::isinf(x)) fail(written(x), "value", "is not finite; leave it out, or impute it");
        if (!(std::fabs(x) <= writer.options.largest)) writer.check(x, written(x));
        if (place < 0) return column.cell.number(x, writer);
        while (static_cast<std::int64_t>(column.elements.size()) <= place)
            column.elements.emplace_back(column.cell.name + "." + std::to_string(column.elements.size()));
        column.elements[static_cast<std::size_t>(place)].add(x, writer);
    }

    void string(const ArrowColumn& arrow, std::int64_t k, Column& column) {
        const std::string_view text = arrow.string(k);
        if (column.cell.use == Use::value || column.cell.use == Use::category) {
            if (!writer.options.missing.empty() && writer.options.missing.has(token_ = text)) return;
            if (arrow.entry)
                entry(text, static_cast<std::size_t>(k), column);
            else
                column.cell.category(text, writer);
        } else if (column.cell.use == Use::text) {
            column.cell.written(text, ngrams_, writer);
        } else {
            token_ = text;  // the byte behind it does not continue a number
            column.cell.written(token_, ngrams_, writer);
        }
    }

    void entry(std::string_view text, std::size_t k, Column& column) {
        if (text.empty()) return;
        if (column.known_since != writer.forgotten()) {
            std::fill(column.known.begin(), column.known.end(), -1);
            column.known_since = writer.forgotten();
        }
        if (column.known[k] < 0) column.known[k] = column.cell.category_feature(text, writer);
        writer.add(column.known[k], 1.0);
    }

    std::string_view written(double x) {
        char text[32];
        std::snprintf(text, sizeof text, "%.17g", x);
        return token_ = text;
    }

    Ngrams ngrams_;
    std::vector<Column> columns_;
    std::string token_;
    std::int64_t row_ = 0;
};

}  // namespace confidently
