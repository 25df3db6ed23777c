// The rules: each answers, from the margin m and its variance v alone, how to move the Gaussian.
// docs/mathematics.md states every formula with its source. w is the weight of the example: it multiplies the
// loss where the rule has one (C -> wC, r -> r/w, c -> wc); a hard rule's step is weighted as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "normal.hpp"
#include "step.hpp"

namespace confidently {

// zeta when a share of the variance v along z is learned and the rest is left. A variance may not be learned away
// altogether: a last share of 1e-12 keeps the digits of Sigma alive.
inline double precision_gained(double learned, double left, double v) {
    constexpr double least = 1e-12;
    return std::min(learned, 1.0 - least) / (std::max(left, least) * v);
}

inline Step weighted(Step step, double w) {
    return {w * step.alpha, w * step.zeta, step.scale == 1.0 ? 1.0 : std::pow(step.scale, w), step.infeasible};
}

struct Perceptron {
    static constexpr const char* name = "perceptron";
    static constexpr int parameters = 0;
    Step operator()(double m, double, double w) const { return m <= 0.0 ? weighted({1.0}, w) : Step{}; }
};

struct PA {
    static constexpr const char* name = "pa";
    static constexpr int parameters = 0;
    Step operator()(double m, double v, double w) const { return m < 1.0 ? weighted({(1.0 - m) / v}, w) : Step{}; }
};

struct PA1 {
    static constexpr const char* name = "pa1";
    static constexpr int parameters = 1;
    double C;
    Step operator()(double m, double v, double w) const {
        return m < 1.0 ? Step{std::min(w * C, (1.0 - m) / v)} : Step{};
    }
};

struct PA2 {
    static constexpr const char* name = "pa2";
    static constexpr int parameters = 1;
    double C;
    Step operator()(double m, double v, double w) const {
        return m < 1.0 ? Step{(1.0 - m) / (v + 0.5 / (w * C))} : Step{};
    }
};

struct SOP {
    static constexpr const char* name = "sop";
    static constexpr int parameters = 0;
    Step operator()(double m, double v, double w) const {
        return m <= 0.0 ? weighted({(1.0 - m) / (1.0 + v), 1.0}, w) : Step{};
    }
};

// alpha phi / sqrt(u), u = the margin's variance after the step (Crammer et al. 2008, eq. 12 and 14)
inline double cw_zeta(double alpha, double v, double phi) {
    const double p = alpha * v * phi;
    return alpha * phi * (p + std::sqrt(p * p + 4.0 * v)) / (2.0 * v);
}

// Crammer et al. 2008, eq. 22; for m > 0 multiplied out so that nothing cancels near m = phi sqrt(v)
inline double cw_stdev_alpha(double m, double v, double phi) {
    const double phi2 = phi * phi, psi = 1.0 + 0.5 * phi2, xi = 1.0 + phi2;
    const double root = std::sqrt(0.25 * m * m * phi2 * phi2 + v * phi2 * xi);
    if (m <= 0.0) return (root - m * psi) / (v * xi);
    const double s = phi * std::sqrt(v);
    return (s - m) * (s + m) / (v * (root + m * psi));
}

struct CWStdev {
    static constexpr const char* name = "cw_stdev";
    static constexpr int parameters = 1;
    double phi;
    Step operator()(double m, double v, double w) const {
        if (m >= phi * std::sqrt(v)) return {};
        const double alpha = cw_stdev_alpha(m, v, phi);
        return weighted({alpha, cw_zeta(alpha, v, phi)}, w);
    }
};

struct CWVar {
    static constexpr const char* name = "cw_var";
    static constexpr int parameters = 1;
    double phi;
    Step operator()(double m, double v, double w) const {
        if (m >= phi * v) return {};
        const double p = 1.0 + 2.0 * phi * m;
        const double root = std::sqrt(p * p - 8.0 * phi * (m - phi * v));
        const double alpha = p > 0.0 ? 2.0 * (phi * v - m) / (v * (root + p)) : (root - p) / (4.0 * phi * v);
        return weighted({alpha, 2.0 * alpha * phi}, w);
    }
};

struct AROW {
    static constexpr const char* name = "arow";
    static constexpr int parameters = 1;
    double r;
    Step operator()(double m, double v, double w) const {
        return m < 1.0 ? Step{(1.0 - m) / (v + r / w), w / r} : Step{};
    }
};

struct SCW1 {
    static constexpr const char* name = "scw1";
    static constexpr int parameters = 2;
    double phi, C;
    Step operator()(double m, double v, double w) const {
        if (m >= phi * std::sqrt(v)) return {};
        const double alpha = std::min(w * C, cw_stdev_alpha(m, v, phi));
        return {alpha, cw_zeta(alpha, v, phi)};
    }
};

struct SCW2 {
    static constexpr const char* name = "scw2";
    static constexpr int parameters = 2;
    double phi, C;
    Step operator()(double m, double v, double w) const {
        if (m >= phi * std::sqrt(v)) return {};  // exactly where alpha > 0
        const double phi2 = phi * phi, n = v + 0.5 / (w * C);
        const double g = phi * std::sqrt(phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2));
        const double h = m * (2.0 * n + phi2 * v);
        const double s = phi * std::sqrt(v);
        const double alpha = m > 0.0 ? 2.0 * (s - m) * (s + m) / (g + h) : (g - h) / (2.0 * n * (n + v * phi2));
        return {alpha, cw_zeta(alpha, v, phi)};
    }
};

