// The mixture of several members' predictions of a number: weights by least squares on the errors, for each of several
// windows of rows, and the mean of these by how well each window has predicted of late. The last members, the rests,
// predict what the mixture of all members before them leaves of the number.
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
// Weight of a rest before training: all of it counts if the members before have learned all they can, none if it is
// noise.
inline constexpr double kWeightOfRest = 0.5;

class NumberMixture {
  public:
    static constexpr int windows = Mixture::windows;

    // rests: the number of the last members that predict what is left; weight: one per member, the mean of the windows'
    // by their shares; share: one per window, 0 for windows at rest, which neither learn nor count; products: windows x
    // members x members, discounted sums of products of their errors, and of the negative predictions of rests; rows:
    // the total weight of the rows so far, and for each window that in its sums
    NumberMixture(int members, int rests, double* weight, double* share, double* products, double* rows)
        : members_(members), first_rest_(members - rests), weight_(weight), share_(share), products_(products),
          rows_(rows), own_(static_cast<std::size_t>(windows) * members), error_(members), ones_(members),
          factor_(static_cast<std::size_t>(members) * members) {
        for (int i = 0; i < windows; ++i)
            if (awake(i)) solve(i);
        mean_weights();
    }

    // The mixed mean, and its variance: the mean squared error of a mixture with these weights in the rows before,
    // times the square of how uncertain the members, without the rests, are about this row, compared with their errors
    // before.
    Predicted mix(const MemberPredictions& predictions) const {
        double mean = 0.0, deviation = 0.0;
        for (int g = 0; g < members_; ++g) mean += weight_[g] * predictions.mean(g);
        for (int g = 0; g < first_rest_; ++g) deviation += std::fabs(weight_[g]) * std::sqrt(predictions.variance(g));
        return {mean, std::max(deviation * deviation * relative_error(), std::numeric_limits<double>::min())};
    }

    bool knows_spreads() const { return rows_[0] >= kFirstRows; }

    // The prediction whose error is counted; among the first rows, the error itself is its spread.
    Predicted counted(const Predicted& mixed, double y) const {
        const double error = y - mixed.mean;
        if (knows_spreads()) return mixed;
        return {mixed.mean, std::max(error * error, std::numeric_limits<double>::min())};
    }

    void learn(const MemberPredictions& predictions, double y, double w) {
        for (int g = 0; g < members_; ++g) error_[g] = (g < first_rest_ ? y : 0.0) - predictions.mean(g);
        share(w);
        for (int i = 0; i < windows; ++i) {
            if (!awake(i)) continue;
            const double keep = std::pow(1.0 - 1.0 / std::min(rows_[0] + 2.0, kWindows[i]), w);
            rows_[1 + i] = keep * rows_[1 + i] + w;
            double* products = products_of(i);
            for (int g = 0; g < members_; ++g)
                for (int h = 0; h < members_; ++h) {
                    double& product = products[g * members_ + h];
                    product = keep * product + w * error_[g] * error_[h];
                }
        }
        rows_[0] += w;
        for (int i = 0; i < windows; ++i)
            if (awake(i)) solve(i);
        mean_weights();
    }

  private:
    int members_, first_rest_;
    double *weight_, *share_, *products_, *rows_;
    std::vector<double> own_, error_, ones_, factor_;

    bool awake(int window) const { return share_[window] > 0.0; }
    double* products_of(int window) const { return products_ + static_cast<std::size_t>(window) * members_ * members_; }

    // The mean squared error of the mixture, in the longest window.
    double mean_squared_error() const {
        const double* products = products_of(windows - 1);
        double error = 0.0;
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h < members_; ++h) error += weight_[g] * weight_[h] * products[g * members_ + h];
        return error;
    }

    // The same over the square of the mean of the members' root mean squared errors.
    double relative_error() const {
        const double error = mean_squared_error();
        double mean = 0.0;
        for (int g = 0; g < first_rest_; ++g)
            mean += std::fabs(weight_[g]) * std::sqrt(products_of(windows - 1)[g * (members_ + 1)]);
        return error > 0.0 && mean > 0.0 ? error / (mean * mean) : 1.0;
    }

    // Shares of the windows by the likelihood of the target: normal, with the mean squared error so far.
    void share(double w) {
        const double spread = mean_squared_error() / rows_[windows];
        if (!(spread > 0.0)) return;
        int n = 0;
        double squared[windows], least = std::numeric_limits<double>::max(), total = 0.0;
        for (int i = 0; i < windows; ++i) {
            if (!awake(i)) continue;
            ++n;
            double error = 0.0;
            for (int g = 0; g < members_; ++g) error += own_[i * members_ + g] * error_[g];
            squared[i] = error * error / spread;
            least = std::min(least, squared[i]);
        }
        if (n == 1) return;
        for (int i = 0; i < windows; ++i) {
            if (!awake(i)) continue;
            const double likelihood = std::exp(0.5 * (least - squared[i]));
            total += share_[i] *= std::pow(std::max(likelihood, kLeastLikelihood), w);
        }
        for (int i = 0; i < windows; ++i)
            if (awake(i)) share_[i] = (1.0 - kRedistributed) * share_[i] / total + kRedistributed / n;
    }

    void mean_weights() {
        std::fill_n(weight_, members_, 0.0);
        for (int i = 0; i < windows; ++i)
            for (int g = 0; g < members_; ++g) weight_[g] += share_[i] * own_[i * members_ + g];
    }

    double beginning(int g) const { return g < first_rest_ ? 1.0 / first_rest_ : kWeightOfRest; }

    // The weights of a window that minimize w'P w/(2 s) + tau |w - w_0|^2/2 subject to sum w = 1 without the rests,
    // with the products P, and s the mean squared error of the best member.
    void solve(int window) {
        double* weight = own_.data() + window * members_;
        const double* products = products_of(window);
        double best = products[0], worst = best;
        for (int g = 1; g < members_; ++g) {
            const double own = products[g * (members_ + 1)];
            if (g < first_rest_) best = std::min(best, own);
            worst = std::max(worst, own);
        }
        for (int g = 0; g < members_; ++g) weight[g] = beginning(g);
        const double scale = rows_[1 + window] / best;
        if (!(scale * worst <= kLargestRatio)) return;  // a member has had no errors so far
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h <= g; ++h) {
                double sum = scale * products[g * members_ + h] + (g == h ? kWeightPrecision : 0.0);
                for (int k = 0; k < h; ++k) sum -= factor(g, k) * factor(h, k);
                factor(g, h) = g == h ? std::sqrt(std::max(sum, kWeightPrecision)) : sum / factor(h, h);
            }
        for (int g = 0; g < members_; ++g) {
            weight[g] *= kWeightPrecision;
            ones_[g] = g < first_rest_ ? 1.0 : 0.0;
        }
        divide(weight);
        divide(ones_.data());
        double total = 0.0, of_ones = 0.0;
        for (int g = 0; g < first_rest_; ++g) total += weight[g], of_ones += ones_[g];
        const double multiplier = (1.0 - total) / of_ones;
        for (int g = 0; g < members_; ++g) weight[g] += multiplier * ones_[g];
    }

    // x <- (L L')^-1 x
    void divide(double* x) const {
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
