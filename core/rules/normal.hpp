// Functions of the normal distribution: its tails, accurate far beyond where Phi underflows, and quantiles.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

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

// A quotient of two polynomials of degree 7, from the constant terms on.
struct Quotient {
    double numerator[8], denominator[8];

    double operator()(double x) const {
        double above = numerator[7], below = denominator[7];
        for (std::size_t i = 7; i-- > 0;) above = above * x + numerator[i], below = below * x + denominator[i];
        return above / below;
    }
};

// The quantile of p: Phi^-1(p) by the quotients of Wichura, Applied Statistics 37, 1988 (AS 241, PPND16), whose
// relative error is about 1e-16.
struct NormalQuantile {
    static constexpr double kCenter = 0.425;                // |p - 1/2| up to which the first quotient serves
    static constexpr double kCenterSquared = 0.180625;      // its argument is this minus the square of p - 1/2
    static constexpr double kNear = 5.0, kNearStart = 1.6;  // of sqrt(-log(tail)): end and start of the second
    static constexpr Quotient center{
        {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
         4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3},
        {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3, 2.1213794301586595867e+4,
         3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3}};
    static constexpr Quotient near{
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
    static constexpr Quotient far{
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};
};

inline double normal_quantile(double p) {
    const double q = p - 0.5;
    if (std::fabs(q) <= NormalQuantile::kCenter)
        return q * NormalQuantile::center(NormalQuantile::kCenterSquared - q * q);
    const double tail = q < 0.0 ? p : 1.0 - p;
    if (tail <= 0.0) return std::copysign(std::numeric_limits<double>::infinity(), q);
    const double r = std::sqrt(-std::log(tail));
    const double z = r <= NormalQuantile::kNear ? NormalQuantile::near(r - NormalQuantile::kNearStart)
                                                : NormalQuantile::far(r - NormalQuantile::kNear);
    return std::copysign(z, q);
}

}  // namespace confidently
