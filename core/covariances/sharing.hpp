// How the columns of weights share a dense covariance, and how exact its entries are.
#pragma once

namespace confidently {

enum class Sharing {
    joint,        // one covariance over all weights
    shared,       // one covariance over the features, the same in every column
    independent,  // one covariance per column
};

// Rounding errors in the entries of a dense covariance, relative to the prior. Smaller variances are noise, and a step
// divided by one would be noise too.
template <class Real>
inline constexpr double kDenseNoise = sizeof(Real) == 4 ? 1e-6 : 1e-14;

}  // namespace confidently
