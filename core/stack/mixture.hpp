// The mixture of several members' calibrated scores: weights by an online Newton method on the log-loss of the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tasks/calibration.hpp"

namespace confidently {

// Scores beyond are as certain, and their squares would drown the others'.
inline constexpr double kMaxLogit = 1e3;
// Precision of every weight before training: a standard deviation of .3 around the mean of the members.
inline constexpr double kWeightPrecision = 1.0 / (0.3 * 0.3);
// Evidence decays over about 5000 examples of weight 1, and early on over those seen so far.
inline constexpr double kLongestMemory = 5000.0;
// Probability below which a class does not count in the curvature.
inline constexpr double kNegligible = 1e-5;

// Logits of the members for one row: those of a member are adjacent, those of the next one `stride` further.
struct MemberLogits {
    const double* at;
    std::int64_t stride;
    int columns;

    double operator()(int member, int k) const { return std::clamp(at[member * stride + k], -kMaxLogit, kMaxLogit); }
};

class Mixture {
  public:
    // weight: one per member; hessian: members x members, of the log-loss; rows: the total weight of the rows so far
    Mixture(int members, double* weight, double* hessian, double* rows)
        : members_(members), weight_(weight), hessian_(hessian), rows_(rows), gradient_(members), mean_(members),
          deviation_(members), factor_(static_cast<std::size_t>(members) * members) {}

    // the mixed logits: one for two classes, otherwise one per class
    void mix(const MemberLogits& l, double* out) const {
        for (int k = 0; k < l.columns; ++k) {
            out[k] = 0.0;
            for (int g = 0; g < members_; ++g) out[k] += weight_[g] * l(g, k);
        }
    }

    // Learns from a label; mixed: its mix(), which is overwritten. Returns the probability of the label before.
    double learn(const MemberLogits& l, double* mixed, int label, double w) {
        const double keep = std::pow(1.0 - 1.0 / std::min(*rows_ + 2.0, kLongestMemory), w);
        *rows_ += w;
        for (int i = 0; i < members_ * members_; ++i) hessian_[i] *= keep;
        const double p = l.columns == 1 ? binary(l, mixed[0], label, w) : several(l, mixed, label, w);
        step();
        return p;
    }

  private:
    int members_;
    double *weight_, *hessian_, *rows_;
    std::vector<double> gradient_, mean_, deviation_, factor_;

    double binary(const MemberLogits& l, double mixed, int label, double w) {
        const double p = sigmoid(mixed), error = w * (label - p);
        for (int g = 0; g < members_; ++g) {
            deviation_[g] = l(g, 0);
            gradient_[g] = error * deviation_[g];
        }
        add_curvature(w * p * (1.0 - p));
        return label == 1 ? p : 1.0 - p;
    }

    double several(const MemberLogits& l, double* p, int label, double w) {
        const double top = *std::max_element(p, p + l.columns);
        double total = 0.0;
        for (int k = 0; k < l.columns; ++k) total += p[k] = std::exp(p[k] - top);
        for (int k = 0; k < l.columns; ++k) p[k] /= total;
        for (int g = 0; g < members_; ++g) {
            mean_[g] = 0.0;
            for (int k = 0; k < l.columns; ++k) mean_[g] += p[k] * l(g, k);
            gradient_[g] = w * (l(g, label) - mean_[g]);
        }
        for (int k = 0; k < l.columns; ++k) {
            if (p[k] < kNegligible) continue;
            for (int g = 0; g < members_; ++g) deviation_[g] = l(g, k) - mean_[g];
            add_curvature(w * p[k]);
        }
        return p[label];
    }

    void add_curvature(double factor) {
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h < members_; ++h) hessian_[g * members_ + h] += factor * deviation_[g] * deviation_[h];
    }

    // weight += (hessian + precision I)^-1 gradient, all of it shortened if a part is longer than kMaxStep
    void step() {
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h <= g; ++h) {
                double sum = hessian_[g * members_ + h] + (g == h ? kWeightPrecision : 0.0);
                for (int k = 0; k < h; ++k) sum -= factor(g, k) * factor(h, k);
                factor(g, h) = g == h ? std::sqrt(std::max(sum, kWeightPrecision)) : sum / factor(h, h);
            }
        for (int g = 0; g < members_; ++g) {
            for (int k = 0; k < g; ++k) gradient_[g] -= factor(g, k) * gradient_[k];
            gradient_[g] /= factor(g, g);
        }
        double largest = 0.0;
        for (int g = members_ - 1; g >= 0; --g) {
            for (int k = g + 1; k < members_; ++k) gradient_[g] -= factor(k, g) * gradient_[k];
            gradient_[g] /= factor(g, g);
            largest = std::max(largest, std::fabs(gradient_[g]));
        }
        const double shrink = largest > kMaxStep ? kMaxStep / largest : 1.0;
        for (int g = 0; g < members_; ++g) weight_[g] += shrink * gradient_[g];
    }

    double& factor(int g, int h) { return factor_[static_cast<std::size_t>(g) * members_ + h]; }
};

}  // namespace confidently
