// Online calibration: every margin is computed before its label is used, so the stream itself is a calibration set. A
// damped online Newton method keeps the maximum-likelihood sigmoid or temperature (docs/mathematics.md).
#pragma once

#include <algorithm>
#include <cmath>

namespace confidently {

// Curvature of the log-loss at the start, equivalent to about one example in favor of a = 1, b = 0.
inline constexpr double kPriorCurvature = 1.0;
// Early margins are worse than late ones: evidence decays over about 2000 examples of weight 1.
inline constexpr double kDecay = 1.0 - 1.0 / 2000.0;
inline constexpr double kMinSlope = 1e-3;         // a smaller slope would lose the order of the scores
inline constexpr double kMinProbability = 1e-15;  // in the log-loss, so that one confident mistake costs a finite loss
inline constexpr double kMaxStep = 0.5;           // of Newton's method, so that no single example ruins the fit
// Bounds of a slope and of the scores that it multiplies, so that no product of four of them and a weight overflows.
inline constexpr double kLargest = 1e30;

// No probability that is answered is exactly 0 or 1, so that its logarithm stays finite: half a unit in the last place below 1.
inline constexpr double kMinAnswered = 0x1p-53;

// Decay of past evidence per example of weight w.
inline double decay(double w) { return w == 1.0 ? kDecay : std::pow(kDecay, w); }

// By whether the label is the positive one. Labels are hard to foresee, so that what depends on them is looked up, not branched to.
inline constexpr double kSign[2] = {-1.0, 1.0}, kTarget[2] = {0.0, 1.0};

inline double sigmoid(double t) {
    const double e = std::exp(-std::fabs(t));
    return (t >= 0.0 ? 1.0 : e) / (1.0 + e);
}

// The probability that is answered where the logarithm of the odds is t.
inline double answered(double t) { return std::clamp(sigmoid(t), kMinAnswered, 1.0 - kMinAnswered); }

// The scores of classes times a slope, moved so that the largest is 0.
inline void calibrated(double slope, const double* f, int n, double* out) {
    double top = -kLargest;
    for (int k = 0; k < n; ++k) top = std::max(top, out[k] = std::clamp(f[k], -kLargest, kLargest));
    for (int k = 0; k < n; ++k) out[k] = slope * (out[k] - top);
}

// p_k = exp(slope f_k) / sum_j exp(slope f_j)
inline void softmax(double slope, const double* f, int n, double* p) {
    calibrated(slope, f, n, p);
    double total = 0.0;
    for (int k = 0; k < n; ++k) total += p[k] = std::exp(p[k]);
    for (int k = 0; k < n; ++k) p[k] /= total;
}

// A step of -u in log a, with the approximation (2 - u)/(2 + u) of exp(-u). The slope is a scale, which must stay positive
// and may be 30 as well as 0.3; hence the logarithm.
inline double stepped(double a, double u) { return std::clamp(a * (2.0 - u) / (2.0 + u), kMinSlope, kLargest); }

// Loss of a label that was predicted with probability p.
inline double log_loss(double p) { return -std::log(std::max(p, kMinProbability)); }

// P(positive) = sigmoid(a f + b); state: a, b and the Hessian of the log-loss haa, hab, hbb.
struct SigmoidCalibration {
    static constexpr int size = 5;
    double* state;

    // the calibrated score: the logarithm of the odds of the positive class
    static double logit(const double* state, double score) { return state[0] * std::clamp(score, -kLargest, kLargest) + state[1]; }
    double logit(double score) const { return logit(state, score); }

    // returns the probability of the label before the update
    double learn(double score, bool positive, double w) const { return learn(score, positive, w, sigmoid(logit(score))); }

    // The same if the probability of the positive class is known.
    double learn(double score, bool positive, double w, double p) const {
        const double f = std::clamp(score, -kLargest, kLargest);
        double &a = state[0], &b = state[1], &haa = state[2], &hab = state[3], &hbb = state[4];
        const double g = w * (p - kTarget[positive]), h = w * p * (1.0 - p);
        const double keep = decay(w);
        haa = keep * haa + h * f * f;
        hab = keep * hab + h * f;
        hbb = keep * hbb + h;
        // Newton in (log a, b)
        const double A = a * a * haa + kPriorCurvature, B = hbb + kPriorCurvature, C = a * hab;
        const double scale = g / (A * B - C * C), u = scale * (a * f * B - C), db = scale * (A - C * a * f);
        const double size = std::max(std::fabs(u), std::fabs(db)), shrink = size > kMaxStep ? kMaxStep / size : 1.0;
        a = stepped(a, shrink * u);
        b -= shrink * db;
        return std::fabs(kTarget[!positive] - p);
    }
};

// P(k) proportional to exp(a f_k); state: a and the second derivative of the log-loss.
struct TemperatureCalibration {
    static constexpr int size = 2;
    double* state;

    // the calibrated scores, of which the largest is 0
    void logits(const double* f, int n, double* out) const { calibrated(state[0], f, n, out); }

    // f: n scores, which are clamped; p: scratch space for n numbers; returns the probability of the true class before the update
    double learn(double* f, int n, int truth, double w, double* p) const {
        for (int k = 0; k < n; ++k) f[k] = std::clamp(f[k], -kLargest, kLargest);
        double &a = state[0], &haa = state[1];
        const double top = *std::max_element(f, f + n);
        double total = 0.0, mean = 0.0, variance = 0.0;  // of f_k - f_truth, over the classes
        for (int k = 0; k < n; ++k) {
            p[k] = std::exp(a * (f[k] - top));
            total += p[k];
            mean += p[k] * (f[k] - f[truth]);
        }
        mean /= total;
        for (int k = 0; k < n; ++k) {
            const double c = f[k] - f[truth] - mean;
            variance += p[k] / total * c * c;
        }
        haa = decay(w) * haa + w * variance;
        const double u = w * mean * a / (a * a * haa + kPriorCurvature);
        a = stepped(a, std::clamp(u, -kMaxStep, kMaxStep));
        return p[truth] / total;
    }
};

// Factor of the moderated score: a margin counts for less where its variance is large relative to the prior's.
inline double moderation(double variance, double prior_variance) {
    return 1.0 / std::sqrt(1.0 + variance / prior_variance);
}

}  // namespace confidently
