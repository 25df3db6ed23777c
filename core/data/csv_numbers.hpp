// Rows of a table of text that are numbers, but for a label, a target or a weight: read several numbers at once, if the
// processor can.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/cells.hpp"
#include "data/csv_vbmi2.hpp"
#include "processor.hpp"

namespace confidently {

class CsvNumbers {
  public:
    // Nothing where there are too few numbers, or other features, or where the processor or the options do not allow
    // it.
    static std::unique_ptr<CsvNumbers> of([[maybe_unused]] const std::vector<CellColumn>& columns,
                                          [[maybe_unused]] char delimiter,
                                          [[maybe_unused]] const ReaderOptions& options) {
#if CONFIDENTLY_X86
        if (options.path < Simd::vbmi2 || options.largest < CsvVbmi2::kLargest) return nullptr;
        auto found = std::make_unique<CsvNumbers>(delimiter);
        for (std::size_t k = 0; k < columns.size(); ++k)
            if (!found->add(columns[k], k)) return nullptr;
        if (found->columns_.size() >= kLeastNumbers) return found;
#endif
        return nullptr;
    }

    explicit CsvNumbers([[maybe_unused]] char delimiter)
#if CONFIDENTLY_X86
        : vbmi2_(delimiter)
#endif
    {
    }

    // Adds the cells of the row at p to the row that was begun; end: of the text. other(column, p) does the same with
    // one cell and returns what is behind it and its end, or nullptr. Returns the beginning of the next row; nullptr if
    // a number is of another form, after some of the cells.
    template <class Other>
    const char* row([[maybe_unused]] const char* p, [[maybe_unused]] const char* end,
                    [[maybe_unused]] std::vector<CellColumn>& columns, [[maybe_unused]] RowWriter& rows,
                    [[maybe_unused]] Other&& other) {
#if CONFIDENTLY_X86
        double* values = values_.data();
        for (const Run& run : runs_) {
            const bool ends_row = run.first + run.n == columns.size();
            p = run.numbers ? vbmi2_.read(p, end, run.n, ends_row, rows.options.largest, values)
                            : other(columns[run.first], p);
            if (!p) return nullptr;
            if (run.numbers) values += run.n;
        }
        if (are_known(columns, rows)) {
            CsvVbmi2::add(values_.data(), known_.data(), columns_.size(), ascending_, rows);
            return p;
        }
        for (std::size_t k = 0; k < columns_.size(); ++k)
            if (!std::isnan(values_[k])) columns[columns_[k]].number(values_[k], rows);
        return p;
#else
        return nullptr;
#endif
    }

#if CONFIDENTLY_X86
  private:
    static constexpr std::size_t kLeastNumbers = 4;  // of a row, so that it is worth it

    // Columns of numbers, or another column.
    struct Run {
        std::size_t first, n;
        bool numbers;
    };

    // Adds the k-th column; returns whether its cells may be in such a row.
    bool add(const CellColumn& column, std::size_t k) {
        const bool number = column.use == Use::value || column.use == Use::number;
        const bool head = column.use == Use::none || column.use == Use::label || column.use == Use::target ||
                          column.use == Use::weight;
        if (number ? !column.may_be_plain : !head) return false;
        if (runs_.empty() || !number || !runs_.back().numbers) runs_.push_back({k, 0, number});
        ++runs_.back().n;
        if (!number) return true;
        columns_.push_back(k);
        values_.resize(columns_.size() + CsvVbmi2::kRoom);
        known_.assign(values_.size(), -1);
        return true;
    }

    // Whether all numbers have features, which are then known_.
    bool are_known(const std::vector<CellColumn>& columns, const RowWriter& rows) {
        if (known_since_ == rows.forgotten() && known_[0] >= 0) return true;
        for (std::size_t k = 0; k < columns_.size(); ++k)
            if ((known_[k] = columns[columns_[k]].known_number(rows)) < 0) return known_[0] = -1, false;
        known_since_ = rows.forgotten();
        const auto last = known_.begin() + static_cast<std::ptrdiff_t>(columns_.size());
        ascending_ =
            std::adjacent_find(known_.begin(), last, std::greater_equal<>()) == last;  // names may share a feature
        return true;
    }

    CsvVbmi2 vbmi2_;
    std::vector<Run> runs_;
    std::vector<std::size_t> columns_;  // the columns of numbers, ...
    std::vector<double> values_;        // ... their values in a row,
    std::vector<std::int32_t> known_;   // and their features
    std::uint64_t known_since_ = 0;
    bool ascending_ = false;
#endif
};

}  // namespace confidently
