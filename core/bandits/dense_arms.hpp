// Linear models of many arms, each with a full covariance, for rows so short that a product of a matrix and a row is
// faster than everything that a learner does around it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "covariances/dense.hpp"
#include "covariances/settings.hpp"
#include "rules/table.hpp"

namespace confidently {

// Mean and variance of an arm's score for a row, given its entries: of the n weights, and of their covariances.
inline std::pair<double, double> dense_score(const double* mean, const double* covariance, std::int64_t n,
                                             std::span<const std::int32_t> columns, const double* values) {
    double score = 0.0, variance = 0.0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const double* const row = covariance + columns[i] * n;
        double before = 0.0;
        for (std::size_t j = 0; j < i; ++j) before += values[j] * row[columns[j]];
        score += values[i] * mean[columns[i]];
        variance += values[i] * (2.0 * before + values[i] * row[columns[i]]);
    }
    return {score, std::max(variance, 0.0)};
}

class DenseArms {
  public:
    // mean: arms x n; sigma: a matrix per arm; floor: the least variance along a row of length 1
    DenseArms(double* mean, Symmetric sigma, double floor)
        : mean_(mean), sigma_(sigma), floor_(floor), direction_(static_cast<std::size_t>(sigma.n)) {}

    // Trains an arm on a row x and its reward, which is a number for a rule with a target, or otherwise the class 0
    // or 1. Returns whether its weights stayed in range.
    bool learn(const AnyRule& rule, int arm, const double* x, double reward) {
        const std::int64_t n = sigma_.n;
        double *const w = mean_ + arm * n, *const q = direction_.data();
        std::fill_n(q, n, 0.0);
        double s = 0.0, v = 0.0, norm = 0.0;
        for (std::int64_t j = 0; j < n; ++j) {
            if (x[j] == 0.0) continue;
            sigma_.accumulate(arm, j, x[j], q);
            s += x[j] * w[j];
            norm += x[j] * x[j];
        }
        for (std::int64_t j = 0; j < n; ++j) v += x[j] * q[j];
        if (!(v > 0.0)) return true;
        const bool at_floor = v <= floor_ * norm;
        if (at_floor) v = floor_ * norm;
        Step found;
        if (has_target(rule)) {
            found = step_to(rule, s, v, reward, 1.0);
        } else {
            const double sign = reward > 0.0 ? 1.0 : -1.0;
            found = step(rule, sign * s, v, 1.0, 0.0);
            found.alpha *= sign;
        }
        double largest = 0.0;
        for (std::int64_t j = 0; j < n; ++j) largest = std::max(largest, std::fabs(w[j] += found.alpha * q[j]));
        if (found.zeta > 0.0 && !at_floor) {
            const double size = 1.0 / std::sqrt(1.0 / found.zeta + v);
            for (double& entry : direction_) entry *= size;
            sigma_.subtract_outer(arm, q);
        }
        return largest <= kLargestWeight<double>;
    }

  private:
    double* mean_;
    Symmetric sigma_;
    double floor_;
    std::vector<double> direction_;  // Sigma x
};

}  // namespace confidently
