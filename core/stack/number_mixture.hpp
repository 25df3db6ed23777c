// The mixture of several members' predictions of a number: weights that sum to 1, by online least squares on the
// errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tasks/targets.hpp"
#include "stack/mixture.hpp"

namespace confidently {

// Predictions of the members for one row: pairs of mean and variance; those of the next member are `stride` pairs
// further.
struct MemberPredictions {
    const double* at;
    std::int64_t stride;

    double mean(int member) const { return at[2 * member * stride]; }
    double variance(int member) const { return at[2 * member * stride + 1]; }
};

// Rows whose spread is not known yet: members know the unit of their errors from the second row with a prediction on.
inline constexpr double kFirstRows = 16.0;
inline constexpr double kLargestRatio = 1e200;  // of the errors of two members

class NumberMixture {
  public:
    // weight: one per member; products: members x members, discounted sums of products of their errors; rows: the total
    // weight of the rows so far, and that in these sums
    NumberMixture(int members, double* weight, double* products, double* rows)
        : members_(members), weight_(weight), products_(products), rows_(rows), error_(members), prior_(members),
          ones_(members), factor_(static_cast<std::size_t>(members) * members) {}

    // The mixed mean, and its variance: the mean squared error of a mixture with these weights in the rows before,
    // times the square of how uncertain the members are about this row, compared with their errors before.
    Predicted mix(const MemberPredictions& predictions) const {
        double mean = 0.0, deviation = 0.0;
        for (int g = 0; g < members_; ++g) {
            mean += weight_[g] * predictions.mean(g);
            deviation += std::fabs(weight_[g]) * std::sqrt(predictions.variance(g));
        }
        return {mean, std::max(deviation * deviation * relative_error(), std::numeric_limits<double>::min())};
    }

    // The prediction whose error is counted; among the first rows, the error itself is its spread.
    Predicted counted(const Predicted& mixed, double y) const {
        const double error = y - mixed.mean;
        if (rows_[0] >= kFirstRows) return mixed;
        return {mixed.mean, std::max(error * error, std::numeric_limits<double>::min())};
    }

    void learn(const MemberPredictions& predictions, double y, double w) {
        const double keep = std::pow(1.0 - 1.0 / std::min(rows_[0] + 2.0, kLongestMemory), w);
        rows_[0] += w;
        rows_[1] = keep * rows_[1] + w;
        for (int g = 0; g < members_; ++g) error_[g] = y - predictions.mean(g);
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h < members_; ++h) {
                double& product = products_[g * members_ + h];
                product = keep * product + w * error_[g] * error_[h];
            }
        solve();
    }

  private:
    // The mean squared error of the mixture, over the square of the mean of the members' root mean squared errors.
    double relative_error() const {
        double error = 0.0, mean = 0.0;
        for (int g = 0; g < members_; ++g) {
            for (int h = 0; h < members_; ++h) error += weight_[g] * weight_[h] * products_[g * members_ + h];
            mean += std::fabs(weight_[g]) * std::sqrt(products_[g * (members_ + 1)]);
        }
        return error > 0.0 && mean > 0.0 ? error / (mean * mean) : 1.0;
    }

    int members_;
    double *weight_, *products_, *rows_;
    std::vector<double> error_, prior_, ones_, factor_;

    // The weights that minimize w'P w/(2 s) + tau |w - 1/G|^2/2 subject to sum w = 1, with the products P, and s the
    // mean squared error of the best member.
    void solve() {
        double best = products_[0], worst = best;
        for (int g = 1; g < members_; ++g) {
            best = std::min(best, products_[g * (members_ + 1)]);
            worst = std::max(worst, products_[g * (members_ + 1)]);
        }
        const double scale = rows_[1] / best;
        if (!(scale * worst <= kLargestRatio)) return;  // a member has had no errors so far
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h <= g; ++h) {
                double sum = scale * products_[g * members_ + h] + (g == h ? kWeightPrecision : 0.0);
                for (int k = 0; k < h; ++k) sum -= factor(g, k) * factor(h, k);
                factor(g, h) = g == h ? std::sqrt(std::max(sum, kWeightPrecision)) : sum / factor(h, h);
            }
        std::fill(prior_.begin(), prior_.end(), kWeightPrecision / members_);
        std::fill(ones_.begin(), ones_.end(), 1.0);
        divide(prior_);
        divide(ones_);
        double total = 0.0, of_ones = 0.0;
        for (int g = 0; g < members_; ++g) total += prior_[g], of_ones += ones_[g];
        const double multiplier = (1.0 - total) / of_ones;
        for (int g = 0; g < members_; ++g) weight_[g] = prior_[g] + multiplier * ones_[g];
    }

    // x <- (L L')^-1 x
    void divide(std::vector<double>& x) const {
        for (int g = 0; g < members_; ++g) {
            for (int k = 0; k < g; ++k) x[g] -= factor(g, k) * x[k];
            x[g] /= factor(g, g);
        }
        for (int g = members_ - 1; g >= 0; --g) {
            for (int k = g + 1; k < members_; ++k) x[g] -= factor(k, g) * x[k];
            x[g] /= factor(g, g);
        }
    }

    double& factor(int g, int h) { return factor_[static_cast<std::size_t>(g) * members_ + h]; }
    double factor(int g, int h) const { return factor_[static_cast<std::size_t>(g) * members_ + h]; }
};

}  // namespace confidently
