// Tail functions of the normal distribution, accurate far beyond where Phi underflows.
#pragma once

#include <cmath>

namespace confidently {

inline constexpr double kSqrt2 = 1.4142135623730950488;
inline constexpr double kSqrt2Pi = 2.5066282746310005024;
// Below this argument exp(x^2/2) erfc(x/sqrt 2) and 1 - V (V + x) lose digits and soon overflow, whereas 25 terms of
// the asymptotic series reach machine precision.
inline constexpr double kTailSeries = -12.0;

inline double normal_density(double x) { return std::exp(-0.5 * x * x) / kSqrt2Pi; }
inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / kSqrt2); }

// Phi(x) = density(x)/|x| (1 - defect) for x -> -infinity. With t_n = 1/x^2, -3/x^4, 15/x^6, ...: defect = sum t_n and
// odd = sum (2n - 1) t_n.
struct Tail {
    double defect, odd;
};

inline Tail tail(double x) {
    const double inverse = 1.0 / (x * x);
    double term = inverse;
    Tail sum{0.0, 0.0};
    for (int n = 1; n <= 25; ++n) {
        sum.defect += term;
        sum.odd += (2.0 * n - 1.0) * term;
        term *= -(2.0 * n + 1.0) * inverse;
    }
    return sum;
}

// log Phi(x) + x^2/2
inline double log_scaled_cdf(double x) {
    if (x < kTailSeries) return std::log1p(-tail(x).defect) - std::log(-x * kSqrt2Pi);
    return (x > 0.0 ? std::log1p(-0.5 * std::erfc(x / kSqrt2)) : std::log(normal_cdf(x))) + 0.5 * x * x;
}

// V = density(x)/Phi(x) of the truncated normal; V + x; and 1 - V (V + x), the variance of a standard normal truncated
// to values below x. The latter two avoid the cancellation of the left tail.
struct Hazard {
    double v, v_plus_x, variance;
};

inline Hazard hazard(double x) {
    if (x < kTailSeries) {
        const Tail t = tail(x);
        const double series = 1.0 - t.defect;
        return {-x / series, -x * t.defect / series, (t.odd + t.defect * t.defect) / (series * series)};
    }
    const double v = normal_density(x) / normal_cdf(x);
    return {v, v + x, 1.0 - v * (v + x)};
}

}  // namespace confidently
