// The settings of a learner, from which its covariance over the arrays of a state follows.
#pragma once

#include <cstddef>
#include <memory>

#include "bindings/learner.hpp"
#include "learner/any_learner.hpp"

namespace confidently::python {

struct LearnerSettings {
    AnyRule rule;
    std::size_t covariance;  // its number in the table
    Task task;               // its number in the table
    bool independent;        // whether every class has a covariance of its own
    bool intercept, average;
    bool moments;
    double prior_variance, min_variance, forget;
    bool pending;  // changes of a matrix wait in rows beside it

    const TaskFacts& facts() const { return facts_of(task); }

    // The covariance over the arrays of a state, which must outlive it; changes of the weights are noted in a log, if
    // any.
    std::unique_ptr<AnyLearner> open(const nb::dict& state, std::int64_t n_columns, UndoLog* undo) const;
};

}  // namespace confidently::python
