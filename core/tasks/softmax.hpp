// The task that moves all classes at once, each by its share of the softmax likelihood.
#pragma once

#include "rules/softmax.hpp"
#include "tasks/joint.hpp"

namespace confidently {

struct Softmax : Multiclass {
    static constexpr TaskFacts facts{
        .name = "softmax", .calibration = TemperatureCalibration::size, .several = true, .all_columns = true};
    SoftmaxStep step;

    template <class Covariance, class Update>
    bool learn(const Covariance&, const Example& e, double prior_variance, Update&& update) {
        const auto before = update.columns([&](const auto& found) {
            const int n = static_cast<int>(found.mean.size());
            return step(found.mean.data(), found.variance.data(), n, *e.label, e.weight) ? &step : nullptr;
        });
        scores = before.mean;
        const TopTwo top(scores.data(), static_cast<int>(scores.size()));
        const int truth = *e.label, rival = top.first == truth ? top.second : top.first;
        const bool mistake = scores[truth] <= scores[rival];
        if (e.calibration) calibrate(e, before.variance[top.first] + before.variance[top.second], prior_variance);
        return mistake;
    }
};

}  // namespace confidently