struct NHERD {
    static constexpr const char* name = "nherd";
    static constexpr int parameters = 1;
    double C;
    Step operator()(double m, double v, double w) const {
        const double c = w * C;
        return m < 1.0 ? Step{(1.0 - m) / (v + 1.0 / c), 2.0 * c + c * c * v} : Step{};
    }
};

struct CELLIP {
    static constexpr const char* name = "cellip";
    static constexpr int parameters = 2;
    double gamma, a;
    Step operator()(double m, double v, double w) const {
        if (m > 0.0) return {};
        const double s = std::sqrt(v), t = (a * gamma - m) / s;
        if (t >= 1.0) return {.infeasible = true};  // the half-space misses the ellipsoid
        return weighted({t / s, 2.0 * t / ((1.0 - t) * v), 1.0 - t * t}, w);
    }
};

struct IELLIP {
    static constexpr const char* name = "iellip";
    static constexpr int parameters = 3;
    double gamma, b, c;
    Step operator()(double m, double v, double w, double updates) const {
        if (m > 0.0) return {};
        const double ck = c * std::pow(b, updates);
        return weighted({(gamma - m) / v, ck / ((1.0 - ck) * v), 1.0 / (1.0 - ck)}, w);
    }
};

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
        // In units of the margin's standard deviation the precision gained, A, is the inverse of the one positive
        // root b of k^2 b^3 + 2 k^2 b^2 - G b - 1; Newton falls onto it monotonically from above.
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
        // The Gaussian tilted by exp(-2c (epsilon - margin)_+) is a mixture of its part beyond the margin and, moved by
        // k s, its part short of it, of weight r; left is the variance that remains, per v.
        const double k = 2.0 * w * c, s = std::sqrt(v), d = (epsilon - m) / s, u = d - k * s;
        const double log_odds = log_scaled_cdf(u) - log_scaled_cdf(-d);
        const double r = 1.0 / (1.0 + std::exp(-log_odds)), rest = 1.0 / (1.0 + std::exp(log_odds));
        const Hazard above = hazard(-d), below = hazard(u);
        const double apart = above.v_plus_x + below.v_plus_x;
        const double left = rest * above.variance + r * below.variance + r * rest * apart * apart;
        if (left < 0.9) return {k * r, precision_gained(1.0 - left, left, v)};
        // Little is learned: 1 - left, with its leading terms cancelled by hand.
        const double kappa = k * r * (u <= 0.0 ? (below.v_plus_x - d) / s + k * r : below.v / s - k * rest);
        return {k * r, precision_gained(std::max(kappa, 0.0) * v, left, v)};
    }
};

struct Probit {
    static constexpr const char* name = "probit";
    static constexpr int parameters = 1;
    double noise;
    Step operator()(double m, double v, double w) const {
        const double s2 = noise * noise + v, s = std::sqrt(s2);
        const Hazard h = hazard(m / s);
        const double left = (noise * noise + v * h.variance) / s2;
        return weighted({h.v / s, precision_gained(h.v * h.v_plus_x * v / s2, left, v)}, w);
    }
};

// The only list of rules.
using AnyRule = std::variant<Perceptron, PA, PA1, PA2, SOP, CWStdev, CWVar, AROW, SCW1, SCW2, NHERD, CELLIP, IELLIP,
                             BayesPA, GibbsPA, GibbsPAExact, Probit>;

// The step of a rule; updates is the number of steps its learner has made so far. Steps that over- or underflowed
// (margins and variances beyond any real data) are no steps.
inline Step step(const AnyRule& rule, double m, double v, double w, double updates) {
    const Step s = std::visit(
        [=](const auto& r) {
            if constexpr (requires { r(m, v, w, updates); })
                return r(m, v, w, updates);
            else
                return r(m, v, w);
        },
        rule);
    return std::isfinite(s.alpha) && std::isfinite(s.zeta) && s.scale > 0.0 && std::isfinite(s.scale) ? s : Step{};
}

template <class R>
R rule_from(const std::vector<double>& p) {
    if (p.size() != static_cast<std::size_t>(R::parameters)) throw std::invalid_argument("wrong number of rule parameters");
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return R{p[I]...}; }(
        std::make_index_sequence<R::parameters>{});
}

inline AnyRule make_rule(const std::string& name, const std::vector<double>& parameters) {
    AnyRule rule;
    const bool found = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((name == std::variant_alternative_t<I, AnyRule>::name &&
                 (rule = rule_from<std::variant_alternative_t<I, AnyRule>>(parameters), true)) ||
                ...);
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
    if (!found) throw std::invalid_argument("no rule is called " + name);
    return rule;
}

inline std::vector<std::string> rule_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::vector<std::string>{std::variant_alternative_t<I, AnyRule>::name...};
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
}

}  // namespace confidently
