// A number that multiplies a stored covariance. The ellipsoid rules rescale the whole of Sigma with every update, which
// must not cost a pass over it.
#pragma once

#include <cmath>
#include <cstdint>

namespace confidently {

// The scale is folded into the stored numbers before it can take them out of the range of their type.
template <class Real>
inline constexpr double kMaxScale = sizeof(Real) == 4 ? 1e12 : 1e100;

// An ellipsoid may not grow beyond this multiple of its prior: rules whose parameters make it grow without bound
// (IELLIP with b and c near 1) would leave the range of any type.
inline constexpr double kMaxGrowth = 1e24;

struct Scales {
    double* scale;     // one per learner
    double* folded;    // product of the scales folded so far: where a feature or class that appears late starts
    bool independent;  // one learner per column (one-vs-rest); otherwise one for all columns

    double& of(int column) const { return scale[independent ? column : 0]; }

    // Multiplies the scale. Calls fold(total) when the store has to be multiplied by total.
    template <class Real, class Fold>
    void multiply(int column, double by, Fold&& fold) const {
        double& total = of(column);
        double& before = folded[independent ? column : 0];
        if (by > 1.0 && before * total * by > kMaxGrowth) return;
        total *= by;
        if (total > kMaxScale<Real> || total < 1.0 / kMaxScale<Real>) {
            // A power of two rounds nothing: a feature that appears late gets exactly what it would have had.
            int exponent;
            const double mantissa = std::frexp(total, &exponent), power = std::ldexp(1.0, exponent);
            fold(power);
            before *= power;
            total = mantissa;
        }
    }
};

}  // namespace confidently
