// Two classes.
#pragma once

#include "tasks/task.hpp"

namespace confidently {

// Labels 0 and 1, one column. The calibration by a row waits for the next row: it is a long chain of operations, which
// nothing but the next calibration waits for. So its two halves run beside the sums of the next score and beside what
// follows the next update, when the processor would be idle. With a calibration, mistakes are counted by it, and so
// they wait too.
class Binary {
  public:
    static constexpr TaskFacts facts{
        .name = "binary", .calibration = SigmoidCalibration::size, .one_column = true, .least_columns = 1};

    // Returns how many rows are now known to be predicted wrongly.
    template <class Covariance, class Update>
    int learn(const Covariance&, const Example& e, double prior_variance, Update&& update) {
        const bool positive = *e.label == 1;
        const Pair pair{positive - 1, -int(positive)};  // 0 and kNone, or kNone and 0
        const auto margin = update(pair, [&] { predict(prior_variance); });
        const int mistakes = calibrate();
        if (e.calibration) e.count_variance(margin.variance);
        before_ = {margin.mean, margin.variance, positive,    e.weight, e.calibration,
                   e.log_loss,  e.logits,        e.conformal, e.score};
        return mistakes + (!e.calibration && margin.mean <= 0.0);
    }

    // Calibrates by the last row; returns whether it was predicted wrongly, if that was not known.
    int finish(double prior_variance) {
        predict(prior_variance);
        return calibrate();
    }

  private:
    struct Before {
        double mean, variance;
        bool positive;
        double weight;
        double *calibration, *log_loss, *logits, *conformal, *score;  // nullptr: not wanted, as in Example
        SigmoidCalibration::Seen seen{};  // once it is known, as is the probability of the positive class
        double probability = 0.0;
    };

    void predict(double prior_variance) {
        if (!before_.calibration) return;
        const double score = kSign[before_.positive] * before_.mean * moderation(before_.variance, prior_variance);
        before_.seen = SigmoidCalibration::see(before_.calibration, score);
        before_.probability = sigmoid(before_.logits ? before_.seen.line : before_.seen.logit);
        if (before_.logits) *before_.logits = before_.seen.line;
    }

    int calibrate() {
        if (!before_.calibration) return 0;
        const SigmoidCalibration calibration{before_.calibration};
        const double p =
            before_.logits ? calibration.learn_line(before_.seen, before_.positive, before_.weight, before_.probability)
                           : calibration.learn(before_.seen, before_.positive, before_.weight, before_.probability);
        if (before_.log_loss) *before_.log_loss += log_loss(p);
        if (before_.conformal) {
            const double score = kSign[before_.positive] * before_.seen.logit;
            if (before_.score) *before_.score = score;
            ConformalSets{before_.conformal}.learn(
                {score, std::fabs(before_.seen.logit), Expected::of_two(p), before_.positive, p <= 0.5});
        }
        before_.calibration = nullptr;
        return p <= 0.5;
    }

    Before before_{};
};

}  // namespace confidently
