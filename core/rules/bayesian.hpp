// Rules that update to the posterior of a likelihood, exactly or by matching moments.
#pragma once

#include <algorithm>
#include <cmath>

#include "rules/normal.hpp"
#include "rules/step.hpp"

namespace confidently {

struct BayesPA {
    static constexpr const char* name = "bayespa";
    static constexpr int parameters = 2;
    double c, epsilon;
    Step operator()(double m, double v, double w) const {
        return m < epsilon ? Step{std::min(2.0 * w * c, (epsilon - m) / v)} : Step{};
    }
};

struct GibbsPA {
    static constexpr const char* name = "gibbs_pa";
    static constexpr int parameters = 2;
    double c, epsilon;
    Step operator()(double m, double v, double w) const {
        // In units of the standard deviation of the margin, the gained precision A is the inverse of the only positive
        // root b of k^2 b^3 + 2 k^2 b^2 - G b - 1. Newton's method converges to it monotonically from above.
        const double s = std::sqrt(v), d = (epsilon - m) / s, k = w * c * s;
        const double G = d * d - 2.0 * k * d + 1.0;
        double b = (std::sqrt(std::max(G, 0.0)) + std::sqrt(0.5)) / k;
        for (int i = 0; i < 60; ++i) {
            const double f = ((k * k * b + 2.0 * k * k) * b - G) * b - 1.0;
            const double next = b - f / ((3.0 * k * k * b + 4.0 * k * k) * b - G);
            if (!(next < b)) break;
            b = next;
        }
        const double A = 1.0 / b, e = (d - k) / (1.0 + A), r = std::hypot(e, std::sqrt(1.0 / (1.0 + A)));
        return {(e > 0.0 ? k * (1.0 + e / r) : k / (1.0 + A) / (r * (r - e))) / s, A / v};
    }
};

struct GibbsPAExact {
    static constexpr const char* name = "gibbs_pa_exact";
    static constexpr int parameters = 2;
    double c, epsilon;
    Step operator()(double m, double v, double w) const {
        // The Gaussian tilted by exp(-2c (epsilon - margin)_+) is a mixture of its part above epsilon and, shifted by
        // k s, its part below, which has the weight r. left: the variance that remains, relative to v.
        const double k = 2.0 * w * c, s = std::sqrt(v), d = (epsilon - m) / s, u = d - k * s;
        const double log_odds = log_scaled_cdf(u) - log_scaled_cdf(-d);
        const double r = 1.0 / (1.0 + std::exp(-log_odds)), rest = 1.0 / (1.0 + std::exp(log_odds));
        const Hazard above = hazard(-d), below = hazard(u);
        const double apart = above.v_plus_x + below.v_plus_x;
        const double left = rest * above.variance + r * below.variance + r * rest * apart * apart;
        if (left < 0.9) return {k * r, precision_gained(1.0 - left, left, v)};
        // Little is learned, so 1 - left is computed with its leading terms canceled by hand.
        const double kappa = k * r * (u <= 0.0 ? (below.v_plus_x - d) / s + k * r : below.v / s - k * rest);
        return {k * r, precision_gained(std::max(kappa, 0.0) * v, left, v)};
    }
};

struct Probit {
    static constexpr const char* name = "probit";
    static constexpr int parameters = 1;
    double noise;
    Step operator()(double m, double v, double w) const {
        // The power Phi^w of the likelihood has no closed form. The step is implicit: w times the gradient and the curvature
        // at the margin that all but one of the w copies lead to, which for w = 1 is m. Newton's method from 0 rises to
        // the only root of alpha = w V/s without passing it, because V decreases and is convex.
        const double n2 = noise * noise, s2 = n2 + v, s = std::sqrt(s2), others = 1.0 - 1.0 / w;
        Hazard h = hazard(m / s);
        double alpha = w * h.v / s;
        if (w != 1.0) {
            alpha = 0.0;
            for (int i = 0; i < 100; ++i) {
                const double slope = (n2 + v * (h.variance + w * h.v * h.v_plus_x)) / s2;
                const double next = alpha + (w * h.v / s - alpha) / slope;
                if (!(next > alpha)) break;
                alpha = next;
                h = hazard((m + others * alpha * v) / s);
            }
        }
        return {alpha, w * precision_gained(h.v * h.v_plus_x * v / s2, (n2 + v * h.variance) / s2, v)};
    }
};

using BayesianRules = RuleList<BayesPA, GibbsPA, GibbsPAExact, Probit>;

}  // namespace confidently
