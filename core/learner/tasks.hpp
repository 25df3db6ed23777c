// Tasks: each turns the label of a row into the pairs of columns to discriminate (Yang, Jin & Ye 2009, section 2.4) and
// returns how many rows it has found to be predicted wrongly. A task depends on neither the rule nor the covariance:
// update(pair) scores the pair, asks the rule, updates, and returns the margin as it was before the update.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "covariances/weights.hpp"
#include "learner/calibration.hpp"
#include "rows.hpp"

namespace confidently {

// Labels of rows: one class number per row, or lists of them (start has one entry more than there are rows). Rows of a
// regression have numbers instead, one per column of weights, and the class 0.
struct Labels {
    const std::int32_t* id;
    const std::int64_t* start;
    const double* target = nullptr;

    const std::int32_t* begin(std::int64_t i) const { return id + (start ? start[i] : i); }
    const std::int32_t* end(std::int64_t i) const { return id + (start ? start[i + 1] : i + 1); }
};

struct Example {
    const Row& row;
    const std::int32_t *label, *label_end;
    const double* target;  // nullptr: labels are classes
    double weight;
    double* calibration;  // nullptr: not wanted
    double* log_loss;     // nullptr: not wanted; with a calibration, the losses of the labels are added to it
    double* logits;  // nullptr: not wanted; with a calibration, set to the scores by its line before the label is used:
                     // then no correction is learned, since who mixes the scores of several learners calibrates their
                     // mixture
    double* statistics;  // of targets; nullptr: labels are classes
    double* evidence;    // nullptr: not wanted

    // p: the probability of a label before it was used
    void add_loss(double p) const {
        if (log_loss) *log_loss += confidently::log_loss(p);
    }
};

// The best-scoring column and the best of the others.
struct TopTwo {
    int first = kNone, second = kNone;

    TopTwo(const double* scores, int n) {
        for (int k = 0; k < n; ++k) {
            if (first == kNone || scores[k] > scores[first]) {
                second = first;
                first = k;
            } else if (second == kNone || scores[k] > scores[second]) {
                second = k;
            }
        }
    }
};

// Labels 0 and 1, one column. The calibration by a row waits for the next row: it is a long chain of operations, which
// nothing but the next calibration waits for. So its two halves run beside the sums of the next score and beside what
// follows the next update, when the processor would be idle. With a calibration, mistakes are counted by it, and so
// they wait too.
class Binary {
  public:
    // Returns how many rows are now known to be predicted wrongly.
    template <class Covariance, class Update>
    int learn(const Covariance&, const Example& e, double prior_variance, Update&& update) {
        const bool positive = *e.label == 1;
        const Pair pair{positive - 1, -int(positive)};  // 0 and kNone, or kNone and 0
        const auto margin = update(pair, [&] { predict(prior_variance); });
        const int mistakes = calibrate();
        before_ = {margin.mean, margin.variance, positive, e.weight, e.calibration, e.log_loss, e.logits};
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
        double *calibration, *log_loss, *logits;  // nullptr: not wanted, as in Example
        SigmoidCalibration::Seen seen{};          // once it is known, as is the probability of the positive class
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
        before_.calibration = nullptr;
        return p <= 0.5;
    }

    Before before_{};
};

// Shared by both multiclass tasks: the scores, the two best of them, one temperature for all classes.
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
    }
};

// The true class against the best-scoring other one.
struct Joint : Multiclass {
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

// One binary learner per class.
struct OneVsRest : Multiclass {
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

// Column 0 is the threshold, below every relevant label and above every other one; label k has column k + 1.
struct Multilabel {
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
        for (int k = 1; k < columns; ++k) {
            if (relevant[k] && (worst == kNone || scores[k] < scores[worst])) worst = k;
            if (!relevant[k] && (best == kNone || scores[k] > scores[best])) best = k;
        }
        const bool ranked = worst != kNone && best != kNone;
        const bool mistake = ranked && scores[worst] <= scores[best];
        if (ranked) update(Pair{worst, best});
        if (threshold_pair_is_upper(worst, best))
            update(Pair{worst, threshold});
        else
            update(Pair{threshold, best});
        const double likely = e.calibration ? LabelCalibration::threshold(e.calibration, columns - 1) : 0.0;
        for (int k = 1; e.calibration && k < columns; ++k)
            e.add_loss(LabelCalibration::learn(e.calibration + (k - 1) * LabelCalibration::size,
                                               scores[k] - scores[threshold], relevant[k], e.weight, likely));
        return mistake;
    }

    bool threshold_pair_is_upper(int worst, int best) const {
        if (worst == kNone || best == kNone) return best == kNone;
        return scores[worst] - scores[threshold] <= scores[threshold] - scores[best];
    }
};

// One binary learner per label, which learns from every row whether it has the label.
struct MultilabelOneVsRest {
    std::vector<char> relevant;

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const int columns = covariance.weights.columns;
        relevant.assign(static_cast<std::size_t>(columns), 0);
        for (const std::int32_t* l = e.label; l != e.label_end; ++l) relevant[*l] = 1;
        const double likely = e.calibration ? LabelCalibration::threshold(e.calibration, columns) : 0.0;
        double worst = HUGE_VAL, best = -HUGE_VAL;  // scores of the worst relevant and the best irrelevant label
        for (int k = 0; k < columns; ++k) {
            const auto margin = update(relevant[k] ? Pair{k, kNone} : Pair{kNone, k});
            const double score = relevant[k] ? margin.mean : -margin.mean;
            (relevant[k] ? worst : best) = relevant[k] ? std::min(worst, score) : std::max(best, score);
            if (e.calibration)
                e.add_loss(LabelCalibration::learn(e.calibration + k * LabelCalibration::size,
                                                   score * moderation(margin.variance, prior_variance), relevant[k],
                                                   e.weight, likely));
        }
        return worst <= best;
    }
};

}  // namespace confidently
