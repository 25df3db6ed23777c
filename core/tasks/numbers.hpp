// Regression: every column of weights predicts a number. The rule sees the score and the target in the unit of the
// targets so far, less their offset; Sigma is in that unit too, so that a change of the unit changes neither the mean
// nor Sigma.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "covariances/columns.hpp"
#include "rules/table.hpp"
#include "tasks/targets.hpp"
#include "tasks/task.hpp"

namespace confidently {

class Regression {
  public:
    static constexpr TaskFacts facts{.name = "regression",
                                     .calibration = TargetStatistics::size,
                                     .each_output = true,
                                     .targets = true,
                                     .least_columns = 1};

    explicit Regression(Offset offset) : kind_(offset) {}

    // The facts of an offset, which has a name of its own.
    static constexpr TaskFacts named(const char* name) {
        TaskFacts own = facts;
        own.name = name;
        return own;
    }

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double, Update&& update) {
        const AnyRule& rule = update.rule;
        if (!form_) form_ = form_of(rule);  // of the first row: the rule is the same for all
        const Form& form = *form_;
        if (covariance.weights.columns == 1) {
            const Goal goal = next(form, e, 0);
            const auto margin = update.by({0, kNone}, [] {}, [&](const auto& found, std::int64_t) {
                return step(rule, form, goal, found.mean, found.variance);
            });
            record(form, e, 0, goal, margin.mean, margin.variance);
            if (e.calibration) e.count_variance(margin.variance);
        } else if constexpr (MovesColumns<Covariance>) {
            const std::size_t n = static_cast<std::size_t>(covariance.weights.columns);
            moves_.alpha.resize(n), moves_.zeta.resize(n), goals_.resize(n);
            for (std::size_t k = 0; k < n; ++k) goals_[k] = next(form, e, static_cast<int>(k));
            const auto before = update.columns([&](const auto& found) {
                for (std::size_t k = 0; k < n; ++k) {
                    const Step s = step(rule, form, goals_[k], found.mean[k], found.variance[k]);
                    moves_.alpha[k] = s.alpha, moves_.zeta[k] = s.zeta;
                }
                return &moves_;
            });
            for (std::size_t k = 0; k < n; ++k)
                record(form, e, static_cast<int>(k), goals_[k], before.mean[k], before.variance[k]);
            if (e.calibration) e.count_variance(before.variance[0]);
        } else {
            throw std::invalid_argument("this covariance predicts one number per row");
        }
        return false;
    }

  private:
    struct Moves {
        std::vector<double> alpha, zeta;
    };

    // What a regression needs to know of its rule besides the steps.
    struct Form {
        double noise;
        bool log_link, fixed;
    };

    static Form form_of(const AnyRule& any) {
        return std::visit([]<class Rule>(const Rule& rule) -> Form {
            if constexpr (kHasTarget<Rule>)
                return {rule.noise(), kHasLogLink<Rule>, kFixed<Rule>};
            else
                throw std::invalid_argument(std::string(Rule::name) + " has no target");
        }, any);
    }

    // A target as the rule sees it, after it was counted in: (target - offset)/unit or, with a log link, as it is.
    struct Goal {
        double target, offset, unit, weight;
        double before;  // the weight of the rows before
    };

    static TargetStatistics statistics(const Example& e, int column) {
        return {e.statistics + column * TargetStatistics::size};
    }

    Goal next(const Form& form, const Example& e, int column) const {
        const TargetStatistics known = statistics(e, column);
        const double y = e.target[column], before = known.weight();
        Goal goal{y, 0.0, 1.0, e.weight, before};
        if (form.log_link) {
            if (kind_ != Offset::none) goal.offset = known.log_mean();
            known.add(y, e.weight, kind_);
        } else {
            if (kind_ != Offset::none) goal.offset = before > 0.0 ? known.mean() : y;
            known.add(y, e.weight, kind_);
            goal.unit = known.unit();
            goal.target = (y - goal.offset) / goal.unit;
        }
        if (kind_ == Offset::centered) goal.weight *= before / known.weight();
        return goal;
    }

    // score: mean.x, without the offset
    static Step step(const AnyRule& rule, const Form& form, const Goal& goal, double score, double variance) {
        if (!(goal.weight > 0.0)) return {};
        if (form.log_link) return step_to(rule, score + goal.offset, variance, goal.target, goal.weight);
        Step s = step_to(rule, score / goal.unit, variance, goal.target, goal.weight);
        s.alpha *= goal.unit;
        return s;
    }

    void record(const Form& form, const Example& e, int column, const Goal& goal, double score, double variance) const {
        const Predicted prediction = predicted(form, goal, e.weight, score, variance);
        if (e.logits) {
            e.logits[2 * column] = prediction.mean;
            e.logits[2 * column + 1] = prediction.spread * statistics(e, column).noise_factor();
        }
        if (e.evidence) {
            e.evidence[0] = goal.weight / form.noise;
            e.evidence[1 + column] = e.target[column] - goal.offset;
        }
        // With an offset, the first row has no prediction.
        double counted = std::numeric_limits<double>::quiet_NaN();
        if (e.calibration && (kind_ == Offset::none || goal.before > 0.0))
            counted =
                statistics(e, column).learn(e.target[column], prediction, e.row,
                                            e.conformal ? e.conformal + column * ConformalIntervals::size : nullptr);
        if (e.score) e.score[column] = counted;
    }

    Predicted predicted(const Form& form, const Goal& goal, double w, double score, double variance) const {
        if (form.log_link) {
            constexpr double kLargestLog = 200.0;  // no square of its exponential overflows
            const double rate = std::exp(std::min(score + goal.offset + 0.5 * variance, kLargestLog));
            return {rate, std::max(rate / w + rate * rate * std::expm1(std::min(variance, kLargestLog)), 1e-300)};
        }
        double spread = form.noise / w;
        if (!form.fixed) spread += variance;
        if (kind_ == Offset::centered && goal.before > 0.0) spread += form.noise / goal.before;
        return {goal.offset + score, spread};
    }

    Offset kind_;
    std::optional<Form> form_;
    Moves moves_;
    std::vector<Goal> goals_;
};

}  // namespace confidently
