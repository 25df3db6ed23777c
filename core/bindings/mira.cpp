// MIRA for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "learner/mira.hpp"
#include "bindings/arrays.hpp"

namespace confidently::python {

namespace {

std::tuple<std::int64_t, std::int64_t> learn(Input<double, 1> values, Input<std::int32_t, 1> columns,
                                             Input<std::int64_t, 1> start, Input<std::int32_t, 1> labels,
                                             Optional<std::int64_t> order, Array<double, 2> weights, bool intercept,
                                             double gamma, double C) {
    const auto n = static_cast<std::int64_t>(labels.size());
    require(std::int64_t(start.size()) == n + 1, "indptr does not match the labels");
    require(values.size() == columns.size(), "the values do not match the columns");
    require_starts(start, values.size(), "indptr does not match the values");
    require(weights.shape(0) >= std::size_t(intercept), "weights have too few rows");
    const auto n_columns = static_cast<std::int64_t>(weights.shape(0)) - intercept;
    const int classes = static_cast<int>(weights.shape(1));
    require_below(labels.data(), n, classes, "labels out of range");
    if (order) require_below(order->data(), std::int64_t(order->size()), n, "order out of range");
    const CsrRows<double> rows(values.data(), columns.data(), start.data(), n, n_columns);
    require(!rows.first_fault(std::numeric_limits<double>::max()).bad(),
            "rows must be finite and their columns in order");
    nb::gil_scoped_release release;
    const MiraCounts counts =
        mira_learn(rows, labels.data(), data_or_null(order), order ? std::int64_t(order->size()) : n, weights.data(),
                   classes, intercept, gamma, C);
    return {counts.mistakes, counts.updates};
}

std::vector<double> mira_step(std::vector<double> scores, int truth, double norm2, double gamma, double C) {
    const int n = static_cast<int>(scores.size());
    require(truth >= 0 && truth < n && norm2 > 0.0, "truth must be a class number and norm2 positive");
    if (!MiraStep()(scores.data(), n, truth, norm2, gamma, C)) std::fill(scores.begin(), scores.end(), 0.0);
    return scores;
}

}  // namespace

void bind_mira(nb::module_& m) {
    m.def("mira_learn", &learn, "values"_a.noconvert(), "columns"_a.noconvert(), "start"_a.noconvert(),
          "labels"_a.noconvert(), "order"_a.noconvert().none(), "weights"_a.noconvert(), nb::kw_only(), "intercept"_a,
          "gamma"_a, "C"_a);
    m.def("mira_step", &mira_step, "scores"_a, "truth"_a, "norm2"_a, "gamma"_a, "C"_a);
}

}  // namespace confidently::python
