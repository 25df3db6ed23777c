// One of several classes, learned jointly.
#pragma once

#include <algorithm>
#include <vector>

#include "covariances/gathered.hpp"
#include "tasks/task.hpp"

namespace confidently {

// A covariance that finds the columns with a weight on a row's features, all others of which score 0.
template <class Covariance>
concept GathersColumns = requires(const Covariance& covariance, const Row& row, Gathered& gathered) {
    covariance.weights.gather(row, gathered);
};

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
        calibrate(e, *e.label, OneEach{static_cast<int>(scores.size())}, variance);
    }

    // What the probabilities expect of a class, of those that were computed from `scratch`. Classes below all knots
    // count as equally probable, since some of them may have been added up.
    template <class Classes>
    Expected expected(int truth, Classes classes) const {
        const double p = probabilities[truth];
        const bool is_below = scratch[truth] < TemperatureCalibration::first_knot;
        double all = 0.0, at_least = 0.0, as_probable = 0.0;
        for (int k = 0; k < classes.n; ++k) {
            const double of_these = classes.of(k) * probabilities[k];
            const bool same = probabilities[k] == p || (is_below && scratch[k] < TemperatureCalibration::first_knot);
            all += of_these;
            at_least += same || probabilities[k] > p ? of_these : 0.0;
            as_probable += same ? of_these : 0.0;
        }
        const double added_up = is_below ? std::max(1.0 - all, 0.0) : 0.0;
        return Expected::of(p, at_least + added_up, as_probable + added_up);
    }

    // The same with moderated scores. truth: the number of the score of the row's class
    template <class Classes>
    void calibrate(const Example& e, int truth, Classes classes, double variance) {
        scratch.resize(scores.size()), probabilities.resize(scores.size());
        const TemperatureCalibration calibration{e.calibration};
        const double p =
            e.logits ? calibration.learn_line(scores.data(), classes.n, truth, e.weight, e.logits, probabilities.data())
                     : calibration.learn(scores.data(), classes, truth, e.weight, scratch.data(), probabilities.data());
        e.add_loss(p);
        e.count_variance(variance);
        if (!e.conformal) return;
        const double top = *std::max_element(probabilities.begin(), probabilities.end());
        const double score = log_odds(p);
        if (e.score) *e.score = score;
        ConformalSets{e.conformal}.learn({score, log_odds(top), expected(truth, classes), *e.label, p < top});
    }
};

// The true class against the best-scoring other one.
struct Joint : Multiclass {
    static constexpr TaskFacts facts{.name = "joint", .calibration = TemperatureCalibration::size, .several = true};

    template <class Covariance, class Update>
    bool learn(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        if constexpr (GathersColumns<Covariance>)
            return learn_gathered(covariance, e, prior_variance, update);
        else
            return learn_scored(covariance, e, prior_variance, update);
    }

  private:
    template <class Covariance, class Update>
    bool learn_scored(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const TopTwo top = score(covariance, e.row);
        const int truth = *e.label, rival = top.first == truth ? top.second : top.first;
        const double variance_if_wrong =
            e.calibration && top.first != truth ? covariance.variance(e.row, {top.first, top.second}) : 0.0;
        const auto margin = update(Pair{truth, rival});
        if (e.calibration) calibrate(e, top.first == truth ? margin.variance : variance_if_wrong, prior_variance);
        return scores[truth] <= scores[rival];
    }

    // The same, without a visit to columns that score 0: their probabilities are equal, and are counted together.
    template <class Covariance, class Update>
    bool learn_gathered(const Covariance& covariance, const Example& e, double prior_variance, Update&& update) {
        const int truth = *e.label;
        covariance.weights.gather(e.row, gathered_);
        gathered_.meet(truth);
        const BestTwo best = gathered_.best_two();
        const int first = best.first.column, second = best.second.column, rival = first == truth ? second : first;
        const double variance_if_wrong =
            e.calibration && first != truth ? covariance.variance(e.row, {first, second}) : 0.0;
        const auto margin = update(Pair{truth, rival});
        const bool mistake = gathered_.score(truth) <= gathered_.score(rival);
        if (e.calibration)
            calibrate_gathered(e, best.first.score, first == truth ? margin.variance : variance_if_wrong,
                               prior_variance);
        return mistake;
    }

    // Leaves out the classes that were met and do not change the sum of the exponentials, and adds up those below all
    // knots, except the row's own: most of some thousand.
    void calibrate_gathered(const Example& e, double top, double variance, double prior_variance) {
        const int others = gathered_.others(), met = gathered_.all() - others;
        const double shrink = moderation(variance, prior_variance);
        const TemperatureCalibration calibration{e.calibration};
        const double least = top - calibration.reach(met) / shrink;
        Gathered::Within within = gathered_.within(least, *e.label, scores);
        const int left_out = met - within.n;
        Below below = calibration.take_below(scores, shrink, shrink * top, within.place);
        below.n += left_out;
        below.t += *e.calibration * shrink * (within.left_out - left_out * top);
        if (others > 0) scores.push_back(0.0);
        const LastOfSeveral classes{static_cast<int>(scores.size()), others > 0 ? double(others) : 1.0, below};
        calibrate(e, within.place, classes, variance);
    }

    Gathered gathered_;
};

}  // namespace confidently
