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
        // The power Phi^w of the likelihood has no closed form. The step is implicit: w times the gradient and the
        // curvature at the margin that all but one of the w copies lead to, which for w = 1 is m. Newton's method from
        // 0 rises to the only root of alpha = w V/s without passing it, because V decreases and is convex.
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

// The logistic function is a mixture of three probits, up to 3e-4 (Monahan & Stefanski 1992), so that its expectation Z
// under the Gaussian of the margin is one too. The tail, where a probit falls too fast, is that of the other side:
// tilting a Gaussian by exp(s) moves its mean by v, hence Z(m) = exp(m + v/2) Z(-m - v).
struct Logistic {
    static constexpr const char* name = "logistic";
    static constexpr int parameters = 0;
    static constexpr int parts = 3;
    static constexpr double weight[parts] = {0.2522, 0.58522, 0.16258}, slope[parts] = {0.90793, 0.57778, 0.36403};
    Step operator()(double m, double v, double w) const {
        // Implicit, as Probit is: the root of alpha = w Z'/Z at the margin m + (1 - 1/w) alpha v, by Newton's method
        // within the interval known to contain it.
        Moments found = moments(m, v);
        double alpha = w * found.alpha;
        for (double low = 0.0, high = w; w != 1.0;) {
            found = moments(m + (1.0 - 1.0 / w) * alpha * v, v);
            const double excess = alpha - w * found.alpha;
            (excess > 0.0 ? high : low) = alpha;
            double next = alpha - excess / (1.0 + (w - 1.0) * found.learned);
            if (!(next > low && next < high)) next = low + 0.5 * (high - low);
            if (std::fabs(next - alpha) <= 1e-15 * alpha || next <= low || next >= high) break;
            alpha = next;
        }
        return {alpha, w * precision_gained(found.learned, found.left, v)};
    }

  private:
    struct Moments {
        double alpha, learned, left;  // the derivative of log Z; fractions of the variance
    };

    static Moments moments(double m, double v) {
        if (m >= -0.5 * v) return of_mixture(m, v);
        const Moments other = of_mixture(-m - v, v);
        return {1.0 - other.alpha, other.learned, other.left};
    }

    static Moments of_mixture(double m, double v) {
        constexpr int n = parts;
        double log_part[n], alpha[n], learned[n], left[n];
        for (int i = 0; i < n; ++i) {
            const double noise = 1.0 / (slope[i] * slope[i]), s2 = noise + v, s = std::sqrt(s2), t = m / s;
            const Hazard h = hazard(t);
            log_part[i] = std::log(weight[i]) + log_scaled_cdf(t) - 0.5 * t * t;
            alpha[i] = h.v / s;
            learned[i] = h.v * h.v_plus_x * v / s2;
            left[i] = (noise + v * h.variance) / s2;
        }
        const double top = *std::max_element(log_part, log_part + n);
        double total = 0.0, part[n];
        Moments mean{0.0, 0.0, 0.0};
        for (int i = 0; i < n; ++i) total += part[i] = std::exp(log_part[i] - top);
        for (int i = 0; i < n; ++i) {
            mean.alpha += part[i] / total * alpha[i];
            mean.learned += part[i] / total * learned[i];
            mean.left += part[i] / total * left[i];
        }
        double spread = 0.0;  // of the means of the parts
        for (int i = 0; i < n; ++i) spread += part[i] / total * (alpha[i] - mean.alpha) * (alpha[i] - mean.alpha);
        return {mean.alpha, std::max(mean.learned - v * spread, 0.0), mean.left + v * spread};
    }
};

using BayesianRules = RuleList<BayesPA, GibbsPA, GibbsPAExact, Probit, Logistic>;

}  // namespace confidently
