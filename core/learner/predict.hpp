// Predictions, which leave the learner unchanged: scores and their variances.
#pragma once

#include <algorithm>
#include <vector>

#include "covariances/pair_scores_avx2.hpp"
#include "learner/learn.hpp"
#include "tasks/task.hpp"
#include "rows.hpp"

namespace confidently {

// Rows whose scores are computed together. Those of a row do not depend on the others.
inline constexpr std::int64_t kRowsTogether = 4;

// Weights of this size stay in the second level of the cache. Training has a larger bound, since it waits for more than
// memory.
inline constexpr std::int64_t kNearScoredBytes = 1 << 20;

// Calls f(first, n, rows) with at most four rows at a time, which were checked. If the weights do not stay in the
// cache, those of the next four rows are asked for. keep_zeros: whether dense rows with few zeros keep them, which
// changes no sum that is taken in the order of the columns, but those in lanes.
template <class Real, class F>
void each_four_rows(const Inspector& inspector, const Weights<Real>& weights, bool keep_zeros, F&& f) {
    RowBuffer buffer[kRowsTogether];
    const Rows& rows = inspector.rows;
    const bool intercept = weights.intercept, far = weights.bytes() > kNearScoredBytes;
    for (std::int64_t first = 0; first < rows.n_rows; first += kRowsTogether) {
        const std::int64_t n = std::min(kRowsTogether, rows.n_rows - first);
        Row row[kRowsTogether] = {};
        bool full = false;  // hardly any value of the first row is zero
        rows.expect_after(first, first + n);
        if (far)
            for (std::int64_t i = first + n; i < std::min(first + 2 * n, rows.n_rows); ++i)
                weights.expect(rows.columns(i));
        if (inspector.largest != 0.0 && !rows.valid(first, first + n, inspector.largest))
            for (std::int64_t r = 0; r < n; ++r) inspector.check(first + r);
        for (std::int64_t r = 0; r < n; ++r) {
            row[r] = full ? rows.with_zeros(first + r, intercept, buffer[0]) : rows.at(first + r, intercept, buffer[r]);
            if (r == 0 && n == kRowsTogether && keep_zeros && rows.stores_zeros() && 2 * row[0].size > rows.n_columns) {
                full = true;
                row[0] = rows.with_zeros(first, intercept, buffer[0]);
            }
        }
        f(first, n, row);
    }
}

// (n x columns) scores of up to four rows
template <class Real>
void score_rows(const Weights<Real>& weights, const Row* rows, std::int64_t n, std::int64_t n_seen, double* out,
                double* scratch) {
    if (n == kRowsTogether && weights.columns == 1 && !weights.average) return weights.scores_of_four(rows, out);
    const auto alike = [&](const Row& row) { return row.column == rows[0].column && row.size == rows[0].size; };
    if (n == kRowsTogether && !weights.average && std::all_of(rows + 1, rows + n, alike))
        return weights.scores_of_alike(rows, out);
    for (std::int64_t r = 0; r < n; ++r) weights.prediction(rows[r], n_seen, out + r * weights.columns, scratch);
}

// (rows x columns) scores of the weights used for prediction, of rows that are checked. Throws InvalidRow.
template <class Real>
void predict_scores(const Weights<Real>& weights, const Inspector& inspector, std::int64_t n_seen, double* out) {
    std::vector<double> scratch(static_cast<std::size_t>(weights.columns));
    each_four_rows(inspector, weights, true, [&](std::int64_t first, std::int64_t n, const Row* rows) {
        score_rows(weights, rows, n, n_seen, out + first * weights.columns, scratch.data());
    });
}

// The variance of the difference between a row's two best scores; variances of independent learners add up.
template <class Covariance>
double top_variance(const Covariance& covariance, int columns, const Row& row, const double* scores, bool independent) {
    const TopTwo top(scores, columns);
    return independent ? covariance.variance(row, {top.first, kNone}) + covariance.variance(row, {top.second, kNone})
                       : covariance.variance(row, {top.first, top.second});
}

// Moderates the scores of four rows, by the variance of the difference between the two best of each.
template <class Covariance>
void moderate_four(const Covariance& covariance, const Row* rows, double prior_variance, double* scores) {
    const int columns = covariance.weights.columns;
    Pair pairs[kRowsTogether];
    double variances[kRowsTogether];
    for (std::int64_t r = 0; r < kRowsTogether; ++r) {
        const TopTwo top(scores + r * columns, columns);
        pairs[r] = {top.first, top.second};
    }
    covariance.variances_of_four(rows, pairs, variances);
    for (std::int64_t r = 0; r < kRowsTogether; ++r) {
        const double shrink = moderation(variances[r], prior_variance);
        for (int k = 0; k < columns; ++k) scores[r * columns + k] *= shrink;
    }
}

#if CONFIDENTLY_X86
// Scores four rows in the one column of pairs, and moderates the scores.
inline void moderate_pairs(const Weights<double>& weights, const Row* rows, double prior_variance, double* scores,
                           double* moderated) {
    const PairScores pairs(weights);
    double variances[kRowsTogether];
    for (std::int64_t r = 0; r < kRowsTogether; r += 2) pairs.of_two(rows + r, scores + r, variances + r);
    for (std::int64_t r = 0; r < kRowsTogether; ++r)
        moderated[r] = scores[r] * moderation(variances[r], prior_variance);
}
#endif

// The same, and moderated by the variance of each score or, of several classes, by that of the difference between the
// two best.
template <class Covariance>
void predict_moderated(const Covariance& covariance, const Inspector& inspector, std::int64_t n_seen,
                       double prior_variance, bool several, bool independent, double* plain, double* out) {
    const auto& weights = covariance.weights;
    const int columns = weights.columns;
    std::vector<double> scratch(static_cast<std::size_t>(columns));
    // the one column of two classes has its variances in lanes
    each_four_rows(inspector, weights, !Covariance::one_column,
                   [&](std::int64_t first, std::int64_t n, const Row* rows) {
        double* scores = out + first * columns;
#if CONFIDENTLY_X86
        if constexpr (requires { Covariance::avx2; })
            if (n == kRowsTogether) return moderate_pairs(weights, rows, prior_variance, plain + first, scores);
#endif
        score_rows(weights, rows, n, n_seen, plain + first * columns, scratch.data());
        std::copy_n(plain + first * columns, n * columns, scores);
        if constexpr (requires { &Covariance::variances_of_four; }) {
            if (n == kRowsTogether && several && !independent)
                return moderate_four(covariance, rows, prior_variance, scores);
        }
        for (std::int64_t r = 0; r < n; ++r, scores += columns) {
            if (several) {
                const double shrink =
                    moderation(top_variance(covariance, columns, rows[r], scores, independent), prior_variance);
                for (int k = 0; k < columns; ++k) scores[k] *= shrink;
            } else {
                for (int k = 0; k < columns; ++k)
                    scores[k] *= moderation(covariance.variance(rows[r], {k, kNone}), prior_variance);
            }
        }
    });
}

}  // namespace confidently
