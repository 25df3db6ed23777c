// Conformal prediction from a stream: what a prediction says of the true class before the label is used is a
// conformity score, so the stream itself calibrates sets of classes, at any level, and shows when it cannot. No row is
// held out (docs/prediction-sets.md).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "tasks/calibration.hpp"
#include "tasks/counts.hpp"

namespace confidently {

// The logarithm of the odds of a probability.
inline double log_odds(double p) {
    const double inside = std::clamp(p, kMinProbability, 1.0 - kMinAnswered);
    return std::log(inside / (1.0 - inside));
}

// f(expert, lane) of all experts and lanes.
template <int experts, int lanes, class F>
constexpr std::array<double, experts * lanes> each(F f) {
    std::array<double, experts * lanes> found{};
    for (int j = 0; j < experts * lanes; ++j) found[j] = f(j / lanes, j % lanes);
    return found;
}

// What must be changed of the level of error that is asked for, so that sets cover what they should. Learners follow
// the level at their own rates (adaptive conformal inference: Gibbs & Candes 2021); their mean, by how well each has
// predicted of late, needs no rate (Gibbs & Candes 2024). For several levels at once, which are lanes of the loops.
struct Levels {
    static constexpr std::array<double, 4> error{0.2, 0.1, 0.05, 0.01}, pace{0.56, 1.0, 0.5, 0.1};
    static constexpr std::array<double, 4> rates{0.001, 0.003, 0.01, 0.03};  // times the pace of the level
    static constexpr int lanes = error.size(), experts = rates.size(), n = experts * lanes, size = 2 * n + 1;
    static constexpr int rows_between = 32;        // after which weights are balanced
    static constexpr double redistributed = 0.03;  // part of the weights that is then divided equally
    static constexpr double sharpness = 0.24;      // of the weights, for losses relative to error (1 - error)
    // (experts x lanes) changes of the levels, then the experts' weights; the rows
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        std::fill_n(state + n, n, 1.0 / experts);
    }

    // p: the p-value of what was true, which is in the sets of lower levels
    void learn(double p) const {
        static constexpr auto errors = each<experts, lanes>([](int, int l) { return error[l]; });
        static constexpr auto sharp =
            each<experts, lanes>([](int, int l) { return sharpness / (error[l] * (1.0 - error[l])); });
        static constexpr auto rate = each<experts, lanes>([](int i, int l) { return rates[i] * pace[l]; });
        double *change = state, *weight = state + n;
        for (int j = 0; j < n; ++j) {  // without branches, so that compilers make vectors of it
            const double above = p - errors[j] - change[j], missed = 0.5 - std::copysign(0.5, above);
            const double side = errors[j] - missed;
            const double factor = 1.0 - sharp[j] * side * above;  // at least 1/2
            weight[j] *= 0.5 * (factor + 0.5 + std::fabs(factor - 0.5));
            change[j] += rate[j] * side;
        }
        double& rows = state[2 * n];
        if (std::int64_t(rows += 1.0) % rows_between == 0) balance();
    }

  private:
    void balance() const {
        for (int l = 0; l < lanes; ++l) {
            double total = 0.0;
            for (int i = 0; i < experts; ++i) total += state[n + i * lanes + l];
            for (int i = 0; i < experts; ++i) {
                double& weight = state[n + i * lanes + l];
                weight = (1.0 - redistributed) * weight / total + redistributed / experts;
            }
        }
    }
};

// Tests whether rows could have come in any other order: their p-values would be uniform, or larger while the learner
// improves. Bets that they are small, which begin after every 32 rows, reach 1/level with a probability of at most
// `level`, ever (Shiryaev & Roberts; Vovk, Gammerman & Shafer 2022, chapter 8). Then they begin anew.
struct Martingale {
    static constexpr std::array<double, 2> powers{0.3, 0.7};  // a bet multiplies by c p^(c - 1)
    static constexpr int size = 4 + powers.size(), rows_between = 32;
    static constexpr double level = 0.01;
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        state[3] = 1.0;
    }

    double& rows() const { return state[0]; }     // since it began
    double& alarms() const { return state[1]; }   // so far
    double& quiet() const { return state[2]; }    // rows since the last alarm, or the first row
    double& product() const { return state[3]; }  // of the p-values of which bets are still to be settled
    double& capital(int i) const { return state[4 + i]; }

    void learn(double p) const {
        quiet() += 1.0;
        product() *= p;
        if (std::int64_t(rows() += 1.0) % rows_between == 0) settle();
    }

  private:
    void settle() const {
        const double turn = rows() / rows_between, begun = 1.0 / (turn * (turn + 1.0)), log_p = std::log(product());
        product() = 1.0;
        double sum = 0.0;
        for (std::size_t i = 0; i < powers.size(); ++i)
            sum += capital(i) =
                (capital(i) + begun) * std::exp((powers[i] - 1.0) * log_p + rows_between * std::log(powers[i]));
        if (sum * level < powers.size()) return;
        alarms() += 1.0;
        rows() = quiet() = 0.0;
        for (std::size_t i = 0; i < powers.size(); ++i) capital(i) = 0.0;
    }
};

