// The loop, written once: look, ask the rule, move.
#pragma once

#include <cstdint>

#include "rows.hpp"
#include "rules/table.hpp"
#include "learner/tasks.hpp"

namespace confidently {

// A variance below this carries nothing to learn from (an empty row, values that underflow when squared).
template <class Real>
inline constexpr double kLeastVariance = sizeof(Real) == 4 ? 1e-60 : 1e-200;

struct Counters {
    std::int64_t &seen, &mistakes, &infeasible;
    std::int64_t* updates;  // one a learner
};

struct Batch {
    const Rows& rows;
    Labels labels;
    const double* weight;        // nullptr: all 1
    const double* class_weight;  // nullptr: all 1; multilabel rows have none
    const std::int64_t* order;   // nullptr: as they come
    std::int64_t from, to;       // the part of the order to learn

    std::int64_t row(std::int64_t at) const { return order ? order[at] : at; }
};

// Thrown at a faulty row before anything of it is learned.
struct FaultyRow {
    Fault fault;
};

// Looks whether rows may be learned, as cheaply as can be: a value that is not finite, or too large, shows in the
// margin's variance, so that only rows with a suspicious one are read once more.
struct Inspector {
    const Rows& rows;
    double largest;     // allowed size of values; 0: the rows are known to be good
    double suspicious;  // a variance that a value beyond it would at least give

    void whole(std::int64_t i) const {
        if (largest == 0.0) return;
        if (const Fault fault = rows.fault(i, largest); fault.bad()) throw FaultyRow{fault};
    }
    void before(std::int64_t i) const {
        if (largest != 0.0 && !rows.in_order(i)) whole(i);
    }
    void seen(std::int64_t i, double variance) const {
        if (!(variance < suspicious)) whole(i);
    }
};

template <class Real, class Geometry, class Task>
void learn(Geometry& geometry, Task& task, const AnyRule& rule, double prior_variance, const Batch& batch,
           double* calibration, double* log_loss, Counters counters, bool independent, const Inspector& inspector) {
    RowBuffer buffer;
    for (std::int64_t at = batch.from; at < batch.to; ++at) {
        const std::int64_t i = batch.row(at);
        const std::int32_t *label = batch.labels.begin(i), *label_end = batch.labels.end(i);
        double w = batch.weight ? batch.weight[i] : 1.0;
        if (batch.class_weight) w *= batch.class_weight[*label];
        if (!(w > 0.0)) {
            inspector.whole(i);
            continue;
        }
        inspector.before(i);
        const Row row = batch.rows.at(i, geometry.weights.intercept, buffer);
        const double age = static_cast<double>(counters.seen++);
        const auto update = [&](Pair pair) {
            auto seen = geometry.look(row, pair);
            inspector.seen(i, seen.variance);
            if (!(seen.variance > kLeastVariance<Real>)) return seen;
            std::int64_t& updates = counters.updates[independent ? pair.column() : 0];
            const Step s = step(rule, seen.score, seen.variance, w, static_cast<double>(updates));
            counters.infeasible += s.infeasible;
            if (s.acts()) {
                geometry.move(row, pair, seen, s, age);
                ++updates;
            }
            return seen;
        };
        counters.mistakes += task.learn(geometry, {row, label, label_end, w, calibration, log_loss}, prior_variance, update);
        if constexpr (requires { geometry.pass(w); }) geometry.pass(w);
    }
}

}  // namespace confidently
