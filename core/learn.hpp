// The loop, written once: look, ask the rule, move. It stops at the first faulty row, before touching it.
#pragma once

#include <cstdint>

#include "rows.hpp"
#include "rules.hpp"
#include "tasks.hpp"

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
    double largest;              // rows are checked before they are learned: no value may be larger; 0: they are known good

    std::int64_t row(std::int64_t at) const { return order ? order[at] : at; }
};

// How many rows ahead the state of features is asked for, and the rows themselves.
inline constexpr std::int64_t kStateAhead = 1, kRowsAhead = 4;
// Below this size the state stays in the cache by itself.
inline constexpr std::int64_t kPrefetchBytes = 4 << 20;

template <class Weights>
class Prefetcher {
  public:
    Prefetcher(const Weights& weights, const Batch& batch)
        : weights_(weights), batch_(batch),
          useful_(weights.n_features * weights.stride() * std::int64_t(sizeof(*weights.base)) >= kPrefetchBytes) {}

    void ahead_of(std::int64_t at) const {
        if (at + kRowsAhead < batch_.to) batch_.rows.prefetch(batch_.row(at + kRowsAhead));
        if (!useful_ || at + kStateAhead >= batch_.to) return;
        const Row next = batch_.rows.peek(batch_.row(at + kStateAhead));
        for (std::int32_t k = 0; k < next.size; ++k) __builtin_prefetch(weights_.at(next.column[k]), 1);
    }

  private:
    const Weights& weights_;
    const Batch& batch_;
    bool useful_;
};

template <class Real, class Geometry, class Task>
Fault learn(Geometry& geometry, Task& task, const AnyRule& rule, double prior_variance, const Batch& batch,
           double* calibration, Counters counters, bool independent) {
    RowBuffer buffer;
    const Prefetcher prefetch(geometry.weights, batch);
    for (std::int64_t at = batch.from; at < batch.to; ++at) {
        prefetch.ahead_of(at);
        const std::int64_t i = batch.row(at);
        const std::int32_t *label = batch.labels.begin(i), *label_end = batch.labels.end(i);
        double w = batch.weight ? batch.weight[i] : 1.0;
        if (batch.class_weight) w *= batch.class_weight[*label];
        if (batch.largest > 0.0)
            if (const Fault fault = batch.rows.fault(i, batch.largest); fault.bad()) return fault;
        if (!(w > 0.0)) continue;
        const Row row = batch.rows.at(i, geometry.weights.intercept, buffer);
        const double age = static_cast<double>(counters.seen++);
        const auto update = [&](Pair pair) {
            auto seen = geometry.look(row, pair);
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
        counters.mistakes += task.learn(geometry, {row, label, label_end, w, calibration}, prior_variance, update);
    }
    return {};
}

}  // namespace confidently
