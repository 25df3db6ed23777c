// Sigma = prior_variance I for ever: all that rules without precision (zeta = 0) need, in any geometry.
#pragma once

#include "rules/step.hpp"
#include "covariances/weights.hpp"

namespace confidently {

template <class Real>
struct IdentityGeometry {
    static constexpr bool binary_only = false;

    struct Glance {
        double score, variance;
    };

    Weights<Real> weights;
    double prior_variance;

    double variance(const Row& row, Pair p) const {
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        return prior_variance * norm * (p.both() ? 2.0 : 1.0);
    }

    Glance look(const Row& row, Pair p) const { return {weights.score(row, p), variance(row, p)}; }

    void move(const Row& row, Pair p, const Glance&, const Step& step, double age) const {
        const double size = step.alpha * prior_variance;
        row.each([&](std::int32_t j, double x) {
            Real* f = weights.at(j);
            if (p.plus != kNone) weights.add(f, p.plus, size * x, age);
            if (p.minus != kNone) weights.add(f, p.minus, -size * x, age);
        });
    }
};

}  // namespace confidently
