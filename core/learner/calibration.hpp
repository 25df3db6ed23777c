// Progressive calibration: every margin is computed before its label is used, so the stream itself is a calibration
// set. A damped online Newton method keeps the maximum-likelihood sigmoid or temperature; docs/mathematics.md.
#pragma once

#include <algorithm>
#include <cmath>

namespace confidently {

// The log-loss's curvature at the start, as if an example or so had spoken for a = 1, b = 0 already.
inline constexpr double kPriorCurvature = 1.0;
// Early margins are worse than late ones: old evidence fades, over some 2000 examples of weight 1.
inline constexpr double kForget = 1.0 - 1.0 / 2000.0;
inline constexpr double kLeastSlope = 1e-3;  // a score may not count for less, or the order of scores would be lost
inline constexpr double kLeastProbability = 1e-15;  // log-loss counts none as smaller, so that one sure mistake is finite
inline constexpr double kLargestStep = 0.5;  // of a Newton step, so that no single example throws the fit away

// What is left of old evidence after an example of weight w.
inline double kept(double w) { return w == 1.0 ? kForget : std::pow(kForget, w); }

inline double sigmoid(double t) {
    const double e = std::exp(-std::fabs(t));
    return (t >= 0.0 ? 1.0 : e) / (1.0 + e);
}

// A step of -u in log a, by the approximation (2 - u)/(2 + u) of exp(-u). Steps are taken in log a because the slope is a
// scale: it must stay positive, and is as often 30 as 0.3.
inline double stepped(double a, double u) { return std::max(a * (2.0 - u) / (2.0 + u), kLeastSlope); }

// What a label costs that was given probability p.
inline double log_loss(double p) { return -std::log(std::max(p, kLeastProbability)); }

// P(positive) = sigmoid(a f + b); state: a, b and the Hessian of the log-loss haa, hab, hbb.
struct SigmoidCalibration {
    static constexpr int size = 5;
    double* state;

    // returns the probability the label had before
    double learn(double f, bool positive, double w) const {
        double &a = state[0], &b = state[1], &haa = state[2], &hab = state[3], &hbb = state[4];
        const double p = sigmoid(a * f + b), g = w * (p - (positive ? 1.0 : 0.0)), h = w * p * (1.0 - p);
        const double keep = kept(w);
        haa = keep * haa + h * f * f;
        hab = keep * hab + h * f;
        hbb = keep * hbb + h;
        // Newton in (log a, b)
        const double A = a * a * haa + kPriorCurvature, B = hbb + kPriorCurvature, C = a * hab;
        const double scale = g / (A * B - C * C), u = scale * (a * f * B - C), db = scale * (A - C * a * f);
        const double size = std::max(std::fabs(u), std::fabs(db)), shrink = size > kLargestStep ? kLargestStep / size : 1.0;
        a = stepped(a, shrink * u);
        b -= shrink * db;
        return positive ? p : 1.0 - p;
    }
};

// P(k) proportional to exp(a f_k); state: a and the second derivative of the log-loss.
struct TemperatureCalibration {
    static constexpr int size = 2;
    double* state;

    // p: room for n numbers; returns the probability the true class had before
    double learn(const double* f, int n, int truth, double w, double* p) const {
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
        haa = kept(w) * haa + w * variance;
        const double u = w * mean * a / (a * a * haa + kPriorCurvature);
        a = stepped(a, std::clamp(u, -kLargestStep, kLargestStep));
        return p[truth] / total;
    }
};

// The moderated score: a margin counts for less where its variance is large beside the prior's.
inline double moderation(double variance, double prior_variance) {
    return 1.0 / std::sqrt(1.0 + variance / prior_variance);
}

}  // namespace confidently
