// The variances of a diagonal covariance, as a scale times the stored numbers.
#pragma once

#include <algorithm>

#include "covariances/scale.hpp"
#include "covariances/weights.hpp"

namespace confidently {

template <class Real>
struct ScaledVariances {
    Scales scales;
    double
        floor;  // lower bound: a hard constraint met twice would drive a variance to 0 and everything after it to NaN

    struct Column {
        double scale, floor;

        CONFIDENTLY_INLINE double read(double stored) const { return std::max(scale * stored, floor); }
    };

    // The number to store after a gain of precision. inverse: 1/scale.
    struct Gain {
        double inverse;

        CONFIDENTLY_INLINE double updated(double, double s, double gained) const {
            return s / (1.0 + gained * s) * inverse;
        }
    };

    Column column(int k) const { return {scales.of(k), floor}; }
    Gain gain(int k) const { return {1.0 / scales.of(k)}; }

    void rescale(const Weights<Real>& weights, int column, double by) const {
        scales.multiply<Real>(column, by, [&](double total) { multiply(weights, column, total); });
    }

    void multiply(const Weights<Real>& weights, int column, double by) const {
        each_variance(weights, scales.independent ? column : kNone,
                      [&](Real& stored) { stored = static_cast<Real>(std::max(by * double(stored), floor)); });
    }
};

}  // namespace confidently
