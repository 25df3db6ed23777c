// The training loop, written once: score, ask the rule, update.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "covariances/columns.hpp"
#include "tasks/task.hpp"
#include "rows.hpp"
#include "rules/table.hpp"

namespace confidently {

// A row of a smaller variance has nothing to learn from (it is empty, or its values underflow when squared).
template <class Real>
inline constexpr double kMinVariance = sizeof(Real) == 4 ? 1e-60 : 1e-200;

struct Counters {
    std::int64_t &seen, &mistakes, &infeasible;
    std::int64_t* updates;  // one per learner
};

// The rows of a batch whose own are only positions among products of them: row i is row order[i], or first + i.
struct SeenRows {
    const Rows* rows = nullptr;
    const std::int64_t* order = nullptr;
    std::int64_t first = 0;

    Row at(std::int64_t i, RowBuffer& buffer) const { return rows->at(order ? order[i] : first + i, false, buffer); }
};

struct Batch {
    const Rows& rows;
    Labels labels;
    const double* weight;                            // nullptr: all 1
    const double* class_weight;                      // nullptr: all 1; multilabel rows have none
    const std::int64_t* order;                       // nullptr: as they come
    std::int64_t from, to;                           // the part of the order to train on
    std::span<const std::int64_t> class_start = {};  // positions in the order at which the last classes begin to exist
    SeenRows seen = {};

    std::int64_t row(std::int64_t at) const { return order ? order[at] : at; }
    double weight_of(std::int64_t i) const {
        return (weight ? weight[i] : 1.0) * (class_weight ? class_weight[*labels.begin(i)] : 1.0);
    }
};

// Thrown at an invalid row before the learner changes, or at a row that takes it out of range.
struct InvalidRow {
    Fault fault;
};

inline constexpr const char* kOutOfRange = "range";  // the reason of such a fault

// Thrown before a row changes the learner for whose weights there is no room, with its place in the order of training.
// All rows before it are learned.
struct NoRoom {
    std::int64_t at, needed;  // places in the lists of weights
};

// Checks rows at almost no cost: a value that is not finite or too large shows in the variance of the margin, so that
// only rows of a suspicious variance are read once more.
struct Inspector {
    const Rows& rows;
    double largest;     // largest allowed absolute value; 0: the rows are known to be valid
    double suspicious;  // least variance that a value beyond it would give

    CONFIDENTLY_SELDOM void check(std::int64_t i) const {
        if (largest == 0.0) return;
        if (const Fault fault = rows.fault(i, largest); fault.bad()) throw InvalidRow{fault};
    }
    // own: the same rows, perhaps by their own type
    template <class Own>
    void before_scoring(const Own& own, std::int64_t i) const {
        if (largest != 0.0 && !own.in_order(i)) check(i);
    }
    void after_scoring(std::int64_t i, double variance) const {
        if (!(variance < suspicious)) check(i);
    }
};

// What a task updates the Gaussian with, for one row.
template <class Real, class Covariance, class Rule>
struct RowUpdate {
    Covariance& covariance;
    const Rule& rule;
    const Inspector& inspector;
    const Counters& counters;
    bool independent;  // whether every column is a learner of its own
    const Row& row;
    std::int64_t number;  // of the row
    double w, age;

    // Scores a pair, asks the rule and updates; returns the margin as it was before.
    auto operator()(Pair pair) const {
        return (*this)(pair, [] {});
    }

    // meanwhile: work that the margin does not wait for, nor change
    template <class Meanwhile>
    auto operator()(Pair pair, Meanwhile&& meanwhile) const {
        return by(pair, meanwhile, [this](const auto& margin, std::int64_t updates) {
            return step(rule, margin.mean, margin.variance, w, static_cast<double>(updates));
        });
    }

    // The same with the step solve(margin, updates).
    template <class Meanwhile, class Solve>
    auto by(Pair pair, Meanwhile&& meanwhile, Solve&& solve) const {
        auto margin = covariance.score(row, pair);
        meanwhile();
        check(margin.mean, margin.variance);
        if (!(margin.variance > least_variance())) return margin;
        std::int64_t& updates = counters.updates[independent ? pair.column() : 0];
        const Step s = solve(margin, updates);
        counters.infeasible += s.infeasible;
        if (s.acts()) {
            if constexpr (requires { covariance.weights.remember(row, pair); }) covariance.weights.remember(row, pair);
            check_written(covariance.update(row, pair, margin, s, age));
            ++updates;
        }
        return margin;
    }

    // Scores all columns and moves each by what solve(scores) has found, unless it returns nullptr; returns the scores
    // as they were before.
    template <class Solve>
    auto columns(Solve&& solve) const
        requires MovesColumns<Covariance>
    {
        typename Covariance::Columns columns;
        covariance.score_columns(row, columns);
        double mean = 0.0, variance = 0.0;
        for (const double m : columns.mean) mean += m;
        for (const double v : columns.variance) variance += v;
        check(mean, variance);
        if (!(variance > least_variance())) return columns;
        const auto* s = solve(columns);
        if (!s) return columns;
        if constexpr (requires { covariance.weights.remember(row); }) covariance.weights.remember(row);
        check_written(covariance.update_columns(row, columns, s->alpha, s->zeta, age));
        for (std::size_t k = 0; k < (independent ? s->alpha.size() : 1); ++k) ++counters.updates[k];
        return columns;
    }

