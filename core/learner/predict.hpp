// Predictions, which leave the learner unchanged: scores and their variances.
#pragma once

#include <vector>

#include "learner/tasks.hpp"
#include "rows.hpp"

namespace confidently {

// (rows x columns) scores of the weights used for prediction
template <class Covariance>
void predict_scores(const Covariance& covariance, const Rows& rows, std::int64_t n_seen, double* out) {
    RowBuffer buffer;
    const int columns = covariance.weights.columns;
    std::vector<double> scratch(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
        covariance.weights.prediction(rows.at(i, covariance.weights.intercept, buffer), n_seen, out + i * columns,
                                      scratch.data());
}

// (rows x columns) variances of the scores; against >= 0: of the score minus that column's score
template <class Covariance>
void predict_variances(const Covariance& covariance, const Rows& rows, int against, double* out) {
    RowBuffer buffer;
    const int columns = covariance.weights.columns;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const Row row = rows.at(i, covariance.weights.intercept, buffer);
        for (int k = 0; k < columns; ++k)
            out[i * columns + k] = k == against ? 0.0 : covariance.variance(row, {k, against});
    }
}

// For each row the variance of the difference between its two best scores; variances of independent learners add up.
template <class Covariance>
void predict_top_variances(const Covariance& covariance, const Rows& rows, const double* scores, bool independent,
                           double* out) {
    RowBuffer buffer;
    const int columns = covariance.weights.columns;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const Row row = rows.at(i, covariance.weights.intercept, buffer);
        const TopTwo top(scores + i * columns, columns);
        out[i] = independent ? covariance.variance(row, {top.first, kNone}) + covariance.variance(row, {top.second, kNone})
                             : covariance.variance(row, {top.first, top.second});
    }
}

}  // namespace confidently
