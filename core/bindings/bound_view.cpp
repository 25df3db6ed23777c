// Views over the arrays of a state: the only place where all of them are compiled for single rows.
#include "bindings/bound_view.hpp"

#include <utility>

namespace confidently::python {

namespace {

template <class View>
class BoundViewOf final : public BoundView {
  public:
    BoundViewOf(const StateArrays& state, bool unit_norm, std::int64_t limit, UndoLog& undo)
        : view_(View::open(state, &undo.wide)), n_features_(View::n_features(state)), limit_(limit) {
        if constexpr (requires { view_.unit_norm; }) view_.unit_norm = unit_norm;
    }

    bool make(const Rows& row, const Counted* counted, MadeRows& out) override {
        require(row.n_columns <= n_features_, "the matrix has more columns than the view has features");
        if constexpr (requires { view_.limit; }) {
            const std::int64_t of_training = std::exchange(view_.limit, limit_);
            RowBuffer buffer;
            const bool numbered =
                !counted || !(counted->weight_of(0) > 0.0) || view_.meet(row.at(0, false, buffer), false);
            if (numbered && !counted) out = made(view_, row, 0, nullptr, 0, 1, nullptr);
            view_.limit = of_training;
            if (!numbered || !counted) return numbered;
        }
        out = made(view_, row, 0, nullptr, 0, 1, counted);
        if constexpr (requires { view_.first.has_changed(); }) return !view_.first.has_changed();
        return true;
    }

    std::int64_t n_features() const override { return n_features_; }

  private:
    View view_;
    std::int64_t n_features_, limit_;
};

}  // namespace

BoundViews::BoundViews(const std::vector<Step>& views, const StateArrays& state, UndoLog& undo) : steps_(views) {
    for (const auto& [name, unit_norm, limit] : views)
        with_view(name, [&](auto of) {
            views_.push_back(std::make_unique<BoundViewOf<typename decltype(of)::type>>(state, unit_norm, limit, undo));
        });
}

const Rows* BoundViews::see(const Rows& row, const Counted* counted) {
    const Rows* seen = &row;
    for (const auto& view : views_) {
        MadeRows next;
        if (!view->make(*seen, counted, next)) return nullptr;
        made_ = std::move(next);
        const auto n = static_cast<std::int32_t>(made_.value.size());
        row_.emplace(Row{made_.column.data(), made_.value.data(), n, false}, n ? made_.column.back() + 1 : 0);
        seen = &*row_;
    }
    return seen;
}

std::string BoundViews::view_of(const std::string& array) const {
    for (const auto& [name, unit_norm, limit] : steps_)
        if (array.size() > name.size() && array[name.size()] == '.' && array.starts_with(name)) return name;
    return {};
}

}  // namespace confidently::python
