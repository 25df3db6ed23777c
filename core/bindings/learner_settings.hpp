// The settings of a learner, from which its covariance over the arrays of a state follows.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "bindings/learner.hpp"
#include "covariances/table.hpp"

namespace confidently::python {

// The arrays of a state by name, for the rows of the table of covariances.
struct StateArrays {
    const nb::dict& state;

    // The array of this name and type, which must have these sizes.
    template <class T, class... Sizes>
    T* array(const char* name, Sizes... sizes) const {
        const auto found = entry<T, int(sizeof...(sizes))>(state, name);
        std::size_t axis = 0;
        if (!(... && (found.shape(axis++) == static_cast<std::size_t>(sizes))))
            throw std::invalid_argument(std::string(name) + " does not have the size of the other arrays");
        return const_cast<T*>(found.data());
    }

    // One of the sizes of an array, of any type.
    std::size_t size(const char* name, std::size_t axis = 0) const {
        nb::ndarray<nb::ro> found;
        if (!state.contains(name) || !nb::try_cast(state[name], found, false) || found.ndim() <= axis)
            throw std::invalid_argument(std::string(name) + " is missing, or has too few dimensions");
        return found.shape(axis);
    }
};

// The state is a dict of arrays that belongs to Python (src/confidently/covariances/state.py).
struct LearnerSettings {
    AnyRule rule;
    std::size_t covariance;  // its number in the table
    Task task;
    bool independent;  // whether every class has a covariance of its own
    bool intercept, average;
    bool moments;
    double prior_variance, min_variance, forget;

    // Calls f(covariance, Real()) with the covariance over the arrays of a state, whose changes are noted in a log, if any.
    template <class F>
    void open(const nb::dict& state, std::int64_t n_columns, UndoLog* undo, F&& f) const {
        with_covariance(covariance, [&](auto row) { open_row(row, state, n_columns, undo, f); });
    }

    template <class TableRow, class F>
    void open_row(TableRow row, const nb::dict& state, std::int64_t n_columns, UndoLog* undo, F&& f) const {
        nb::ndarray<nb::ro> weights;
        require(state.contains("weights") && nb::try_cast(state["weights"], weights, false), "weights is missing");
        if (weights.dtype() == nb::dtype<float>())
            open_typed<float>(row, state, n_columns, undo, f);
        else
            open_typed<double>(row, state, n_columns, undo, f);
    }

    template <class Real, class TableRow, class F>
    void open_typed(TableRow, const nb::dict& state, std::int64_t n_columns, UndoLog* undo, F&& f) const {
        const Weights<Real> weights = weights_of<Real>(state, undo);
        require(weights.planes == TableRow::planes + average, "the weights have the wrong number of planes");
        require(n_columns + intercept <= weights.n_features, "the matrix has more columns than the state has features");
        require_counts(state, task, weights.columns, independent);
        const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), independent};
        const CovarianceSettings settings{task == Task::binary || (is_regression(task) && weights.columns == 1 && weights.spacing == 1), independent, rescales(rule), prior_variance,
                                          is_regression(task) ? 0.0 : min_variance,
                                          moments, forget};
        TableRow::template open<Real>(StateArrays{state}, weights, scales, settings,
                                      [&](const auto& covariance) { f(covariance, Real()); });
    }

    // The weights of a state. Unlike the other arrays they need not be contiguous: with several columns, spare ones may
    // follow those of every plane.
    template <class Real>
    Weights<Real> weights_of(const nb::dict& state, UndoLog* undo) const {
        const auto array = entry_as<nb::ndarray<const Real, nb::ndim<3>, nb::device::cpu>>(state, "weights");
        const std::int64_t features = std::int64_t(array.shape(0)), planes = std::int64_t(array.shape(1)),
                           columns = std::int64_t(array.shape(2));
        const std::int64_t spacing = planes > 1 ? array.stride(1) : features > 1 ? array.stride(0) : columns;
        require(columns <= 1 || array.stride(2) == 1, "the columns of the weights are not adjacent");
        require(spacing >= columns, "the planes of the weights overlap");
        require(task != Task::binary || spacing == columns, "the weights of two classes have no columns to spare");
        require(features <= 1 || array.stride(0) == planes * spacing, "the weights are not in order");
        require(planes * columns == 0 || spacing <= std::numeric_limits<int>::max() / planes, "there are too many columns of weights");
        return {const_cast<Real*>(array.data()), features, int(planes), int(columns), int(columns), int(spacing), intercept, average,
                undo ? &undo->of<Real>() : nullptr};
    }
};

}  // namespace confidently::python
