// The mixture of several members' calibrated scores: weights by an online Newton method on the log-loss of the sum,
// once for each of several windows of rows, and the mean of these by how well each window has predicted of late.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tasks/calibration.hpp"

namespace confidently {

// Scores beyond are as certain, and their squares would drown the others'.
inline constexpr double kMaxLogit = 1e3;
// Precision of every weight before training: a standard deviation of .3 around the mean of the members.
inline constexpr double kWeightPrecision = 1.0 / (0.3 * 0.3);
// Windows: evidence decays over about so many examples of weight 1, and early on over those seen so far.
inline constexpr std::array kWindows{50.0, 300.0, 5000.0};
inline constexpr double kLongestMemory = kWindows.back();
// Part of the windows' shares that is divided equally among them after each row, so that none is lost for good.
inline constexpr double kRedistributed = 0.002;
// A window's share falls by no more than this factor with one example of weight 1.
inline constexpr double kLeastLikelihood = 1e-9;
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
    static constexpr int windows = static_cast<int>(kWindows.size());

    // weight: one per member, the mean of the windows' by their shares; share: one per window, 0 for windows at rest,
    // which neither learn nor count; own: the weights of each window, windows x members; hessian: windows x members x
    // members, of the log-loss; rows: the total weight of the rows so far
    // careful: whether a step is shortened by the sum of its parts instead of the longest
    Mixture(int members, double* weight, double* share, double* own, double* hessian, double* rows,
            bool careful = false)
        : members_(members), careful_(careful), weight_(weight), share_(share), own_(own), hessian_(hessian),
          rows_(rows), gradient_(members), mean_(members), deviation_(members),
          factor_(static_cast<std::size_t>(members) * members) {}

    // the mixed logits: one for two classes, otherwise one per class
    void mix(const MemberLogits& l, double* out) const { mix(l, weight_, out); }

    // Learns from a label; mixed: its mix(), which is overwritten. Returns the probability of the label before.
    double learn(const MemberLogits& l, double* mixed, int label, double w) {
        const double p = probability(l, mixed, label);
        double total = 0.0;
        int awake = 0;
        std::array<double, windows> before{}, likelihoods{};
        for (int i = 0; i < windows; ++i) {
            if (!(share_[i] > 0.0)) continue;
            ++awake;
            const double keep = std::pow(1.0 - 1.0 / std::min(*rows_ + 2.0, kWindows[i]), w);
            double* hessian = hessian_ + static_cast<std::size_t>(i) * members_ * members_;
            for (int k = 0; k < members_ * members_; ++k) hessian[k] *= keep;
            mix(l, own_ + i * members_, mixed);
            const double likelihood = probability(l, mixed, label);
            l.columns == 1 ? binary(l, mixed[0], label, w, hessian) : several(l, mixed, label, w, hessian);
            step(own_ + i * members_, hessian);
            before[i] = share_[i];
            likelihoods[i] = std::max(likelihood, kLeastLikelihood);
            total += share_[i] *= std::pow(likelihoods[i], w);
        }
        if (!(total > 0.0)) total = shared_by_logarithms(before, likelihoods, w);
        *rows_ += w;
        std::fill_n(weight_, members_, 0.0);
        for (int i = 0; i < windows; ++i) {
            if (!(before[i] > 0.0)) continue;
            share_[i] = awake > 1 ? (1.0 - kRedistributed) * share_[i] / total + kRedistributed / awake : 1.0;
            for (int g = 0; g < members_; ++g) weight_[g] += share_[i] * own_[i * members_ + g];
        }
        return p;
    }

  private:
    int members_;
    bool careful_;
    double *weight_, *share_, *own_, *hessian_, *rows_;
    std::vector<double> gradient_, mean_, deviation_, factor_;

    void mix(const MemberLogits& l, const double* weight, double* out) const {
        for (int k = 0; k < l.columns; ++k) {
            out[k] = 0.0;
            for (int g = 0; g < members_; ++g) out[k] += weight[g] * l(g, k);
        }
    }

    // Shares relative to the largest, for a weight with which all likelihoods are below the range; returns their sum.
    double shared_by_logarithms(std::array<double, windows> logs, const std::array<double, windows>& likelihoods,
                                double w) {
        for (int i = 0; i < windows; ++i) logs[i] = std::log(logs[i]) + w * std::log(likelihoods[i]);
        const double top = *std::max_element(logs.begin(), logs.end());
        double total = 0.0;
        for (int i = 0; i < windows; ++i) total += share_[i] = std::exp(logs[i] - top);
        return total;
    }

    // The probability of a label by mixed logits, which become the probabilities: that of class 1 alone for two
    // classes.
    static double probability(const MemberLogits& l, double* mixed, int label) {
        if (l.columns == 1) {
            mixed[0] = sigmoid(mixed[0]);
            return label == 1 ? mixed[0] : 1.0 - mixed[0];
        }
        const double top = *std::max_element(mixed, mixed + l.columns);
        double total = 0.0;
        for (int k = 0; k < l.columns; ++k) total += mixed[k] = std::exp(mixed[k] - top);
        for (int k = 0; k < l.columns; ++k) mixed[k] /= total;
        return mixed[label];
    }

    void binary(const MemberLogits& l, double p, int label, double w, double* hessian) {
        const double error = w * (label - p);
        for (int g = 0; g < members_; ++g) {
            deviation_[g] = l(g, 0);
            gradient_[g] = error * deviation_[g];
        }
        add_curvature(w * p * (1.0 - p), hessian);
    }

    void several(const MemberLogits& l, const double* p, int label, double w, double* hessian) {
        for (int g = 0; g < members_; ++g) {
            mean_[g] = 0.0;
            for (int k = 0; k < l.columns; ++k) mean_[g] += p[k] * l(g, k);
            gradient_[g] = w * (l(g, label) - mean_[g]);
        }
        for (int k = 0; k < l.columns; ++k) {
            if (p[k] < kNegligible) continue;
            for (int g = 0; g < members_; ++g) deviation_[g] = l(g, k) - mean_[g];
            add_curvature(w * p[k], hessian);
        }
    }

    void add_curvature(double factor, double* hessian) {
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h < members_; ++h) hessian[g * members_ + h] += factor * deviation_[g] * deviation_[h];
    }

    // weight += (hessian + precision I)^-1 gradient, all of it shortened if a part, or the sum, is longer than kMaxStep
    void step(double* weight, const double* hessian) {
        for (int g = 0; g < members_; ++g)
            for (int h = 0; h <= g; ++h) {
                double sum = hessian[g * members_ + h] + (g == h ? kWeightPrecision : 0.0);
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
            const double size = std::fabs(gradient_[g]);
            largest = careful_ ? largest + size : std::max(largest, size);
        }
        const double shrink = largest > kMaxStep ? kMaxStep / largest : 1.0;
        for (int g = 0; g < members_; ++g) weight[g] += shrink * gradient_[g];
    }

    double& factor(int g, int h) { return factor_[static_cast<std::size_t>(g) * members_ + h]; }
};

}  // namespace confidently
