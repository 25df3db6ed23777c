// The step of a rule: how far to move the mean and how much precision to add along the example.
#pragma once

#include <algorithm>
#include <cmath>

namespace confidently {

struct Step {
    double alpha = 0.0;  // mean       <- mean + alpha Sigma z
    double zeta = 0.0;   // Sigma^-1   <- (Sigma^-1 + zeta z z') / scale
    double scale = 1.0;
    bool infeasible = false;  // the rule would act, but no classifier in the ellipsoid satisfies it

    bool acts() const { return alpha != 0.0 || zeta != 0.0; }
};

// zeta of a step after which a fraction `learned` of the variance v along z is gone and `left` remains. At least 1e-12
// of a variance remains, which preserves the digits of Sigma.
inline double precision_gained(double learned, double left, double v) {
    constexpr double least = 1e-12;
    return std::min(learned, 1.0 - least) / (std::max(left, least) * v);
}

// The step of a hard rule for an example of weight w. Once the constraint is met there is nothing left to weigh: a
// weight above 1 would overshoot it, and above 2 each step would lead farther away from it.
inline Step weighted(Step step, double w) {
    if (w >= 1.0) return step;
    return {w * step.alpha, w * step.zeta, step.scale == 1.0 ? 1.0 : std::pow(step.scale, w), step.infeasible};
}

// The rules of a header; table.hpp joins them.
template <class... Rules>
struct RuleList {};

}  // namespace confidently
