// How the columns of weights share a dense covariance, and how exact its entries are.
#pragma once

#include "covariances/weights.hpp"

namespace confidently {

enum class Sharing {
    joint,        // one covariance over all weights
    shared,       // one covariance over the features, the same in every column
    independent,  // one covariance per column
};

// The fraction of a gain of precision that a covariance keeps. The nearest Gaussian with one covariance for all columns
// has the mean of their precisions, and only those of a pair have gained any.
inline double sharing_gain(Sharing sharing, Pair p, int columns) {
    return sharing == Sharing::shared ? (p.both() ? 2.0 : 1.0) / columns : 1.0;
}

// Rounding errors in the entries of a dense covariance, relative to the prior. Smaller variances are noise, and a step
// divided by one would be noise too.
template <class Real>
inline constexpr double kDenseNoise = sizeof(Real) == 4 ? 1e-6 : 1e-14;

// Lower bound of a variance along a row of unit norm, relative to the prior's. Without one (0), columns may have any
// units: where they differ by many orders of magnitude, what is small for one is not for another.
template <class Real>
double dense_floor(double min_variance) {
    return min_variance == 0.0 && sizeof(Real) == 8 ? 0.0 : std::max(min_variance, kDenseNoise<Real>);
}

}  // namespace confidently
