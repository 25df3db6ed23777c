// The views: each turns a row into the row that a learner sees. A view is a struct with
//   name               what Python calls it
//   open(state, undo)  the view over the arrays of a state: state.array<T>(name, sizes...) is one of them, checked to
//   have
//                      that shape, and state.size(name, axis) one of its sizes; changes of statistics are noted in undo
//   n_features(state)  the number of columns that rows may have
//   see(row, out)      adds the row it makes of a row to out
//   learn(row, w), learn(row, label, label_end, w) or learn(row, target, label, label_end, w)
//                      counts in a row of weight w after it was seen; missing in a view without statistics. Instead a
//                      view may have see_and_learn(row, w, out), which does both
//   first              only if it has FirstValues, whose sample replaces the state's after learning
//   takes_zeros        only if it tells a 0 from an absent value: it is given the zeros of dense rows
#pragma once

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tasks/task.hpp"
#include "views/bins.hpp"
#include "views/categories.hpp"
#include "views/center.hpp"
#include "views/cosines.hpp"
#include "views/first.hpp"
#include "views/idf.hpp"
#include "views/naive_bayes.hpp"
#include "views/pairs.hpp"
#include "views/ranks.hpp"
#include "views/standard.hpp"
#include "views/trees.hpp"
#include "views/unit.hpp"

namespace confidently {

using Views =
    std::tuple<Unit, Standard, Center, Ranks, Bins, Idf, NaiveBayesScale, Pairs, Cosines, First, Categories, Trees>;

inline std::vector<std::string> view_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::vector<std::string>{std::tuple_element_t<I, Views>::name...};
    }(std::make_index_sequence<std::tuple_size_v<Views>>{});
}

// A view of a name, before its arrays are known.
template <class View>
struct ViewOf {
    using type = View;
};

// Calls f(ViewOf<View>()) with the view of this name.
template <class F>
void with_view(const std::string& name, F&& f) {
    const bool found = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((name == std::tuple_element_t<I, Views>::name && (f(ViewOf<std::tuple_element_t<I, Views>>()), true)) ||
                ...);
    }(std::make_index_sequence<std::tuple_size_v<Views>>{});
    if (!found) throw std::invalid_argument("unknown view " + name);
}

// Labels and weights of rows in the order of training, from which statistics are learned.
struct Counted {
    Labels labels;
    const double* weight;             // nullptr: all 1
    const double* class_weight;       // nullptr: all 1
    const double* targets = nullptr;  // of a regression, by row
    std::int64_t numbers = 0;         // of a row

    double weight_of(std::int64_t i) const {
        return (weight ? weight[i] : 1.0) * (class_weight ? class_weight[*labels.begin(i)] : 1.0);
    }
};

// Rows of a matrix as a view takes them: if it tells 0 from an absent value (`takes_zeros`), the zeros of a dense array
// are there.
template <class View>
class RowsFor {
  public:
    explicit RowsFor(const Rows& rows)
        : rows_(rows), is_narrow_(dynamic_cast<const DenseRows<float>*>(&rows) != nullptr) {}

    // Valid until the next call.
    Row at(std::int64_t i) {
        if constexpr (requires { View::takes_zeros; }) {
            if (rows_.stores_zeros()) return rows_.with_zeros(i, false, buffer_);
            if (is_narrow_) return filled(rows_.at(i, false, buffer_));
        }
        return rows_.at(i, false, buffer_);
    }

  private:
    const Rows& rows_;
    const bool is_narrow_;  // a dense array whose rows are converted, without their zeros
    RowBuffer buffer_, whole_;

    Row filled(const Row& row) {
        const auto n = static_cast<std::size_t>(rows_.n_columns);
        whole_.hold(n);
        whole_.count_up_to(n);
        std::fill_n(whole_.value.begin(), n, 0.0);
        for (std::int32_t k = 0; k < row.size; ++k)
            whole_.value[static_cast<std::size_t>(row.column[k])] = row.value[k];
        return {whole_.ascending.data(), whole_.value.data(), static_cast<std::int32_t>(n), row.intercept};
    }
};

// The n rows that a view makes of those of a matrix in an order (nullptr: as they come) from its entry `first` on. With
// labels and weights, each row is counted in after it was seen, unless its weight is 0. `values`: about so many they
// have.
template <class View>
MadeRows made(View& view, const Rows& rows, std::size_t values, const std::int64_t* order, std::int64_t first,
              std::int64_t n, const Counted* counted) {
    MadeRows out;
    out.reserve(values, static_cast<std::size_t>(n));
    RowsFor<View> seen(rows);
    for (std::int64_t i = 0; i < n; ++i) {
        const Row row = seen.at(order ? order[first + i] : first + i);
        const double w = counted ? counted->weight_of(i) : 0.0;
        if constexpr (requires { view.see_and_learn(row, w, out); }) {
            w > 0.0 ? view.see_and_learn(row, w, out) : view.see(row, out);
            continue;
        }
        view.see(row, out);
        if (!(w > 0.0)) continue;
        if constexpr (requires { view.learn(row, w); })
            view.learn(row, w);
        else if constexpr (requires { view.learn(row, counted->labels.begin(i), counted->labels.end(i), w); })
            view.learn(row, counted->labels.begin(i), counted->labels.end(i), w);
        else if constexpr (requires { view.outputs; })
            view.learn(row, counted->targets ? counted->targets + i * counted->numbers : nullptr,
                       counted->labels.begin(i), counted->labels.end(i), w);
    }
    return out;
}

}  // namespace confidently
