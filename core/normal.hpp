// The normal distribution's tail functions, accurate for arguments far beyond where Phi underflows.
#pragma once

#include <cmath>

namespace confidently {

inline constexpr double kSqrt2 = 1.4142135623730950488;
inline constexpr double kSqrt2Pi = 2.5066282746310005024;
// Below this argument exp(x^2/2) erfc(x/sqrt 2) would lose digits and soon overflow; the asymptotic series has
// reached machine precision there after ten terms.
inline constexpr double kTailSeries = -25.0;

inline double normal_density(double x) { return std::exp(-0.5 * x * x) / kSqrt2Pi; }
inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / kSqrt2); }

// 1 - S(x), where Phi(x) = density(x)/|x| S(x) for x -> -infinity:  1/x^2 - 3/x^4 + 15/x^6 - ...
inline double tail_defect(double x) {
    const double inverse = 1.0 / (x * x);
    double term = inverse, sum = 0.0;
    for (int n = 1; n <= 10; ++n) {
        sum += term;
        term *= -(2.0 * n + 1.0) * inverse;
    }
    return sum;
}

// log Phi(x) + x^2/2 for x <= 0
inline double log_scaled_cdf(double x) {
    if (x < kTailSeries) return std::log1p(-tail_defect(x)) - std::log(-x * kSqrt2Pi);
    return std::log(normal_cdf(x)) + 0.5 * x * x;
}

inline double log_normal_cdf(double x) {
    return x > 0.0 ? std::log1p(-0.5 * std::erfc(x / kSqrt2)) : log_scaled_cdf(x) - 0.5 * x * x;
}

// The truncated normal's V = density(x)/Phi(x), and V + x without the cancellation of the left tail.
struct Hazard {
    double v, v_plus_x;
};

inline Hazard hazard(double x) {
    if (x < kTailSeries) {
        const double defect = tail_defect(x), series = 1.0 - defect;
        return {-x / series, -x * defect / series};
    }
    const double v = normal_density(x) / normal_cdf(x);
    return {v, v + x};
}

}  // namespace confidently
