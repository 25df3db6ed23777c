// One of several classes, by separate learners.
#pragma once

#include "tasks/joint.hpp"

namespace confidently {

// One binary learner per class.
struct OneVsRest : Multiclass {
    static constexpr TaskFacts facts{
        .name = "one_vs_rest", .calibration = TemperatureCalibration::size, .several = true, .separate = true};

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const TopTwo top = score(covariance, e.row);
        const int truth = *e.label, rival = top.first == truth ? top.second : top.first;
        double variance = 0.0;
        for (int k = 0; k < covariance.weights.columns; ++k) {
            const double v = update(k == truth ? Pair{k, kNone} : Pair{kNone, k}).variance;
            if (k == top.first || k == top.second) variance += v;
        }
        const bool mistake = scores[truth] <= scores[rival];
        if (e.calibration) calibrate(e, variance, prior_variance);
        return mistake;
    }
};

}  // namespace confidently
