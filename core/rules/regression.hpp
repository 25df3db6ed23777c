// Rules with a target y, a number: each computes the step from the score s = mean.x and its variance v. A step has the
// sign of what the score lacks; classification is the case y = 1 or -1, where the score times y is the margin. Besides
// what table.hpp lists, such a rule has
//   target       true
//   noise()      the variance of y around its score that the rule assumes
//   log_link     true if the score is the logarithm of the expected target; missing otherwise
//   fixed        true if Sigma stays at its prior, so that v is no uncertainty; missing otherwise
#pragma once

#include <algorithm>
#include <cmath>

#include "rules/normal.hpp"
#include "rules/step.hpp"

namespace confidently {

// Squared loss: the exact posterior of linear regression with noise of variance r.
struct Ridge {
    static constexpr const char* name = "ridge";
    static constexpr int parameters = 1;
    static constexpr bool target = true;
    double r;
    double noise() const { return r; }
    Step operator()(double s, double v, double y, double w) const { return {(y - s) / (v + r / w), w / r}; }
};

// How far a score is outside the tube of half-width epsilon around its target, with the sign of the way back.
inline double missed(double s, double y, double epsilon) {
    const double e = y - s;
    return std::fabs(e) <= epsilon ? 0.0 : e - std::copysign(epsilon, e);
}

struct AROWEps {
    static constexpr const char* name = "arow_eps";
    static constexpr int parameters = 2;
    static constexpr bool target = true;
    double r, epsilon;
    double noise() const { return r; }
    Step operator()(double s, double v, double y, double w) const {
        const double l = missed(s, y, epsilon);
        return l == 0.0 ? Step{} : Step{l / (v + r / w), w / r};
    }
};

struct PAReg {
    static constexpr const char* name = "pa_reg";
    static constexpr int parameters = 1;
    static constexpr bool target = true, fixed = true;
    double epsilon;
    double noise() const { return 1.0; }
    Step operator()(double s, double v, double y, double w) const { return weighted({missed(s, y, epsilon) / v}, w); }
};

struct PA1Reg {
    static constexpr const char* name = "pa1_reg";
    static constexpr int parameters = 2;
    static constexpr bool target = true, fixed = true;
    double C, epsilon;
    double noise() const { return 1.0; }
    Step operator()(double s, double v, double y, double w) const {
        return {std::clamp(missed(s, y, epsilon) / v, -w * C, w * C)};
    }
};

struct PA2Reg {
    static constexpr const char* name = "pa2_reg";
    static constexpr int parameters = 2;
    static constexpr bool target = true, fixed = true;
    double C, epsilon;
    double noise() const { return 1.0; }
    Step operator()(double s, double v, double y, double w) const {
        return {missed(s, y, epsilon) / (v + 0.5 / (w * C))};
    }
};

// Counts with the expectation exp(s): the Gaussian nearest to the posterior (in Kullback-Leibler divergence from it)
// has the expected gradient and curvature of the log-likelihood under itself, alpha = w (y - rate) and zeta = w rate
// with rate = exp(s + alpha v + v'/2) and v' = v/(1 + zeta v).
struct Poisson {
    static constexpr const char* name = "poisson";
    static constexpr int parameters = 0;
    static constexpr bool target = true, log_link = true;
    double noise() const { return 1.0; }
    Step operator()(double s, double v, double y, double w) const {
        const double rate = std::exp(log_rate(s, v, y, w));
        return {w * (y - rate), w * rate};
    }

  private:
    // The root of t + a exp(t) - d(t) - b, which increases, with a = w v, b = s + a y and d(t) = v/2/(1 + a exp(t)).
    static double log_rate(double s, double v, double y, double w) {
        const double a = w * v, b = s + a * y;
        double low, high = b + 0.5 * v;
        if (const double one = -std::log(a); one + 1.0 - b - 0.25 * v >= 0.0) {  // at the root, a exp(t) <= 1
            low = std::min(b - 1.0, high);
            high = std::min(high, one);
        } else {
            low = one;
            high = std::log((high - one) / a);
        }
        double t = 0.5 * (low + high);
        for (int i = 0; i < 200; ++i) {
            const double moved = a * std::exp(t), left = 1.0 + moved, excess = t + moved - 0.5 * v / left - b;
            (excess > 0.0 ? high : low) = t;
            double next = t - excess / (1.0 + moved + 0.5 * v * moved / (left * left));
            if (!(next > low && next < high)) next = low + 0.5 * (high - low);
            if (std::fabs(next - t) <= 1e-15 * std::max(1.0, std::fabs(t)) || next <= low || next >= high) break;
            t = next;
        }
        return t;
    }
};

// The quantile tau of the target: a likelihood exp(-c loss) with the pinball loss, tau e where e = y - s is positive
// and (tau - 1) e otherwise. It tilts the Gaussian of the score by two slopes, so that the posterior is a mixture of a
// truncated Gaussian below y and another above it, whose moments are exact.
struct Quantile {
    static constexpr const char* name = "quantile";
    static constexpr int parameters = 2;
    static constexpr bool target = true;
    double tau, c;
    double noise() const { return 1.0 / (tau * tau * c * c) + 1.0 / ((1.0 - tau) * (1.0 - tau) * c * c); }
    Step operator()(double s, double v, double y, double w) const {
        // In units of the standard deviation of the score: the target d, the slopes k below it and l above it.
        const double deviation = std::sqrt(v), d = (y - s) / deviation;
        const double k = w * c * tau * deviation, l = w * c * (1.0 - tau) * deviation;
        const double log_odds = log_scaled_cdf(-d - l) - log_scaled_cdf(d - k);
        const double below = 1.0 / (1.0 + std::exp(log_odds)), above = 1.0 / (1.0 + std::exp(-log_odds));
        const Hazard under = hazard(d - k), over = hazard(-d - l);
        const double apart = under.v_plus_x + over.v_plus_x;
        const double left = below * under.variance + above * over.variance + below * above * apart * apart;
        double learned = 1.0 - left;
        if (left >= 0.9)  // the same without cancellation, from the density of the posterior at the target
            learned =
                (k + l) * (below < above ? below * (under.v - (k + l) * above) : above * (over.v - (k + l) * below));
        return {(k * below - l * above) / deviation, precision_gained(std::max(learned, 0.0), left, v)};
    }
};

using RegressionRules = RuleList<Ridge, AROWEps, PAReg, PA1Reg, PA2Reg, Poisson, Quantile>;

}  // namespace confidently
