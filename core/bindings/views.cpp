// The views for Python: rows in, rows out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/interpreter_lock.hpp"
#include "bindings/learner.hpp"
#include "bindings/state_arrays.hpp"
#include "rules/normal.hpp"
#include "views/growing.hpp"
#include "views/table.hpp"

namespace confidently::python {

namespace {

// values, columns, start
using PythonRows = nb::typed<nb::tuple, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>;

PythonRows python_rows(MadeRows&& rows) {
    return nb::make_tuple(array_of(std::move(rows.value)), array_of(std::move(rows.column)),
                          array_of(std::move(rows.start)));
}

// Checks that a view can read n rows of a matrix in an order from its entry `first` on.
void require_rows(const Matrix& matrix, std::int64_t n_features, const Optional<std::int64_t>& order,
                  std::int64_t first, std::int64_t n) {
    require_columns(matrix);
    require(matrix.rows->n_columns <= n_features, "the matrix has more columns than the view has features");
    const std::int64_t all = order ? std::int64_t(order->size()) : matrix.rows->n_rows;
    require(first >= 0 && n >= 0 && first <= all && n <= all - first, "rows out of range");
    if (order) require_below(order->data() + first, n, matrix.rows->n_rows, "order out of range");
}

// About how many values n rows of a matrix have.
std::size_t values_of(const Matrix& matrix, std::int64_t n) {
    return static_cast<std::size_t>(double(matrix.stored) * double(n) /
                                    double(std::max<std::int64_t>(matrix.rows->n_rows, 1)));
}

// Calls f(view) with the view of a name over the arrays of a state, without the interpreter lock.
template <class F>
void open_view(const std::string& name, bool unit_norm, const Dict& state, UndoLog* undo, const Matrix& matrix,
               const Optional<std::int64_t>& order, std::int64_t first, std::int64_t n, F&& f) {
    with_view(name, [&](auto of) {
        using View = typename decltype(of)::type;
        const StateArrays arrays{state};
        View view = View::open(arrays, undo ? &undo->wide : nullptr);
        if constexpr (requires { view.unit_norm; }) view.unit_norm = unit_norm;
        require_rows(matrix, View::n_features(arrays), order, first, n);
        f(view);
    });
}

// limit: that of the view "pairs", where rows are made for predictions.
PythonRows see(const std::string& name, bool unit_norm, const Dict& state, const Matrix& matrix, std::int64_t first,
               std::int64_t n, std::int64_t limit) {
    MadeRows rows;
    open_view(name, unit_norm, state, nullptr, matrix, std::nullopt, first, n, [&](auto& view) {
        if constexpr (requires { view.limit; }) view.limit = limit;
        const ReleasedLock released(matrix.stored > kManyEntries);
        rows = made(view, *matrix.rows, values_of(matrix, n), nullptr, first, n, nullptr);
    });
    return python_rows(std::move(rows));
}

// Views of first values replace their sample in the state.
PythonRows learn(const std::string& name, bool unit_norm, const Dict& state, const Matrix& matrix,
                 Optional<std::int64_t> order, std::int64_t first, Input<std::int32_t, 1> labels,
                 Optional<std::int64_t> label_start, Optional<double> weight, Optional<double> class_weight,
                 std::int64_t n_classes, UndoLog* undo, std::optional<Input<double, 2>> targets) {
    require_writable(state);
    const auto n = static_cast<std::int64_t>(label_start ? label_start->size() : labels.size() + 1) - 1;
    if (label_start) require_starts(*label_start, labels.size(), "label_start does not match the labels");
    require_below(labels.data(), std::int64_t(labels.size()), n_classes, "labels out of range");
    require(!weight || std::int64_t(weight->size()) == n, "weights do not match the rows");
    require(!class_weight || (!label_start && std::int64_t(class_weight->size()) == n_classes),
            "class weights do not match the classes");
    require(!targets || std::int64_t(targets->shape(0)) == n, "targets do not match the rows");
    const Counted counted{{labels.data(), data_or_null(label_start)},
                          data_or_null(weight),
                          data_or_null(class_weight),
                          targets ? targets->data() : nullptr,
                          targets ? std::int64_t(targets->shape(1)) : 0};
    MadeRows rows;
    open_view(name, unit_norm, state, undo, matrix, order, first, n, [&](auto& view) {
        if constexpr (requires { view.n_classes; })
            require(view.n_classes == n_classes, "the statistics do not match the classes");
        if constexpr (requires { view.outputs; })
            require(!targets || counted.numbers >= view.outputs, "the statistics do not match the targets");
        {
            const ReleasedLock released(matrix.stored > kManyEntries);
            rows = made(view, *matrix.rows, values_of(matrix, n), data_or_null(order), first, n, &counted);
        }
        if constexpr (requires { view.first.sample(); })
            if (view.first.has_changed()) state[view.first.sample_name.c_str()] = array_of(view.first.sample());
    });
    return python_rows(std::move(rows));
}

// Makes the knots of a view of first values anew, of all values that are kept.
void renew_knots(const std::string& name, const Dict& state) {
    require_writable(state);
    with_view(name, [&](auto of) {
        using View = typename decltype(of)::type;
        if constexpr (requires(View view) { view.renew(); })
            View::open(StateArrays{state}, nullptr).renew();
        else
            throw std::invalid_argument(name + " has no knots");
    });
}

// Numbers the terms of rows, those of weight 0 excepted; returns how many rows have all their terms numbered, up to the
// first for which there is no room, of n rows of which the first `done` have been met.
std::int64_t meet(const Dict& state, const Matrix& matrix, Optional<std::int64_t> order, std::int64_t first,
                  std::int64_t n, Input<std::int32_t, 1> labels, Optional<double> weight, Optional<double> class_weight,
                  std::int64_t done, std::int64_t limit, UndoLog* undo) {
    require_writable(state);
    const StateArrays arrays{state};
    Pairs view = Pairs::open(arrays, nullptr);
    view.limit = limit;
    require_rows(matrix, Pairs::n_features(arrays), order, first, n);
    require(done >= 0 && done <= n, "rows out of range");
    require(!weight || std::int64_t(weight->size()) == n, "weights do not match the rows");
    require(!class_weight || std::int64_t(labels.size()) == n, "class weights need one class per row");
    if (class_weight) require_below(labels.data(), n, std::int64_t(class_weight->size()), "labels out of range");
    const Counted counted{{labels.data(), nullptr}, data_or_null(weight), data_or_null(class_weight)};
    const std::int64_t* rows = data_or_null(order);
    if (undo) undo->terms.emplace_back(view.table, *view.table.size);
    nb::gil_scoped_release release;
    RowBuffer buffer;
    for (std::int64_t i = done; i < n; ++i)
        if (counted.weight_of(i) > 0.0 &&
            !view.meet(matrix.rows->at(rows ? rows[first + i] : first + i, false, buffer), true))
            return i;
    return n;
}

void index(const Dict& state) {
    require_writable(state);
    PairTable::open(StateArrays{state}).index();
}

using PythonTrees =
    nb::typed<nb::tuple, Vector<std::int32_t>, Vector<float>, Vector<float>, Vector<std::int32_t>, Vector<std::int8_t>,
              Vector<std::int32_t>, Vector<std::int32_t>, Vector<double>, Vector<double>>;

// Trees of rows of these weights. targets: numbers; with `classes` one column, the classes; with `labels` whether rows
// have each.
PythonTrees grow_trees(Input<float, 2> rows, Input<double, 2> targets, Input<double, 1> weight, const std::string& kind,
                       std::int64_t outputs, int rounds) {
    const auto n = static_cast<std::int64_t>(rows.shape(0)), d = static_cast<std::int64_t>(rows.shape(1));
    const auto k = static_cast<std::int64_t>(targets.shape(1));
    require(
        n > 0 && n < (std::int64_t(1) << 31) && std::int64_t(targets.shape(0)) == n && std::int64_t(weight.size()) == n,
        "the numbers of rows, targets and weights must be the same, and positive");
    require(kind == "classes" ? k == 1 : k >= 1 && k <= outputs, "the targets do not match the scores");
    GrownTrees trees;
    {
        nb::gil_scoped_release release;
        const BinnedRows binned(rows.data(), n, d);
        Booster booster(binned, weight.data(), rounds, outputs);
        std::vector<double> own(static_cast<std::size_t>(n));
        for (std::int64_t column = 0; kind != "classes" && column < k; ++column) {
            for (std::int64_t i = 0; i < n; ++i) own[static_cast<std::size_t>(i)] = targets.data()[i * k + column];
            const auto output = static_cast<std::int32_t>(column);
            if (kind == "numbers")
                booster.numbers(own.data(), output);
            else if (*std::max_element(own.begin(), own.end()) != *std::min_element(own.begin(), own.end()))
                booster.odds(own.data(), output);
        }
        if (kind == "classes") {
            std::vector<std::int32_t> position(static_cast<std::size_t>(n)), classes;
            for (std::int64_t i = 0; i < n; ++i) {
                require(targets.data()[i] >= 0.0 && targets.data()[i] < double(outputs), "classes out of range");
                position[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(targets.data()[i]);
            }
            classes = position;
            std::sort(classes.begin(), classes.end());
            classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
            for (std::int32_t& one : position)
                one =
                    static_cast<std::int32_t>(std::lower_bound(classes.begin(), classes.end(), one) - classes.begin());
            if (classes.size() == 2) {
                std::copy(position.begin(), position.end(), own.begin());
                booster.odds(own.data(), classes[1]);
            } else if (classes.size() > 2) {
                booster.softmax(position, classes);
            }
        }
        trees = std::move(booster.trees);
    }
    return nb::make_tuple(
        array_of(std::move(trees.column)), array_of(std::move(trees.threshold)), array_of(std::move(trees.value)),
        array_of(std::move(trees.right)), array_of(std::move(trees.missing_left)), array_of(std::move(trees.root)),
        array_of(std::move(trees.output)), array_of(std::move(trees.base)), array_of(std::move(trees.gain)));
}

}  // namespace

void bind_views(nb::module_& m) {
    m.def("view_names", &view_names);
    m.def("grow_trees", &grow_trees, "rows"_a.noconvert(), "targets"_a.noconvert(), "weight"_a.noconvert(), "kind"_a,
          "outputs"_a, "rounds"_a);
    m.def("normal_quantile", &normal_quantile, "p"_a);
    m.def("see", &see, "view"_a, "unit_norm"_a, "state"_a, "matrix"_a, "first"_a, "n"_a, "limit"_a = -1);
    m.def("see_and_learn", &learn, "view"_a, "unit_norm"_a, "state"_a, "matrix"_a, "order"_a.noconvert().none(),
          "first"_a, "labels"_a.noconvert(), "label_start"_a.noconvert().none(), "weight"_a.noconvert().none(),
          "class_weight"_a.noconvert().none(), "n_classes"_a, "undo"_a.none(),
          "targets"_a.noconvert().none() = nb::none());
    m.def("renew_knots", &renew_knots, "view"_a, "state"_a);
    m.def("meet_pairs", &meet, "state"_a, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "n"_a,
          "labels"_a.noconvert(), "weight"_a.noconvert().none(), "class_weight"_a.noconvert().none(), "done"_a,
          "limit"_a, "undo"_a.none());
    m.def("index_pairs", &index, "state"_a);
}

}  // namespace confidently::python
