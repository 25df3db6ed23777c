// The ellipsoid methods of Yang, Jin & Ye (2009): their steps rescale the whole of Sigma.
#pragma once

#include <cmath>

#include "rules/step.hpp"

namespace confidently {

struct CELLIP {
    static constexpr const char* name = "cellip";
    static constexpr int parameters = 2;
    static constexpr bool rescales = true;
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
    static constexpr bool rescales = true;
    double gamma, b, c;
    Step operator()(double m, double v, double w, double updates) const {
        if (m > 0.0) return {};
        const double ck = c * std::pow(b, updates);
        return weighted({(gamma - m) / v, ck / ((1.0 - ck) * v), 1.0 / (1.0 - ck)}, w);
    }
};

struct IELLIPMargin {
    static constexpr const char* name = "iellip_margin";
    static constexpr int parameters = 2;
    static constexpr bool rescales = true;
    double gamma, b;
    Step operator()(double m, double v, double w, double updates) const {
        if (m >= gamma) return {};
        const double ck = std::pow(b, updates + 1.0);
        return weighted({gamma / std::sqrt(v), ck / ((1.0 - ck) * v), 1.0 / (1.0 - ck)}, w);
    }
};

using EllipsoidRules = RuleList<CELLIP, IELLIP, IELLIPMargin>;

}  // namespace confidently
