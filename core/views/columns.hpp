// What is known about the columns of rows before any row is seen: src/confidently/views/columns.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace confidently {

// What a column is, and what its absence from a row means.
struct Kind {
    enum : std::int8_t { plain = 0, missing = 1, zero = 2 };  // plain: it is not a number, and stays as it is
};

// Rows with the columns that are absent and therefore 0.
class FilledRows {
  public:
    FilledRows(const std::int8_t* kind, std::int64_t n) : n_(n) {
        for (std::int32_t j = 0; j < n; ++j)
            if (kind[j] == Kind::zero) zeros_.push_back(j);
    }

    // Valid until the next call.
    Row operator()(const Row& row) {
        if (zeros_.empty() || row.size == n_) return row;
        buffer_.hold(static_cast<std::size_t>(row.size) + zeros_.size());
        std::int32_t size = 0;
        const auto add = [&](std::int32_t j, double x) {
            buffer_.column[static_cast<std::size_t>(size)] = j;
            buffer_.value[static_cast<std::size_t>(size++)] = x;
        };
        auto next = zeros_.begin();
        for (std::int32_t i = 0; i < row.size; ++i) {
            for (; next != zeros_.end() && *next < row.column[i]; ++next) add(*next, 0.0);
            next += next != zeros_.end() && *next == row.column[i];
            add(row.column[i], row.value[i]);
        }
        for (; next != zeros_.end(); ++next) add(*next, 0.0);
        return {buffer_.column.data(), buffer_.value.data(), size, row.intercept};
    }

  private:
    std::int64_t n_;  // columns
    std::vector<std::int32_t> zeros_;
    RowBuffer buffer_;
};

}  // namespace confidently
