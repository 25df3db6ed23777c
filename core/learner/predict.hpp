// What is read off a learner without changing it: scores, their variances, moderated scores.
#pragma once

#include <vector>

#include "rows.hpp"
#include "learner/tasks.hpp"

namespace confidently {

// (rows x columns) scores of the predicting weights
template <class Geometry>
void predict_scores(const Geometry& geometry, const Rows& rows, std::int64_t n_seen, double* out) {
    RowBuffer buffer;
    const int columns = geometry.weights.columns;
    std::vector<double> scratch(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
        geometry.weights.prediction(rows.at(i, geometry.weights.intercept, buffer), n_seen, out + i * columns,
                                    scratch.data());
}

// (rows x columns) variances of the scores; against >= 0: of the score minus that column's score
template <class Geometry>
void predict_variances(const Geometry& geometry, const Rows& rows, int against, double* out) {
    RowBuffer buffer;
    const int columns = geometry.weights.columns;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const Row row = rows.at(i, geometry.weights.intercept, buffer);
        for (int k = 0; k < columns; ++k)
            out[i * columns + k] = k == against ? 0.0 : geometry.variance(row, {k, against});
    }
}

// For each row the variance of the difference between its two best scores; independent learners' variances add up.
template <class Geometry>
void predict_top_variances(const Geometry& geometry, const Rows& rows, const double* scores, bool independent,
                           double* out) {
    RowBuffer buffer;
    const int columns = geometry.weights.columns;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const Row row = rows.at(i, geometry.weights.intercept, buffer);
        const TopTwo top(scores + i * columns, columns);
        out[i] = independent ? geometry.variance(row, {top.first, kNone}) + geometry.variance(row, {top.second, kNone})
                             : geometry.variance(row, {top.first, top.second});
    }
}

}  // namespace confidently