  private:
    // Constants, except for a covariance whose type does not say in which precision its weights are kept.
    double least_variance() const {
        if constexpr (requires { covariance.limits; }) return covariance.limits.variance;
        return kMinVariance<Real>;
    }
    double largest_weight() const {
        if constexpr (requires { covariance.limits; }) return covariance.limits.weight;
        return kLargestWeight<Real>;
    }

    void check(double mean, double variance) const {
        inspector.after_scoring(number, variance);
        if (!std::isfinite(mean) || !std::isfinite(variance)) throw InvalidRow{{kOutOfRange, number}};
    }

    void check_written(double largest) const {
        if (!(largest <= largest_weight())) throw InvalidRow{{kOutOfRange, number}};
    }
};

// What is recorded of the rows of a batch, with a calibration; nullptr: not wanted.
struct Progressive {
    double* log_loss = nullptr;  // the losses of the labels, before they are used, are added to it
    double* logits = nullptr;    // (rows of the batch x outputs) calibrated scores before the labels are used;
                                 // regression: (rows of the batch x 2 columns) predictions and their variances
    double* evidence = nullptr;  // regression: (rows of the batch x (1 + columns)) what a row adds to the precision, as
                                 // a factor of x x', and its targets less their offset
    double* scores = nullptr;    // one row after the other: the log-odds of its class or of its labels, or its errors
    int logits_per_row = 1;
};

inline constexpr std::int64_t kRowsAhead = 8;     // enough for a row to arrive from memory, ...
inline constexpr std::int64_t kWeightsAhead = 3;  // ... and then its weights
// Weights of this size stay in the cache of the processor, where asking for them early takes longer than it saves.
inline constexpr std::int64_t kNearBytes = 4 << 20;

// What training needs besides the covariance, the task, the rule and the rows.
struct Training {
    double prior_variance;
    const Batch& batch;
    double* calibration;  // nullptr: not wanted
    Progressive progressive;
    Counters counters;
    bool independent;
    const Inspector& inspector;
    double* statistics = nullptr;  // of the targets, which a regression always learns
    double* conformal = nullptr;   // not wanted
    double* variances = nullptr;   // with a calibration
};

// The types of the rule and of the rows are those of any, or the own types of these, which saves calls for every row.
template <class Real, class Covariance, class Task, class Rule, class AnyRows>
void learn(Covariance& covariance, Task& task, const Rule& rule, const AnyRows& rows, const Training& training) {
    // copies, which stay in registers: for all that the compiler knows, the numbers that a row changes may be these
    const auto [prior_variance, whole_batch, calibration, progressive, counters, independent, every_row, statistics,
                conformal, variances] = training;
    const Batch batch = whole_batch;
    const Inspector inspector = every_row;
    RowBuffer buffer, seen_buffer;
    const std::int64_t width = covariance.weights.columns;
    int& columns = covariance.weights.columns;
    columns -= static_cast<int>(batch.class_start.size());
    auto new_class = batch.class_start.begin();
    double* next_score = progressive.scores;
    constexpr bool stored = requires { covariance.weights.expect(std::span<const std::int32_t>()); };
    std::optional<NoRoom> no_room;
    bool far = false;
    if constexpr (stored) far = covariance.weights.bytes() > kNearBytes;
    for (std::int64_t at = batch.from; at < batch.to; ++at) {
        if (at + kRowsAhead < batch.to) rows.expect(batch.row(at + kRowsAhead));
        if constexpr (stored)
            if (far && at + kWeightsAhead < batch.to)
                covariance.weights.expect(rows.columns(batch.row(at + kWeightsAhead)));
        for (; new_class != batch.class_start.end() && *new_class <= at; ++new_class) ++columns;
        const std::int64_t i = batch.row(at);
        const std::int32_t *label = batch.labels.begin(i), *label_end = batch.labels.end(i);
        const double w = batch.weight_of(i);
        double* own_score = next_score;
        if (next_score) next_score += batch.labels.scores(i, width);
        if (!(w > 0.0)) {
            inspector.check(i);
            continue;
        }
        inspector.before_scoring(rows, i);
        if constexpr (requires { covariance.expect(rows, batch, at); }) covariance.expect(rows, batch, at);
        const Row row = rows.at(i, covariance.weights.intercept, buffer);
        if constexpr (requires { covariance.weights.needed(row); })
            if (const std::int64_t needed = covariance.weights.needed(row); needed > covariance.weights.spare()) {
                no_room = NoRoom{at, needed};
                break;
            }
        const double age = static_cast<double>(counters.seen++);
        const RowUpdate<Real, Covariance, Rule> update{covariance, rule, inspector, counters, independent,
                                                       row,        i,    w,         age};
        double* logits =
            progressive.logits ? progressive.logits + (at - batch.from) * progressive.logits_per_row : nullptr;
        const double* target = batch.labels.target ? batch.labels.target + i * width : nullptr;
        double* evidence = progressive.evidence ? progressive.evidence + (at - batch.from) * (width + 1) : nullptr;
        const Row seen = AnyRows::positions && batch.seen.rows ? batch.seen.at(i, seen_buffer) : row;
        const Example example{seen,   label,      label_end, target,    w,         calibration, progressive.log_loss,
                              logits, statistics, evidence,  conformal, variances, own_score};
        counters.mistakes += task.learn(covariance, example, prior_variance, update);
        if constexpr (requires { covariance.forget(w); }) covariance.forget(w);
    }
    if constexpr (requires { task.finish(training.prior_variance); })
        counters.mistakes += task.finish(training.prior_variance);
    if (no_room) throw *no_room;
}

}  // namespace confidently
