// Conformal prediction from a stream: what a prediction says of the true class before the label is used is a
// conformity score, so the stream itself calibrates sets of classes, at any level, and shows when it cannot. No row is
// held out (docs/prediction-sets.md).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "tasks/alarms.hpp"
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

// What is known of the scores of a class, or of several: the levels, and the scores of their rows.
struct ClassScores {
    static constexpr int bins = 192, counts_size = Counts::size(bins), size = Levels::size + counts_size;
    static constexpr double half = 4.0;  // of bins below 0, a third, half are above -4; twice as many, half below 8
    double* state;

    static void begin(double* state) {
        Levels::begin(state);
        Counts::begin(state + Levels::size, bins);
    }

    Levels levels() const { return {state}; }
    Counts counts() const { return {state + Levels::size, bins}; }

    // Bins are narrow around 0, and wide for scores of which there are few.
    static int bin(double score) {
        constexpr double at_0 = bins / 3;
        const double part = score < 0.0 ? score / (half - score) : 2.0 * score / (2.0 * half + score);
        return static_cast<int>(within_bins(at_0 * (1.0 + part), bins));
    }
};

// Sets of classes, or of labels. The p-value of a class is the part of the rows before with a score as small; a set has
// all classes whose p-value exceeds the level of error, as changed by Levels. Compared are rows of any class, by the
// log-odds of theirs; or rows of the class, by log-odds less those of its share of the rows so far, which do not fall
// while a learner learns how rare a class is. Classes of which too few rows count for a level are compared together:
// nothing is lent by others. state: of rows of any class the scores, the alarms, how sure answers were and how many of
// these were wrong, and the scores of the most probable classes; then the scores of rare classes together, and by
// class.
struct ConformalSets {
    static constexpr double enough = 30.0;  // rows of a class that count, or more where a level needs more
    static constexpr double followed_rows = 1.0 / Levels::error[2] - 1.0;  // from which on misses are possible
    static constexpr double rare_rows =
        1.0 / Levels::error.back() - 1.0;  // below which a class is too rare for a level
    static constexpr int answer_bins = 96, of_answers = Counts::size(answer_bins);
    static constexpr double answer_width = 0.125;    // bins of the scores of answers, from 0
    static constexpr double answer_growth = 1.0001;  // of what a row adds to answers, which count for longer
    static constexpr int at_alarms = ClassScores::size, at_answers = at_alarms + Surprise::size,
                         at_mistakes = at_answers + of_answers, at_best = at_mistakes + of_answers,
                         at_rare = at_best + ClassScores::counts_size, at_classes = at_rare + ClassScores::size;
    double* state;

    static constexpr int size(int classes) { return at_classes + classes * ClassScores::size; }

    static void begin(double* state, int classes) {
        std::fill_n(state, at_classes, 0.0);
        for (double* one : {state, state + at_rare}) ClassScores::begin(one);
        Surprise::begin(state + at_alarms);
        for (const int at : {at_answers, at_mistakes, at_best}) state[at] = 1.0;
        for (int k = 0; k < classes; ++k) ClassScores::begin(state + at_classes + k * ClassScores::size);
    }

    Surprise surprise() const { return {state + at_alarms}; }

    // The log-odds of a class less those of its share of the rows so far.
    double relative(double score, int k) const { return score - share_odds(k); }
    double share_odds(int k) const {
        const double rows = own(k).counts().seen();
        return std::log((rows + 0.5) / (all().counts().seen() - rows + 0.5));
    }

    ClassScores all() const { return {state}; }
    ClassScores own(int k) const { return {state + at_classes + k * ClassScores::size}; }

    // score: the log-odds of the row's class k, or of one of its labels; late: when it was long since predicted. Levels
    // are then at rest: they would follow misses that are over.
    void learn(double score, int k, bool late = false) const {
        const int at = ClassScores::bin(score), at_own = ClassScores::bin(relative(score, k));
        const Counts mine = own(k).counts(), together = rare().counts();
        if (!late) {
            follow(all().levels(), all().counts(), at);
            if (is_rare(k)) follow(rare().levels(), together, at_own);
            if (mine.has(enough)) follow(own(k).levels(), mine, at_own);
        }
        add(all().counts(), at);
        if (is_rare(k)) together.add_all(mine, -1.0);
        add(mine, at_own);
        if (is_rare(k)) together.add_all(mine, 1.0);
    }

    // Makes `together` the scores of all classes of which fewer rows count than so many.
    void gather(int classes, double rows, const Counts& together) const {
        Counts::begin(together.state, ClassScores::bins);
        for (int k = 0; k < classes; ++k)
            if (!own(k).counts().has(rows)) together.add_all(own(k).counts(), 1.0);
    }
    void gather_rare(int classes) const { gather(classes, rare_rows, rare().counts()); }

    // score: of the most probable class
    void answer(double score, bool wrong) const {
        const int at = static_cast<int>(within_bins(score / answer_width, answer_bins));
        Counts{state + at_answers, answer_bins}.add(at, answer_growth);
        const Counts mistakes{state + at_mistakes, answer_bins};
        wrong ? mistakes.add(at, answer_growth) : mistakes.age(answer_growth);
        add(best(), ClassScores::bin(score));
    }

    // The part of the rows before, and of this one, whose most probable class had a score as small.
    double conformity(double score) const { return best().p_value(ClassScores::bin(score)); }

  private:
    ClassScores rare() const { return {state + at_rare}; }
    Counts best() const { return {state + at_best, ClassScores::bins}; }
    bool is_rare(int k) const { return !own(k).counts().has(rare_rows); }

    static void follow(const Levels& levels, const Counts& counts, int bin) {
        if (counts.has(followed_rows)) levels.learn(counts.p_value(bin));
    }
    static void add(const Counts& counts, int bin) { counts.add(bin, growth(counts.seen() + 1.0)); }
};

}  // namespace confidently
