// The one number by which a stored covariance is to be multiplied: the ellipsoid rules stretch and shrink the whole
// of Sigma with every update, and that must not cost a pass over it.
#pragma once

#include <cmath>
#include <cstdint>

namespace confidently {

// The scale is folded into the stored numbers before it can take them out of their type's range.
template <class Real>
inline constexpr double kLargestScale = sizeof(Real) == 4 ? 1e12 : 1e100;

// An ellipsoid may not grow beyond this multiple of its prior: rules whose parameters make it grow for ever (IELLIP with
// b and c near 1) would take it out of any type's range.
inline constexpr double kLargestStretch = 1e24;

struct Scales {
    double* scale;     // one a learner
    double* folded;    // product of the scales folded away so far: what a feature or class that comes late starts with
    bool independent;  // one learner a column (one-vs-rest), else one for all columns

    double& of(int column) const { return scale[independent ? column : 0]; }

    // multiplies the scale; fold(total) is called with the number to multiply into the store when it must be
    template <class Real, class Fold>
    void stretch(int column, double by, Fold&& fold) const {
        double& total = of(column);
        double& before = folded[independent ? column : 0];
        if (by > 1.0 && before * total * by > kLargestStretch) return;
        total *= by;
        if (total > kLargestScale<Real> || total < 1.0 / kLargestScale<Real>) {
            // by a power of two, so that nothing is rounded: a feature that comes late gets what it would have had
            int exponent;
            const double mantissa = std::frexp(total, &exponent), power = std::ldexp(1.0, exponent);
            fold(power);
            before *= power;
            total = mantissa;
        }
    }
};

}  // namespace confidently
