// Rows of examples: views of CSR or dense arrays, which own nothing. Every format appears as the same sparse Row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "nonzeros.hpp"
#include "prefetch.hpp"
#include "row_checks.hpp"

namespace confidently {

inline constexpr std::int32_t kIntercept = -1;  // the column of the constant feature 1

struct Row {
    const std::int32_t* column;
    const double* value;
    std::int32_t size;
    bool intercept;

    template <class F>
    CONFIDENTLY_INLINE void each(F&& f) const {
        for (std::int32_t i = 0; i < size; ++i) f(column[i], value[i]);
        if (intercept) f(kIntercept, 1.0);
    }

    // The same with the number of a lane, so that sums can be kept in four independent chains. In a single chain each
    // addition waits for the one before.
    template <class F>
    CONFIDENTLY_INLINE void each_in_lanes(F&& f) const {
        std::int32_t i = 0;
        for (; i + 4 <= size; i += 4) {
            f(0, column[i], value[i]);
            f(1, column[i + 1], value[i + 1]);
            f(2, column[i + 2], value[i + 2]);
            f(3, column[i + 3], value[i + 3]);
        }
        for (; i < size; ++i) f(0, column[i], value[i]);
        if (intercept) f(1, kIntercept, 1.0);
    }
};

// Space for rows whose values must be converted. The caller of Rows::at owns it.
struct RowBuffer {
    std::vector<std::int32_t> column;
    std::vector<double> value;
    std::vector<std::int32_t> ascending;  // 0, 1, 2, ...

    void count_up_to(std::size_t n) {
        for (std::size_t k = ascending.size(); k < n; ++k) ascending.push_back(static_cast<std::int32_t>(k));
    }

    void hold(std::size_t n) {
        if (column.size() < n) column.resize(n), value.resize(n);
    }
};

// Why a matrix is invalid: its first invalid row, column and value. Valid where the reason is empty.
struct Fault {
    const char* reason = "";
    std::int64_t row = -1, column = -1;
    double value = 0.0;

    bool bad() const { return *reason != '\0'; }
};

inline constexpr std::int64_t kLine = 64;  // bytes that arrive from memory together

// Asks for numbers that are soon to be read: by the second level of the cache, since the first has hardly room for the
// weights.
template <class T>
void expect_numbers(const T* first, const T* last) {
    for (auto *at = reinterpret_cast<const char*>(first), *end = reinterpret_cast<const char*>(last); at < end;
         at += kLine)
        prefetch_far(at);
}

// Entries between those that are read and those that are asked for, where rows are read one after the other. Fewer
// arrive too late, and those that the first level of the cache has asked for keep it from asking for weights.
inline constexpr std::int64_t kEntriesAhead = 2048;

class Rows {
  public:
    static constexpr bool positions = false;  // whether rows are known by products only
    Rows(std::int64_t n_rows, std::int64_t n_columns) : n_rows(n_rows), n_columns(n_columns) {}
    virtual ~Rows() = default;
    virtual Row at(std::int64_t i, bool intercept, RowBuffer& buffer) const = 0;
    // whether with_zeros(), which gives row i with its zeros, saves time; zeros change no sum
    virtual bool stores_zeros() const { return false; }
    virtual Row with_zeros(std::int64_t i, bool intercept, RowBuffer& buffer) const { return at(i, intercept, buffer); }
    // asks for a row that is soon to be read
    virtual void expect(std::int64_t) const {}
    // asks for the entries that follow those of the rows from first up to last after kEntriesAhead others
    virtual void expect_after(std::int64_t, std::int64_t) const {}
    // the columns of row i, not checked; none where they are not stored
    virtual std::span<const std::int32_t> columns(std::int64_t) const { return {}; }
    // whether the columns of row i are in range and ascend; otherwise the row must not be read
    virtual bool in_order(std::int64_t) const { return true; }
    // whether the columns of all rows are in range
    virtual bool in_range() const { return true; }
    // what is invalid about row i, if anything: a value that is not finite or too large, a column out of range, columns
    // that are out of order or duplicate
    virtual Fault fault(std::int64_t i, double largest) const = 0;

    // whether nothing is invalid about the rows from first up to last
    virtual bool valid(std::int64_t first, std::int64_t last, double largest) const {
        for (std::int64_t i = first; i < last; ++i)
            if (fault(i, largest).bad()) return false;
        return true;
    }

    Fault first_fault(double largest) const {
        for (std::int64_t i = 0; i < n_rows; ++i)
            if (const Fault f = fault(i, largest); f.bad()) return f;
        return {};
    }

    const std::int64_t n_rows, n_columns;
};

template <class Value>
class DenseRows final : public Rows {
  public:
    DenseRows(const Value* values, std::int64_t n_rows, std::int64_t n_columns)
        : Rows(n_rows, n_columns), values_(values) {}

