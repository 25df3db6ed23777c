// Views bound to the arrays of a state, for single rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/learner.hpp"
#include "bindings/state_arrays.hpp"
#include "views/made_rows.hpp"
#include "views/table.hpp"

namespace confidently::python {

// A single row.
class OneRow final : public Rows {
  public:
    OneRow(Row row, std::int64_t n_columns) : Rows(1, n_columns), row_(row) {}
    Row at(std::int64_t, bool intercept, RowBuffer&) const override {
        return {row_.column, row_.value, row_.size, intercept};
    }
    Fault fault(std::int64_t, double) const override { return {}; }

  private:
    Row row_;
};

using Step = std::tuple<std::string, bool, std::int64_t>;  // name of a view, unit norm, limit of "pairs"

// A view bound to its arrays.
class BoundView {
  public:
    virtual ~BoundView() = default;

    // Makes the row; counted: and counts it in after that. Returns false if an array has to grow, or to be replaced.
    virtual bool make(const Rows& row, const Counted* counted, MadeRows& out) = 0;
    virtual std::int64_t n_features() const = 0;
};

// Views, one after the other.
class BoundViews {
  public:
    // undo: where changes are noted of all arrays but those that changes_unnoted() names
    BoundViews(const std::vector<Step>& views, const StateArrays& state, UndoLog& undo);

    // The row as the views make it, until the next call; counted: and counts it in after that. Returns nullptr if an
    // array has to grow, or to be replaced; some views may then have counted it.
    const Rows* see(const Rows& row, const Counted* counted);

    // The name of the view that an array belongs to; empty: it is of none.
    std::string view_of(const std::string& array) const;
    static bool changes_unnoted(const std::string& array) { return array == "trees.counts"; }

    bool empty() const { return views_.empty(); }
    // of rows that the first view can be given
    std::int64_t n_features() const { return views_.front()->n_features(); }

  private:
    std::vector<Step> steps_;
    std::vector<std::unique_ptr<BoundView>> views_;
    MadeRows made_;
    std::optional<OneRow> row_;
};

}  // namespace confidently::python
