// Confidence-weighted rules and their relatives.
#pragma once

#include <algorithm>
#include <cmath>

#include "rules/step.hpp"

namespace confidently {

struct SOP {
    static constexpr const char* name = "sop";
    static constexpr int parameters = 0;
    Step operator()(double m, double v, double w) const {
        return m <= 0.0 ? Step{(1.0 - m) / (v + 1.0 / w), w} : Step{};
    }
};

// alpha phi / sqrt(u), where u is the variance of the margin after the step (Crammer et al. 2008, eq. 12 and 14)
inline double cw_zeta(double alpha, double v, double phi) {
    const double p = alpha * v * phi;
    return alpha * phi * (p + std::sqrt(p * p + 4.0 * v)) / (2.0 * v);
}

// Crammer et al. 2008, eq. 22; for m > 0 rewritten so that nothing cancels near m = phi sqrt(v)
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

using ConfidenceWeightedRules = RuleList<SOP, CWStdev, CWVar, AROW, SCW1, SCW2, NHERD>;

}  // namespace confidently