    Row at(std::int64_t i, bool intercept, RowBuffer& buffer) const override {
        buffer.hold(static_cast<std::size_t>(n_columns + kSpareNumbers));
        const std::int32_t n = nonzeros(values_ + i * n_columns, n_columns, buffer.column.data(), buffer.value.data());
        return {buffer.column.data(), buffer.value.data(), n, intercept};
    }

    // Of a longer row the processor itself notices that its numbers follow one another.
    void expect(std::int64_t i) const override {
        constexpr std::int64_t longest = (32 << 10) / sizeof(Value);
        if (n_columns <= longest) expect_numbers(values_ + i * n_columns, values_ + (i + 1) * n_columns);
    }

    bool stores_zeros() const override { return std::is_same_v<Value, double>; }

    // Rows that share a buffer share their columns.
    Row with_zeros(std::int64_t i, bool intercept, RowBuffer& buffer) const override {
        if constexpr (std::is_same_v<Value, double>) {
            buffer.count_up_to(static_cast<std::size_t>(n_columns));
            return {buffer.ascending.data(), values_ + i * n_columns, static_cast<std::int32_t>(n_columns), intercept};
        }
        return at(i, intercept, buffer);
    }

    Fault fault(std::int64_t i, double largest) const override {
        const Value* x = values_ + i * n_columns;
        const std::int64_t k = first_too_large(x, n_columns, largest);
        return k == n_columns ? Fault{} : Fault{"value", i, k, static_cast<double>(x[k])};
    }

    bool valid(std::int64_t first, std::int64_t last, double largest) const override {
        return all_within(values_ + first * n_columns, (last - first) * n_columns, largest);
    }

  private:
    const Value* values_;
};

template <class Value>
class CsrRows final : public Rows {
  public:
    CsrRows(const Value* values, const std::int32_t* columns, const std::int64_t* start, std::int64_t n_rows,
            std::int64_t n_columns)
        : Rows(n_rows, n_columns), values_(values), columns_(columns), start_(start) {}

    Row at(std::int64_t i, bool intercept, RowBuffer& buffer) const override {
        const std::int64_t from = start_[i];
        const std::int32_t n = static_cast<std::int32_t>(start_[i + 1] - from);
        if constexpr (std::is_same_v<Value, double>) {
            return {columns_ + from, values_ + from, n, intercept};
        } else {
            buffer.hold(static_cast<std::size_t>(n));
            for (std::int32_t k = 0; k < n; ++k) buffer.value[k] = values_[from + k];
            return {columns_ + from, buffer.value.data(), n, intercept};
        }
    }

    void expect(std::int64_t i) const override {
        expect_numbers(values_ + start_[i], values_ + start_[i + 1]);
        expect_numbers(columns_ + start_[i], columns_ + start_[i + 1]);
    }

    void expect_after(std::int64_t first, std::int64_t last) const override {
        const std::int64_t end = start_[n_rows];
        const std::int64_t from = std::min(start_[first] + kEntriesAhead, end),
                           to = std::min(start_[last] + kEntriesAhead, end);
        expect_numbers(values_ + from, values_ + to);
        expect_numbers(columns_ + from, columns_ + to);
    }

    std::span<const std::int32_t> columns(std::int64_t i) const override {
        return {columns_ + start_[i], columns_ + start_[i + 1]};
    }

    bool in_order(std::int64_t i) const override {
        const std::int32_t* columns = columns_ + start_[i];
        const std::int64_t n = start_[i + 1] - start_[i];
        return all_ascending(columns, n) && (n == 0 || (columns[0] >= 0 && columns[n - 1] < n_columns));
    }

    // A sign bit shows a column that is negative or beyond the last one: no branch, so that the loop vectorizes.
    bool in_range() const override {
        const auto last = static_cast<std::uint32_t>(n_columns - 1);
        std::uint32_t outside = 0;
        for (std::int64_t k = start_[0]; k < start_[n_rows]; ++k) {
            const auto column = static_cast<std::uint32_t>(columns_[k]);
            outside |= column | (last - column);
        }
        return !(outside >> 31);
    }

    bool valid(std::int64_t first, std::int64_t last, double largest) const override {
        if (!all_within(values_ + start_[first], start_[last] - start_[first], largest)) return false;
        while (first < last && in_order(first)) ++first;
        return first == last;
    }

    Fault fault(std::int64_t i, double largest) const override {
        const Value* values = values_ + start_[i];
        const std::int32_t* columns = columns_ + start_[i];
        const std::int64_t n = start_[i + 1] - start_[i];
        const std::int64_t k = first_too_large(values, n, largest);
        if (k < n) return {"value", i, columns[k], static_cast<double>(values[k])};
        if (in_order(i)) return {};
        const auto wrong =
            std::find_if(columns, columns + n, [this](std::int32_t c) { return c < 0 || c >= n_columns; });
        return wrong == columns + n ? Fault{"order", i} : Fault{"column", i, *wrong};
    }

  private:
    const Value* values_;
    const std::int32_t* columns_;
    const std::int64_t* start_;
};

}  // namespace confidently
