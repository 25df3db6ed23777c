// Predictions by weights of which only some are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "covariances/sparse.hpp"
#include "learner/predict.hpp"

namespace confidently {

// Calls f(i, row) with every row, which was checked.
template <class F>
void each_checked_row(const Inspector& inspector, bool intercept, F&& f) {
    RowBuffer buffer;
    for (std::int64_t i = 0; i < inspector.rows.n_rows; ++i) {
        inspector.check(i);
        f(i, inspector.rows.at(i, intercept, buffer));
    }
}

template <class Real>
void predict_scores(const SparseWeights<Real>& weights, const Inspector& inspector, std::int64_t n_seen, double* out) {
    std::vector<double> scratch(static_cast<std::size_t>(weights.columns));
    each_checked_row(inspector, weights.intercept, [&](std::int64_t i, const Row& row) {
        weights.prediction(row, n_seen, out + i * weights.columns, scratch.data());
    });
}

template <class Real>
void predict_best(const SparseWeights<Real>& weights, const Inspector& inspector, std::int64_t n_seen,
                  std::int32_t* out) {
    const bool averaged = weights.drift && n_seen > 0;  // whose scores are sums of two for every column
    std::vector<double> scores(averaged ? 2 * static_cast<std::size_t>(weights.columns) : 0);
    Gathered gathered;
    each_checked_row(inspector, weights.intercept, [&](std::int64_t i, const Row& row) {
        if (averaged) {
            weights.prediction(row, n_seen, scores.data(), scores.data() + weights.columns);
            out[i] = TopTwo(scores.data(), weights.columns).first;
        } else {
            weights.gather(row, gathered);
            out[i] = gathered.best_two().first.column;
        }
    });
}

template <class Real>
void predict_moderated(const SparseCovariance<Real>& covariance, const Inspector& inspector, std::int64_t n_seen,
                       double prior_variance, bool several, bool independent, double* plain, double* out) {
    const std::int64_t columns = covariance.weights.columns;
    std::vector<double> scratch(static_cast<std::size_t>(columns));
    each_checked_row(inspector, covariance.weights.intercept, [&](std::int64_t i, const Row& row) {
        double *scores = plain + i * columns, *moderated = out + i * columns;
        covariance.weights.prediction(row, n_seen, scores, scratch.data());
        const double variance = several ? top_variance(covariance, int(columns), row, scores, independent)
                                        : covariance.variance(row, {0, kNone});
        const double shrink = moderation(variance, prior_variance);
        for (std::int64_t k = 0; k < columns; ++k) moderated[k] = scores[k] * shrink;
    });
}

}  // namespace confidently
