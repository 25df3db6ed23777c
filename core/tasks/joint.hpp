// One of several classes, learned jointly.
#pragma once

#include <algorithm>
#include <vector>

#include "tasks/task.hpp"

namespace confidently {

// What tasks that choose one of several classes share: the scores, the two best of them, one temperature for all
// classes.
struct Multiclass {
    std::vector<double> scores, scratch, probabilities;

    template <class Covariance>
    TopTwo score(const Covariance& covariance, const Row& row) {
        scores.resize(static_cast<std::size_t>(covariance.weights.columns));
        covariance.weights.scores(row, 0, scores.data());
        return {scores.data(), covariance.weights.columns};
    }

    void calibrate(const Example& e, double variance, double prior_variance) {
        const double shrink = moderation(variance, prior_variance);
        for (double& s : scores) s *= shrink;
        scratch.resize(scores.size()), probabilities.resize(scores.size());
        const int n = static_cast<int>(scores.size());
        const TemperatureCalibration calibration{e.calibration};
        const double p =
            e.logits ? calibration.learn_line(scores.data(), n, *e.label, e.weight, e.logits, probabilities.data())
                     : calibration.learn(scores.data(), n, *e.label, e.weight, scratch.data(), probabilities.data());
        e.add_loss(p);
        e.count_variance(variance);
        if (!e.conformal) return;
        const double top = *std::max_element(probabilities.begin(), probabilities.end());
        const ConformalSets sets{e.conformal};
        const double score = log_odds(p);
        if (e.score) *e.score = score;
        sets.learn(score, *e.label);
        sets.answer(log_odds(top), p < top);
    }
};

// The true class against the best-scoring other one.
struct Joint : Multiclass {
    static constexpr TaskFacts facts{.name = "joint", .calibration = TemperatureCalibration::size, .several = true};

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const TopTwo top = score(covariance, e.row);
        const int truth = *e.label, rival = top.first == truth ? top.second : top.first;
        const double variance_if_wrong =
            e.calibration && top.first != truth ? covariance.variance(e.row, {top.first, top.second}) : 0.0;
        const auto margin = update(Pair{truth, rival});
        if (e.calibration) calibrate(e, top.first == truth ? margin.variance : variance_if_wrong, prior_variance);
        return scores[truth] <= scores[rival];
    }
};

}  // namespace confidently
