// How the columns of weights share a dense covariance, and how exact its entries are.
#pragma once

#include "covariances/weights.hpp"

namespace confidently {

enum class Sharing {
    joint,        // one covariance over all weights
    shared,       // one covariance over the features, the same in every column
    independent,  // one covariance per column
};

// The fraction of a gain of precision that a covariance keeps. The nearest Gaussian with one covariance for all columns has the
// mean of their precisions, and only those of a pair have gained any.
inline double sharing_gain(Sharing sharing, Pair p, int columns) {
    return sharing == Sharing::shared ? (p.both() ? 2.0 : 1.0) / columns : 1.0;
}

// Rounding errors in the entries of a dense covariance, relative to the prior. Smaller variances are noise, and a step
// divided by one would be noise too.
template <class Real>
inline constexpr double kDenseNoise = sizeof(Real) == 4 ? 1e-6 : 1e-14;

}  // namespace confidently
