// All columns of weights at once, for tasks that move every class: a covariance that serves them has
//   score_columns(row, columns)                            the scores of all columns and their variances
//   update_columns(row, columns, alpha, zeta, age) -> double
//                                                          moves column k by alpha_k Sigma_k x and adds zeta_k x x' to
//                                                          its precision; returns the largest absolute weight written
// where columns is its type Columns: ColumnScores, or a struct derived from it with what update_columns() needs. The
// weights of different columns must be independent; they may share one covariance.
#pragma once

#include <vector>

#include "rows.hpp"

namespace confidently {

struct ColumnScores {
    std::vector<double> mean, variance;
};

template <class Covariance>
concept MovesColumns = requires(const Covariance& covariance, const Row& row, typename Covariance::Columns& columns,
                                const std::vector<double>& step) {
    covariance.score_columns(row, columns);
    covariance.update_columns(row, columns, step, step, 0.0);
};

}  // namespace confidently
