// A learner bound to the arrays of its state, which trains on single rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/batches.hpp"
#include "bindings/bound_view.hpp"
#include "bindings/learner_settings.hpp"
#include "data/rows_out.hpp"

namespace confidently::python {

// Thrown where views make columns of a row that the weights do not have.
struct Unmade {};

// A learner bound to the arrays of its state, once instead of for every row.
class BoundLearner {
  public:
    // state: writable
    BoundLearner(const LearnerSettings& settings, const nb::dict& state, UndoLog& undo, bool calibrate,
                 const std::vector<Step>& views)
        : learner_(settings.open(state, 0, &undo)), undo_(undo), kind_(settings.facts()),
          task_(any_task(settings.task)), rule_(settings.rule), prior_(settings.prior_variance),
          independent_(settings.independent), calibrate_(calibrate), counters_(data<std::int64_t>(state, "counters")),
          updates_(data<std::int64_t>(state, "updates")), calibration_(data<double>(state, "calibration")),
          conformal_(data<double>(state, "conformal")), variances_(data<double>(state, "variances")),
          scratch_(std::size_t(learner_->columns)), views_(views, StateArrays{state}, undo) {
        for (auto [name, array] : state) {
            owners_.push_back(nb::borrow(array));
            const auto own = nb::cast<std::string>(name);
            // What sets of classes are made of changes when nothing can fail any more, except between labels of a row.
            if (!views_.view_of(own).empty() && !BoundViews::changes_unnoted(own)) continue;
            if (own == "weights" || own == "precision" || own == "shift" || own == "variances" ||
                (own == "conformal" && !kind_.lists))
                continue;
            const auto numbers = nb::cast<nb::ndarray<nb::ro, nb::c_contig>>(array);
            // Bins of errors change, as the normal equations do, when nothing can fail any more.
            const bool without_bins = kind_.targets && own == "calibration" && columns() == 1;
            if (numbers.nbytes())
                kept_.push_back(
                    {numbers.data(), without_bins ? TargetStatistics::at_groups * sizeof(double) : numbers.nbytes()});
        }
        if (kind_.targets && state.contains("precision")) {
            const std::int64_t n = learner_->n_features;
            require(!learner_->intercept && columns() == 1, "normal equations are of one number");
            precision_ = StateArrays{state}.array<double>("precision", n, n);
            shift_ = StateArrays{state}.array<double>("shift", n, 1);
        }
    }

    // target: of a regression; otherwise nullptr. Returns false, with everything as it was, if an array has to grow or
    // to be replaced; the learner is of no use then.
    bool learn(Row row, const std::int32_t* labels, std::int64_t n_labels, double weight, const double* target) {
        if (is_stale_) return false;
        require(kind_.lists || n_labels == 1, "a row has one class");
        require((target != nullptr) == kind_.targets, "a regression learns numbers, and nothing else does");
        require_below(labels, n_labels, n_probabilities(), "labels out of range");
        undo_.clear();
        for (Kept& kept : kept_) kept.save();
        const OneRow given(row, views_.empty() ? capacity() : views_.n_features());
        const std::int64_t start[2] = {0, n_labels};
        const Labels own_labels{labels, kind_.lists ? start : nullptr, target};
        const Counted counted{own_labels, &weight, nullptr, target, target ? columns() : 0};
        const Rows* const seen = views_.see(given, &counted);
        if (!seen || seen->n_columns + learner_->intercept > learner_->n_features) {
            restore();
            is_stale_ = true;  // views may know more than their arrays
            return false;
        }
        const Rows& rows = *seen;
        const Batch batch{rows, {labels, start, target}, &weight, nullptr, nullptr, 0, 1};
        double evidence[2] = {};
        Progressive progressive;
        if (precision_) progressive.evidence = evidence;
        try {
            const Inspector inspector{rows, 0.0, HUGE_VAL};
            learner_->learn(task_, rule_,
                            {prior_,
                             batch,
                             calibrate_ ? calibration_ : nullptr,
                             progressive,
                             {counters_[0], counters_[1], counters_[2], updates_},
                             independent_,
                             inspector,
                             kind_.targets ? calibration_ : nullptr,
                             calibrate_ ? conformal_ : nullptr,
                             variances_});
        } catch (const InvalidRow&) {
            restore();
            is_stale_ = true;
            throw std::overflow_error("a row takes the learner out of range");
        } catch (...) {  // memory for the log
            restore();
            is_stale_ = true;
            throw;
        }
        if (precision_) {
            RowBuffer buffer;
            add_evidence(rows.at(0, false, buffer), evidence[0], evidence[1]);
        }
        return true;
    }

