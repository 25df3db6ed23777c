// Conformal prediction from a stream: what a prediction says of the true class before the label is used is a
// conformity score, so the stream itself calibrates sets of classes, at any level, and shows when it cannot. No row is
// held out (docs/prediction-sets.md).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tasks/alarms.hpp"
#include "tasks/calibration.hpp"
#include "tasks/counts.hpp"

namespace confidently {

// The logarithm of the odds of a probability.
inline double log_odds(double p) {
    const double inside = std::clamp(p, kMinProbability, 1.0 - kMinAnswered);
    return std::log(inside / (1.0 - inside));
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
    // (experts x lanes) changes of the levels, then the experts' weights; the rows, or -1: levels rest
    double* state;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        std::fill_n(state + n, n, 1.0 / experts);
    }

    // p: the p-value of what was true, which is in the sets of lower levels
    CONFIDENTLY_INLINE void learn(double p) const {
        using Four = double __attribute__((vector_size(32)));
        static_assert(lanes == 4);
        constexpr auto sharp_at = [](int l) { return sharpness / (error[l] * (1.0 - error[l])); };
        constexpr Four level{error[0], error[1], error[2], error[3]}, speed{pace[0], pace[1], pace[2], pace[3]};
        constexpr Four sharp{sharp_at(0), sharp_at(1), sharp_at(2), sharp_at(3)};
        const Four left = p - level;
        for (int i = 0; i < experts; ++i) {
            Four change, weight;
            std::memcpy(&change, state + i * lanes, sizeof change);
            std::memcpy(&weight, state + n + i * lanes, sizeof weight);
            const Four above = left - change, side = above < 0.0 ? level - 1.0 : level;
            const Four factor = 1.0 - sharp * side * above;
            weight *= factor > 0.5 ? factor : Four{} + 0.5;
            change += rates[i] * speed * side;
            std::memcpy(state + i * lanes, &change, sizeof change);
            std::memcpy(state + n + i * lanes, &weight, sizeof weight);
        }
        double& rows = state[2 * n];
        if (std::int64_t(rows += 1.0) % rows_between == 0) balance();
    }

    bool rest() const { return state[2 * n] < 0.0; }
    void wake() const { state[2 * n] = std::max(state[2 * n], 0.0); }

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
    static constexpr double half = 2.0;  // of bins below 0, a third, half are above -2; twice as many, half below 4
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
        const double part = score / (half + std::max(-score, 0.5 * score));
        return static_cast<int>(within_bins(at_0 * (1.0 + part), bins));
    }
};

// What was said of a row before its label was used.
struct Said {
    double score, top;  // the log-odds of the row's class, and of the most probable one
    Expected expected;
    int label;
    bool wrong;
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

    // Learns all of a row with one class. Compiled for AVX2 whatever the learner is; what it calls for every row is
    // inlined, since a function that is not compiled for AVX2 takes long to return to one that is.
    CONFIDENTLY_ALONE void learn(const Said& said) const {
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return learn_avx2(said);
#endif
        learn_row(said);
    }

    // score: the log-odds of the row's class k, or of one of its labels; late: when it was long since predicted. Levels
    // then rest: they would follow misses that are over.
    CONFIDENTLY_INLINE void learn(double score, int k, bool late = false) const {
        const int at = ClassScores::bin(score), at_own = ClassScores::bin(relative(score, k));
        const Counts mine = own(k).counts(), together = rare().counts();
        const bool was_rare = is_rare(k);
        if (!late && !all().levels().rest()) {
            follow(all().levels(), all().counts(), at);
            if (was_rare) follow(rare().levels(), together, at_own);
            if (mine.has(enough)) follow(own(k).levels(), mine, at_own);
        }
        add(all().counts(), at);
        if (was_rare) together.add_all(mine, -1.0);
        add(mine, at_own);
        if (was_rare && is_rare(k)) together.add_all(mine, 1.0);
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
        Counts{state + at_mistakes, answer_bins}.add(at, answer_growth, wrong);
        add(best(), ClassScores::bin(score));
    }

    // The part of the rows before, and of this one, whose most probable class had a score as small.
    double conformity(double score) const { return best().p_value(ClassScores::bin(score)); }

    // Levels that rest follow misses from the first alarm on.
    CONFIDENTLY_INLINE void expect(const Expected& expected) const {
        if (surprise().learn(expected)) all().levels().wake();
    }

  private:
    CONFIDENTLY_INLINE void learn_row(const Said& said) const {
        expect(said.expected);
        learn(said.score, said.label);
        answer(said.top, said.wrong);
    }
#if CONFIDENTLY_X86
    CONFIDENTLY_AVX2 __attribute__((flatten, noinline)) void learn_avx2(const Said& said) const { learn_row(said); }
#endif

    ClassScores rare() const { return {state + at_rare}; }
    Counts best() const { return {state + at_best, ClassScores::bins}; }
    bool is_rare(int k) const { return !own(k).counts().has(rare_rows); }

    static void follow(const Levels& levels, const Counts& counts, int bin) {
        if (counts.has(followed_rows)) levels.learn(counts.p_value(bin));
    }
    static void add(const Counts& counts, int bin) { counts.add(bin, growth(counts.seen() + 1.0)); }
};

// One label of a row with several, drawn before it is known which are relevant, uncertain ones more often.
struct DrawnLabel {
    const ConformalSets sets;
    double total = 0.0, p = 1.0;
    int labels = 0;

    // p: the probability of what is true of the label
    void see(double of_truth) {
        const double chance = of_truth * (1.0 - of_truth);
        total += chance;
        if (sets.surprise().draw(labels++) * total < chance) p = of_truth;
    }
    void learn() const {
        if (labels > 0) sets.expect(Expected::of_two(p));
    }
};

}  // namespace confidently
