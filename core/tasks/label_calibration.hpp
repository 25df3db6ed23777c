// The online calibration of labels, of which a row may have several.
#pragma once

#include "tasks/calibration.hpp"

namespace confidently {

// The calibration of a label among others, and how often it was right to be predicted; state: the sigmoid, and sums
// over rows, of which old ones count less.
struct LabelCalibration {
    static constexpr int hits = SigmoidCalibration::size, size = hits + 2;  // hits and chances, at the end

    // The probability above which labels are predicted: half of the F1 so far, of all labels together, as the largest
    // F1 needs (Busa-Fekete et al. 2015). state: of n labels
    static double threshold(const double* state, int n) { return half_of_f1(state + hits, n, size); }

    // The same of the counts of n labels, each `stride` numbers after the one before.
    static double half_of_f1(const double* counts, int n, int stride) {
        double hit = 0.5, chance = 1.0;
        for (int k = 0; k < n; ++k) {
            hit += counts[k * stride];
            chance += counts[k * stride + 1];
        }
        return hit / chance;
    }

    // Counts the prediction of a label: first hits, which are labels predicted and relevant, then chances, those
    // predicted and those relevant.
    static void count(double* counts, bool predicted, bool relevant, double w) {
        const double keep = decay(w);
        counts[0] = keep * counts[0] + w * (predicted && relevant);
        counts[1] = keep * counts[1] + w * (int(predicted) + int(relevant));
    }

    // Returns the probability of the label before the update. logit: if wanted, set to the score by the line; then no
    // correction is learned.
    static double learn(double* state, double score, bool relevant, double w, double threshold, double* logit) {
        const SigmoidCalibration calibration{state};
        const SigmoidCalibration::Seen seen = calibration.see(score);
        const double p = sigmoid(logit ? seen.line : seen.logit);
        count(state + hits, p > threshold, relevant, w);
        if (!logit) return calibration.learn(seen, relevant, w, p);
        *logit = seen.line;
        return calibration.learn_line(seen, relevant, w, p);
    }
};

}  // namespace confidently
