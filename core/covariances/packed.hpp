// The diagonal covariance of the most common learner (one column of weights, no averaging, a rule that never rescales
// Sigma), a second time for speed: the mean and variance of a feature are adjacent, and one vector operation serves
// both.
#pragma once

#include <algorithm>
#include <cmath>

#include "covariances/weights.hpp"
#include "rules/step.hpp"

namespace confidently {

template <class Real, bool moments>
struct PackedDiagonal {
    static constexpr bool one_column = true;
    static constexpr double kLeastGain = 1e-290;  // a zeta that has a reciprocal

    using Two = double __attribute__((vector_size(16)));

    Weights<Real> weights;  // planes: mean, variance; one column and no spare one
    double floor;           // as in ScaledVariances

    Real* at(std::int32_t column) const { return weights.base + 2 * weights.position(column); }

    // sum of (x, x^2) * (mean, variance)
    CONFIDENTLY_ALONE Margin score(const Row& row, Pair p) const {
        Two sum[4] = {};
        row.each_in_lanes([&](int lane, std::int32_t j, double x) {
            const Real* f = at(j);
            sum[lane] += Two{x, x * x} * Two{double(f[0]), double(f[1])};
        });
        const Two total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        return {p.sign() * total[0], total[1]};
    }

    double variance(const Row& row, Pair p) const { return score(row, p).variance; }

    // Two features at a time: the divisions dominate the cost of an update.
    CONFIDENTLY_ALONE double update(const Row& row, Pair p, const Margin& margin, const Step& step, double) const {
        const double alpha = p.sign() * step.alpha;
        // moments: a share 1/(1/zeta + v) of x^2 s^2 is lost, written so that nothing cancels
        const double inverse = 1.0 / std::max(step.zeta, kLeastGain), v = margin.variance, whole = inverse + v;
        double largest[2] = {0.0, 0.0};
        const auto two = [&](Real* f, Real* g, double x, double y) {
            const Two z = {x, y}, s = {double(f[1]), double(g[1])};
            const Two change = alpha * z * s;
            const Two left = moments ? s * ((inverse + (v - z * z * s)) / whole) : s / (1.0 + step.zeta * z * z * s);
            const double a = f[0] + change[0], b = g[0] + change[1];
            f[0] = static_cast<Real>(a);
            f[1] = static_cast<Real>(std::max(left[0], floor));
            g[0] = static_cast<Real>(b);
            g[1] = static_cast<Real>(std::max(left[1], floor));
            largest[0] = std::max(largest[0], std::fabs(a));
            largest[1] = std::max(largest[1], std::fabs(b));
        };
        std::int32_t i = 0;
        for (; i + 2 <= row.size; i += 2) two(at(row.column[i]), at(row.column[i + 1]), row.value[i], row.value[i + 1]);
        Real none[2] = {Real(0), Real(1)};
        if (i < row.size && row.intercept)
            two(at(row.column[i]), at(kIntercept), row.value[i], 1.0);
        else if (i < row.size)
            two(at(row.column[i]), none, row.value[i], 0.0);
        else if (row.intercept)
            two(at(kIntercept), none, 1.0, 0.0);
        return std::max(largest[0], largest[1]);
    }
};

}  // namespace confidently
