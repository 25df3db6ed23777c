// Features that most rows have.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "data/rows_out.hpp"

namespace confidently {

// A feature that most rows have: its column is looked up once, until features are forgotten.
class SteadyFeature {
  public:
    explicit SteadyFeature(std::string name) : name_(std::move(name)) {}

    CONFIDENTLY_INLINE void add(double value, RowWriter& rows) {
        if (value == 0.0 && !rows.options.zeros) return;
        if (column_ < 0 || forgotten_ != rows.forgotten()) [[unlikely]]
            look_up(rows);
        rows.add(column_, value);
    }

  private:
    void look_up(RowWriter& rows) {
        column_ = rows.column_of(kNoPrefix, name_);
        forgotten_ = rows.forgotten();
    }

    static inline const Namespace kNoPrefix{""};

    std::string name_;
    std::int32_t column_ = -1;
    std::uint64_t forgotten_ = 0;
};

}  // namespace confidently
