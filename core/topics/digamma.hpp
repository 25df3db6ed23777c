// The digamma function of positive arguments.
#pragma once

#include <cmath>

namespace confidently {

// Recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.3.5, 6.3.18); error below 1e-14 (1 + |value|).
inline double digamma(double x) {
    double below = 0.0;
    for (; x < 10.0; x += 1.0) below += 1.0 / x;
    const double t = 1.0 / (x * x);
    const double series =
        t * (1.0 / 12 -
             t * (1.0 / 120 - t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760 - t / 12))))));
    return std::log(x) - 0.5 / x - series - below;
}

}  // namespace confidently
