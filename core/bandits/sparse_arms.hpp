// Linear models of many arms with diagonal covariances, of which only the weights that have been learned are stored:
// for every feature a list of the arms that met it. A decision visits the lists of its features only, so its time does
// not depend on the number of arms times the number of features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace confidently {

struct SparseArms {
    struct Score {
        double mean = 0.0, variance = 0.0;
    };

    const std::int64_t* start;  // where each feature's list starts
    std::int32_t* size;         // and how many arms it has
    std::int32_t* arm;
    double* weights;  // mean and variance of each entry
    double prior_variance, least_variance;

    // Mean and variance of the score of every arm for one row.
    void score(std::span<const std::int32_t> columns, const double* x, std::int64_t n_arms, double* mean,
               double* variance) const {
        double prior = 0.0;
        for (std::size_t i = 0; i < columns.size(); ++i) prior += x[i] * x[i] * prior_variance;
        std::fill_n(mean, n_arms, 0.0);
        std::fill_n(variance, n_arms, prior);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::int64_t from = start[columns[i]];
            const double square = x[i] * x[i];
            for (std::int64_t at = from; at < from + size[columns[i]]; ++at) {
                mean[arm[at]] += x[i] * weights[2 * at];
                variance[arm[at]] += square * (weights[2 * at + 1] - prior_variance);
            }
        }
        const double least = least_variance / prior_variance * prior;  // where all digits cancelled
        for (std::int64_t a = 0; a < n_arms; ++a) variance[a] = std::max(variance[a], least);
    }

    // Mean and variance of the score of one arm.
    Score score_one(std::int32_t one, std::span<const std::int32_t> columns, const double* x) const {
        Score score;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::int64_t at = entry(columns[i], one);
            score.mean += at < 0 ? 0.0 : x[i] * weights[2 * at];
            score.variance += x[i] * x[i] * (at < 0 ? prior_variance : weights[2 * at + 1]);
        }
        return score;
    }

    // Moves one arm by alpha along the row and adds zeta to its precision along it, of which the diagonal is kept, or
    // with moments the diagonal of its covariance (covariances/diagonal.hpp). Every list has room for one more arm.
    void update(std::int32_t one, std::span<const std::int32_t> columns, const double* x, double alpha, double zeta,
                bool moments) {
        const double along = moments ? score_one(one, columns, x).variance : 0.0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::int32_t column = columns[i];
            std::int64_t at = entry(column, one);
            if (at < 0) {
                at = start[column] + size[column]++;
                arm[at] = one;
                weights[2 * at] = 0.0;
                weights[2 * at + 1] = prior_variance;
            }
            double& variance = weights[2 * at + 1];
            const double own = x[i] * x[i] * variance;
            const double gain = moments ? zeta / (1.0 + zeta * std::max(along - own, 0.0)) : zeta;
            weights[2 * at] += alpha * variance * x[i];
            variance = std::max(variance / (1.0 + gain * own), least_variance);
        }
    }

  private:
    std::int64_t entry(std::int32_t column, std::int32_t one) const {
        const std::int32_t* first = arm + start[column];
        const std::int32_t* last = first + size[column];
        const std::int32_t* found = std::find(first, last, one);
        return found == last ? -1 : found - arm;
    }
};

}  // namespace confidently
