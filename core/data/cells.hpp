// How the cells of a table become features, column by column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dates.hpp"
#include "data/decimal.hpp"
#include "data/missing.hpp"
#include "data/ngrams.hpp"
#include "data/rows_out.hpp"
#include "data/steady_feature.hpp"
#include "data/tokens.hpp"
#include "data/units.hpp"
#include "data/utf8.hpp"

namespace confidently {

// value: a number or a category, cell by cell; number: the same, but NA and the like are missing; date: a date or a
// time.
enum class Use { none, value, category, text, label, target, weight, number, date };

struct ColumnUse {
    std::string name;
    Use use;
    std::vector<std::size_t> kept;                          // positions of this column among the kept strings of a row
    DateFeatures::PartUses parts = DateFeatures::kNumbers;  // of a date
    std::string date_format = "";                           // of a date; "": ISO 8601
    NumberFormat numbers = {};                              // of numbers, targets and weights
    std::string unit = "";                                  // of numbers with units, if it is known
};

// One column. Numbers are features with the column's name, categories column=value, n-grams column:n-gram, dates
// column.time and so on; an empty cell adds no feature, nor does 0 unless zeros are wanted.
class CellColumn {
  public:
    explicit CellColumn(const ColumnUse& use)
        : use(use.use), name(use.name), kept(use.kept), numbers(use.numbers),
          may_be_plain((use.use == Use::value || use.use == Use::number) && use.kept.empty() && use.numbers.plain()),
          number_(use.name), category_(use.name + "="), text_(use.name + ":"),
          date_(use.name, use.parts, use.date_format), unit_(use.unit) {}

    const Use use;
    const std::string name;
    const std::vector<std::size_t> kept;
    const NumberFormat numbers;
    const bool may_be_plain;  // the cells may be numbers without any format, and nothing is kept of them
    const std::string& date_format() const { return date_.format(); }

    // A cell as written, whose type is inferred cell by cell. The byte behind text must not continue a number.
    void written(std::string_view text, Ngrams& ngrams, RowWriter& rows) {
        const char* end = text.data() + text.size();
        if (use == Use::none && kept.empty()) return;
        if (const char* invalid = invalid_utf8(text.data(), end); invalid != end)
            throw RowError{nullptr, not_utf8(invalid)};
        for (const std::size_t which : kept) rows.keep(which, text);
        if (rows.options.missing.has(trimmed(text)) && use != Use::weight)
            return use == Use::target ? rows.no_target(trimmed(text)) : void();
        switch (use) {
            case Use::none: break;
            case Use::value:
            case Use::number: value(trimmed(text), rows); break;
            case Use::date: date(trimmed(text), rows); break;
            case Use::category: category(trimmed(text), rows); break;
            case Use::text: ngrams.add(text_, text, rows); break;
            case Use::label: labels(trimmed(text), rows); break;
            case Use::target: target(trimmed(text), rows); break;
            case Use::weight: weight(trimmed(text), rows); break;
        }
    }

    CONFIDENTLY_INLINE void number(double value, RowWriter& rows) { number_.add(value, rows); }

    // The number that a cell is, if it is one. The byte behind text must not continue a number.
    std::optional<double> read(std::string_view text) const {
        double x;
        if (numbers.plain())
            return read_decimal(text.data(), x) == text.data() + text.size() ? std::optional(x) : std::nullopt;
        const auto found = numbers.read(text);
        return found ? std::optional(found->value) : std::nullopt;
    }

    void category(std::string_view text, RowWriter& rows) const {
        if (text.empty()) return;
        rows.add(category_, text, 1.0);
    }

    // The feature of a category.
    std::int32_t category_feature(std::string_view text, RowWriter& rows) const {
        return rows.column_of(category_, text);
    }

  private:
    void value(std::string_view text, RowWriter& rows) {
        if (text.empty()) return;
        if (numbers.units) return is_missing(text) ? void() : number(read_with_unit(text, numbers, unit_, rows), rows);
        if (const auto x = read(text)) {
            if (!(std::fabs(*x) <= rows.options.largest))
                rows.check(*x, text, "feature", ", or, if it is a code, take the column as a category (--category)");
            return number(*x, rows);
        }
        if (use == Use::number && is_missing(text)) return;
        if (numbers.strict && is_formatted_number(text))
            fail(text, "cell",
                 "is a number in another form than those of the column; use --decimal, --thousands or --units, or take "
                 "the column as a category (--category)");
        if (!may_be_not_finite(text) || !is_not_finite(text)) {
            if (use == Use::number) rows.odd(name, text, odd_);
            return category(text, rows);
        }
        if ((text.back() | 0x20) != 'n')
            fail(text, "cell",
                 "is not finite; leave it out, impute it, or take the column as a category (--category) or text "
                 "(--text)");
    }

    void date(std::string_view text, RowWriter& rows) {
        if (is_missing(text) || date_.add(text, rows)) return;
        if (date_.has_format()) throw RowError{text.data(), date_.not_a_date(text)};
        rows.odd(name, text, odd_);
        category(text, rows);
    }

    void target(std::string_view text, RowWriter& rows) const {
        if (is_missing(text)) rows.no_target(text);
        const auto x = numbers.plain() || text.empty() ? std::nullopt : read(text);
        x ? rows.target(*x, text) : rows.label(text);
    }

    void weight(std::string_view text, RowWriter& rows) const {
        const auto x = numbers.plain() ? std::nullopt : read(text);
        x ? rows.weight(*x, text) : rows.weight(text, text);
    }

    static bool may_be_not_finite(std::string_view text) {
        const char first = static_cast<char>(text.front() | 0x20);
        return text.size() <= 9 && (first == 'n' || first == 'i' || text.front() == '+' || text.front() == '-');
    }

    // Several labels are separated by commas.
    static void labels(std::string_view text, RowWriter& rows) {
        const LabelCount count = rows.options.labels;
        if (text.empty() || count == LabelCount::ignored) return;
        is_whole(rows.options) ? rows.label(text) : read_labels(text, rows);
    }

    SteadyFeature number_;
    Namespace category_, text_;
    DateFeatures date_;
    std::string unit_;      // of the cells before
    std::int64_t odd_ = 0;  // the batch of the last cell of another kind
};

}  // namespace confidently
