// What the core knows of a task: facts, and the form of the examples that it is given. Each task is one header of this
// folder and one row of table.hpp.
//
// A task turns the label of a row into the pairs of columns to discriminate (Yang, Jin & Ye 2009, section 2.4) and
// returns how many rows it has found to be predicted wrongly. It depends on neither the rule nor the covariance:
// update(pair) scores the pair, asks the rule, updates, and returns the margin as it was before the update.
#pragma once

#include <algorithm>
#include <cstdint>

#include "covariances/weights.hpp"
#include "rows.hpp"
#include "tasks/calibration.hpp"
#include "tasks/intervals.hpp"
#include "tasks/label_calibration.hpp"
#include "tasks/margin_variances.hpp"

namespace confidently {

struct TaskFacts {
    const char* name;          // in Python with "-" for "_"
    int calibration;           // numbers that calibrate it: in all, or of each output
    bool each_output = false;  // whether every label or number is calibrated by itself
    bool one_column = false;   // two classes: one column of weights for both
    bool several = false;      // the class with the largest score is chosen
    bool lists = false;        // rows have any number of labels
    bool targets = false;      // rows have numbers instead of labels
    bool threshold = false;    // column 0 is a threshold, and label k has column k + 1
    bool separate = false;     // every class or label has a learner of its own
    bool all_columns = false;  // all columns move at once, by one likelihood
    int least_columns = 2;
    int updates_per_row = 1;

    constexpr int extra_columns() const { return threshold; }  // that belong to no class
    constexpr int outputs(int columns) const { return columns - extra_columns() + one_column; }
    constexpr int calibration_size(int columns) const {
        return each_output ? calibration * outputs(columns) : calibration;
    }
    constexpr int conformal_size(int columns) const {
        return targets ? outputs(columns) * ConformalIntervals::size : ConformalSets::size(outputs(columns));
    }
};

// Labels of rows: one class number per row, or lists of them (start has one entry more than there are rows). Rows of a
// regression have numbers instead, one per column of weights, and the class 0.
struct Labels {
    const std::int32_t* id;
    const std::int64_t* start;
    const double* target = nullptr;

    const std::int32_t* begin(std::int64_t i) const { return id + (start ? start[i] : i); }
    const std::int32_t* end(std::int64_t i) const { return id + (start ? start[i + 1] : i + 1); }

    // How many scores training records of a row: of its class, of each of its labels, or of its targets.
    std::int64_t scores(std::int64_t i, std::int64_t targets) const { return target ? targets : end(i) - begin(i); }
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
    double* conformal;   // nullptr: not wanted
    double* variances;   // with a calibration
    double* score;       // nullptr: not wanted; with `conformal`, set to the log-odds of the class, or of each of the
                         // labels, or for each target to the error that is counted

    // p: the probability of a label before it was used
    void add_loss(double p) const {
        if (log_loss) *log_loss += confidently::log_loss(p);
    }

    // Learns how uncertain the prediction was, if there is a calibration.
    void count_variance(double variance) const { MarginVariances{variances}.learn(variance); }

    // Learns from a label's score. threshold: the probability above which labels are predicted; one: of the row
    void calibrate_label(int k, double score, bool relevant, double threshold, DrawnLabel& one) const {
        const double p = LabelCalibration::learn(calibration + k * LabelCalibration::size, score, relevant, weight,
                                                 threshold, logits ? logits + k : nullptr);
        add_loss(p);
        if (!conformal) return;
        one.see(p);
        if (!relevant) return;
        ConformalSets{conformal}.learn(log_odds(p), k);
        if (this->score) this->score[std::find(label, label_end, k) - label] = log_odds(p);
    }

    // Begins with the labels of a row, one of which the alarm will know.
    DrawnLabel draw_label() const { return {ConformalSets{conformal}}; }
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

}  // namespace confidently