    // one per column
    void scores(const Row& row, double* out) { learner_->prediction(seen(row), counters_[0], out, scratch_.data()); }

    // mean and variance of the score of a regression; `unseen`: the root of the sum of squares of features without a
    // column
    std::pair<double, double> distribution(const Row& bare, double unseen) {
        require(columns() == 1, "a row has one number");
        const Row row = seen(bare);
        double mean;
        learner_->prediction(row, counters_[0], &mean, scratch_.data());
        return {mean, learner_->variance(row, {0, kNone}) + prior_ * unseen * unseen};
    }

    // what a regression predicts by a score, except for one of counts
    double number(double score) const {
        const TargetStatistics known{calibration_};
        return known.clipped(score + known.mean());
    }

    // one per class or label, also for two classes
    void probabilities(const Row& bare, double* out) {
        const Row row = seen(bare);
        std::vector<double> s(static_cast<std::size_t>(columns()));
        learner_->prediction(row, counters_[0], s.data(), scratch_.data());
        if (kind_.one_column) {
            const double f = s[0] * moderation(learner_->variance(row, {0, kNone}), prior_);
            out[1] = answered(SigmoidCalibration::logit(calibration_, f));
            out[0] = 1.0 - out[1];
        } else if (kind_.lists) {
            for (int k = 0; k < n_probabilities(); ++k) {
                const double f = kind_.threshold
                                     ? s[std::size_t(k) + 1] - s[Multilabel::threshold]
                                     : s[std::size_t(k)] * moderation(learner_->variance(row, {k, kNone}), prior_);
                out[k] = answered(SigmoidCalibration::logit(calibration_ + k * LabelCalibration::size, f));
            }
        } else {
            moderated_softmax(row, s.data(), out);
        }
    }

    int columns() const { return learner_->columns; }
    int n_probabilities() const { return kind_.outputs(columns()); }

    // number of features the arrays have space for
    std::int64_t capacity() const {
        return views_.empty() ? learner_->n_features - learner_->intercept : views_.n_features();
    }

  private:
    // Adds a row to the normal equations of least squares (src/confidently/covariances/normal_equations.py).
    void add_evidence(const Row& row, double zeta, double target) {
        const std::int64_t n = learner_->n_features;
        for (std::int32_t i = 0; i < row.size; ++i) {
            const double z = zeta * row.value[i];
            double* const of_row = precision_ + row.column[i] * n;
            if (row.size == n)  // columns ascend, so these are all
                for (std::int64_t j = 0; j < n; ++j) of_row[j] += z * row.value[j];
            else
                for (std::int32_t j = 0; j < row.size; ++j) of_row[row.column[j]] += z * row.value[j];
            shift_[row.column[i]] += z * target;
        }
    }

    void restore() {
        undo_.roll_back();
        for (Kept& kept : kept_) kept.restore();
    }

    // What the learner sees of a row to predict, with the intercept if the weights have one.
    Row seen(const Row& row) {
        if (views_.empty()) return with_intercept(row);
        const Rows* const made = views_.see(OneRow(row, views_.n_features()), nullptr);
        if (!made || made->n_columns + learner_->intercept > learner_->n_features) throw Unmade();
        RowBuffer none;
        return made->at(0, learner_->intercept, none);
    }

    Row with_intercept(Row row) const {
        row.intercept = learner_->intercept;
        return row;
    }

    // s: the scores, which are moderated
    void moderated_softmax(const Row& row, double* s, double* out) const {
        const double shrink = moderation(top_variance(*learner_, columns(), row, s, independent_), prior_);
        for (int k = 0; k < columns(); ++k) s[k] *= shrink;
        TemperatureCalibration::probabilities(calibration_, s, columns(), out, out);
    }

    // A small array of the state, and its content before the row.
    struct Kept {
        const void* data;
        std::vector<char> before;

        Kept(const void* data, std::size_t bytes) : data(data), before(bytes) {}
        void save() { std::memcpy(before.data(), data, before.size()); }
        void restore() { std::memcpy(const_cast<void*>(data), before.data(), before.size()); }
    };

    std::unique_ptr<AnyLearner> learner_;
    UndoLog& undo_;  // of the changes of its weights
    const TaskFacts& kind_;
    AnyTask task_;
    AnyRule rule_;
    double prior_;
    bool independent_, calibrate_;
    std::int64_t *counters_, *updates_;
    double *calibration_, *conformal_, *variances_;
    std::vector<double> scratch_;
    double *precision_ = nullptr, *shift_ = nullptr;  // normal equations, where the state has them
    BoundViews views_;
    bool is_stale_ = false;
    std::vector<nb::object> owners_;
    std::vector<Kept> kept_;
};

}  // namespace confidently::python
