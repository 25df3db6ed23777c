// Any number of labels: ranked jointly, or by separate learners.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tasks/task.hpp"

namespace confidently {

// Column 0 is the threshold, below every relevant label and above every other one; label k has column k + 1.
struct Multilabel {
    static constexpr TaskFacts facts{.name = "multilabel",
                                     .calibration = LabelCalibration::size,
                                     .each_output = true,
                                     .lists = true,
                                     .threshold = true,
                                     .least_columns = 1,
                                     .updates_per_row = 2};
    static constexpr int threshold = 0;
    std::vector<double> scores;
    std::vector<char> relevant;

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double, Update&& update) {
        const int columns = covariance.weights.columns;
        scores.resize(static_cast<std::size_t>(columns));
        relevant.assign(static_cast<std::size_t>(columns), 0);
        for (const std::int32_t* l = e.label; l != e.label_end; ++l) relevant[*l + 1] = 1;
        covariance.weights.scores(e.row, 0, scores.data());
        int worst = kNone, best = kNone;  // the worst relevant and the best irrelevant label
        int first = kNone;                // the best of all
        for (int k = 1; k < columns; ++k) {
            if (first == kNone || scores[k] > scores[first]) first = k;
            if (relevant[k] && (worst == kNone || scores[k] < scores[worst])) worst = k;
            if (!relevant[k] && (best == kNone || scores[k] > scores[best])) best = k;
        }
        const bool counted = e.calibration && first != kNone;
        const double variance = counted ? covariance.variance(e.row, {first, threshold}) : 0.0;
        const bool ranked = worst != kNone && best != kNone;
        const bool mistake = ranked && scores[worst] <= scores[best];
        if (ranked) update(Pair{worst, best});
        if (threshold_pair_is_upper(worst, best))
            update(Pair{worst, threshold});
        else
            update(Pair{threshold, best});
        const double likely = e.calibration ? LabelCalibration::threshold(e.calibration, columns - 1) : 0.0;
        DrawnLabel one = e.draw_label();
        for (int k = 1; e.calibration && k < columns; ++k)
            e.calibrate_label(k - 1, scores[k] - scores[threshold], relevant[k], likely, one);
        one.learn();
        if (counted) e.count_variance(variance);
        return mistake;
    }

    bool threshold_pair_is_upper(int worst, int best) const {
        if (worst == kNone || best == kNone) return best == kNone;
        return scores[worst] - scores[threshold] <= scores[threshold] - scores[best];
    }
};

// One binary learner per label, which learns from every row whether it has the label.
struct MultilabelOneVsRest {
    static constexpr TaskFacts facts{.name = "multilabel_one_vs_rest",
                                     .calibration = LabelCalibration::size,
                                     .each_output = true,
                                     .lists = true,
                                     .separate = true,
                                     .least_columns = 0};
    std::vector<char> relevant;

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const int columns = covariance.weights.columns;
        relevant.assign(static_cast<std::size_t>(columns), 0);
        for (const std::int32_t* l = e.label; l != e.label_end; ++l) relevant[*l] = 1;
        const double likely = e.calibration ? LabelCalibration::threshold(e.calibration, columns) : 0.0;
        double worst = HUGE_VAL, best = -HUGE_VAL;  // scores of the worst relevant and the best irrelevant label
        double first = -HUGE_VAL, variance = 0.0;   // of the label that scores highest
        DrawnLabel one = e.draw_label();
        for (int k = 0; k < columns; ++k) {
            const auto margin = update(relevant[k] ? Pair{k, kNone} : Pair{kNone, k});
            const double score = relevant[k] ? margin.mean : -margin.mean;
            if (score > first) first = score, variance = margin.variance;
            (relevant[k] ? worst : best) = relevant[k] ? std::min(worst, score) : std::max(best, score);
            if (e.calibration)
                e.calibrate_label(k, score * moderation(margin.variance, prior_variance), relevant[k], likely, one);
        }
        one.learn();
        if (e.calibration && columns > 0) e.count_variance(variance);
        return worst <= best;
    }
};

}  // namespace confidently