// Sets of classes, or of labels. The score of a class is the logarithm of its odds. Its p-value is the part of the rows
// before, of any class or of this one, whose class had a smaller score; a set has all classes whose p-value exceeds the
// level of error, as changed by Levels. state: for rows of any class the levels, the scores and the martingale, how
// sure answers were and how many of these were wrong, the scores of the most probable classes; then the levels and the
// scores by class.
struct ConformalSets {
    static constexpr int bins = 96, counts = Counts::size(bins);
    static constexpr double least = -10.0, width = 0.25;  // bins of scores
    static constexpr double answer_width = 0.125;         // bins of the scores of answers, from 0
    static constexpr double answer_growth = 1.0001;       // of what a row adds to answers, which count for longer
    static constexpr double sure = 3.0;  // above, scores say nothing about changes: they wander where all rows are easy
    static constexpr double borrowed = 20.0, enough = 100.0;  // rows of any class count so much among those of one, or
                                                              // more where it has fewer than `enough`
    static constexpr int at_scores = Levels::size, at_martingale = at_scores + counts,
                         at_answers = at_martingale + Martingale::size, at_mistakes = at_answers + counts,
                         at_best = at_mistakes + counts, at_own_levels = at_best + counts,
                         at_classes = at_own_levels + Levels::size;
    double* state;

    static constexpr int size(int classes) { return at_classes + classes * counts; }

    static void begin(double* state, int classes) {
        std::fill_n(state, size(classes), 0.0);
        Levels::begin(state);
        Levels::begin(state + at_own_levels);
        Martingale::begin(state + at_martingale);
        for (const int at : {at_scores, at_answers, at_mistakes, at_best}) state[at] = 1.0;
        for (int k = 0; k < classes; ++k) state[at_classes + k * counts] = 1.0;
    }

    // The p-values of class k: among rows of any class, and of its own.
    std::pair<double, double> p_values(double score, int k) const { return p_values_at(place(score, least, width), k); }

    // score: of the row's class k, or of one of its labels; late: when it was long since predicted. Levels are then at
    // rest: they would follow misses that are over.
    void learn(double score, int k, bool late = false) const {
        const double z = place(score, least, width);
        const auto [of_all, of_own] = p_values_at(z, k);
        if (!late) {
            Levels{state}.learn(of_all);
            Levels{state + at_own_levels}.learn(of_own);
        }
        Martingale{state + at_martingale}.learn(score < sure ? of_all : 1.0);
        for (const Counts& one : {all(), own(k)}) one.add(static_cast<int>(z), growth(one.seen() + 1.0));
    }

    // score: of the most probable class
    void answer(double score, bool wrong) const {
        const int at = static_cast<int>(place(score, 0.0, answer_width));
        Counts{state + at_answers, bins}.add(at, answer_growth);
        const Counts mistakes{state + at_mistakes, bins};
        wrong ? mistakes.add(at, answer_growth) : mistakes.age(answer_growth);
        const Counts of_best = best();
        of_best.add(static_cast<int>(place(score, least, width)), growth(of_best.seen() + 1.0));
    }

    // The part of the rows before, and of this one, whose most probable class had a smaller score.
    double conformity(double score) const {
        return (best().below(place(score, least, width)) + 1.0) / (best().rows() + 1.0);
    }

  private:
    Counts all() const { return {state + at_scores, bins}; }
    Counts best() const { return {state + at_best, bins}; }
    Counts own(int k) const { return {state + at_classes + k * counts, bins}; }

    std::pair<double, double> p_values_at(double z, int k) const {
        const double below = all().below(z), rows = all().rows();
        const double lent = std::min(std::max(enough - own(k).rows(), borrowed), rows);
        const double among = rows > 0.0 ? lent * below / rows : 0.0;
        return {(below + 1.0) / (rows + 1.0), (own(k).below(z) + among + 1.0) / (own(k).rows() + lent + 1.0)};
    }

    static double place(double score, double first, double step) { return within_bins((score - first) / step, bins); }
};

}  // namespace confidently
