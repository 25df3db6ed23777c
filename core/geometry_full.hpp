// A full covariance, row by row: O(D^2) memory traffic an update.
//   FullGeometry    over all weights of a learner: D = columns x features, class after class (Yang et al. 2009, sec. 2.4)
//   SharedGeometry  one covariance of the features for all classes: v = 2 x'Sx, S^-1 += zeta xx'
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "scale.hpp"
#include "step.hpp"
#include "weights.hpp"

namespace confidently {

// Symmetric matrices of size n, one a learner, stored whole.
template <class Real>
struct Symmetric {
    Real* base;
    std::int64_t n;

    Real* row(int learner, std::int64_t i) const { return base + (learner * n + i) * n; }

    // out += x * (row i)
    void accumulate(int learner, std::int64_t i, double x, double* out) const {
        const Real* s = row(learner, i);
        for (std::int64_t j = 0; j < n; ++j) out[j] += x * s[j];
    }

    // S -= u u'. The product of two numbers commutes, so S stays symmetric to the last bit.
    void subtract_outer(int learner, const std::vector<double>& u) const {
        for (std::int64_t i = 0; i < n; ++i) {
            Real* s = row(learner, i);
            const double ui = u[i];
            for (std::int64_t j = 0; j < n; ++j) s[j] = static_cast<Real>(s[j] - ui * u[j]);
        }
    }

    void multiply(int learner, double by) const {
        Real* s = row(learner, 0);
        for (std::int64_t i = 0; i < n * n; ++i) s[i] = static_cast<Real>(by * s[i]);
    }
};

// Rounding leaves errors of this share of the prior in a dense covariance's entries; what lies below is noise, and a
// step divided by it would be noise too.
template <class Real>
inline constexpr double kDenseNoise = sizeof(Real) == 4 ? 1e-6 : 1e-14;

template <class Real, bool shared>
struct DenseGeometry {
    static constexpr bool binary_only = false;

    struct Glance {
        double score, variance;
        std::vector<double> direction;  // Sigma z; shared: Sigma x
        bool spent;                     // no variance left along z: the mean may move, the covariance is kept
    };

    Weights<Real> weights;
    Scales scales;
    Symmetric<Real> sigma;
    double least;  // smallest variance along z, as a share of |z|^2, that is still learned from

    Glance look(const Row& row, Pair p) const {
        Glance g{weights.score(row, p), 0.0, std::vector<double>(static_cast<std::size_t>(sigma.n)), false};
        const int learner = learner_of(p);
        const double sides = p.both() ? 2.0 : 1.0;
        double norm = 0.0;
        row.each([&](std::int32_t j, double x) {
            norm += x * x;
            if (shared) return sigma.accumulate(learner, weights.position(j), x, g.direction.data());
            if (p.plus != kNone) sigma.accumulate(learner, coordinate(j, p.plus), x, g.direction.data());
            if (p.minus != kNone) sigma.accumulate(learner, coordinate(j, p.minus), -x, g.direction.data());
        });
        const double scale = scales.of(p.column());
        for (double& q : g.direction) q *= scale;
        row.each([&](std::int32_t j, double x) {
            if (shared) {
                g.variance += sides * x * g.direction[weights.position(j)];
                return;
            }
            if (p.plus != kNone) g.variance += x * g.direction[coordinate(j, p.plus)];
            if (p.minus != kNone) g.variance -= x * g.direction[coordinate(j, p.minus)];
        });
        const double floor = least * norm * sides;
        g.spent = g.variance <= floor;
        if (g.variance <= 0.0) std::fill(g.direction.begin(), g.direction.end(), 0.0);
        if (g.spent) g.variance = floor;
        return g;
    }

    double variance(const Row& row, Pair p) const { return look(row, p).variance; }

    void move(const Row&, Pair p, Glance& g, const Step& step, double age) const {
        move_mean(p, g, step.alpha, age);
        if (g.spent) return;
        const int learner = learner_of(p);
        const double scale = scales.of(p.column());
        // shared: the precision gained along x is zeta, the variance along x is half the margin's
        const double v = shared && p.both() ? 0.5 * g.variance : g.variance;
        if (step.zeta > 0.0) {
            const double size = std::sqrt(1.0 / ((1.0 / step.zeta + v) * scale));
            for (double& q : g.direction) q *= size;
            sigma.subtract_outer(learner, g.direction);
        }
        if (step.scale != 1.0)
            scales.stretch<Real>(p.column(), step.scale, [&](double total) { sigma.multiply(learner, total); });
    }

  private:
    int learner_of(Pair p) const { return scales.independent ? p.column() : 0; }

    std::int64_t block(int column) const { return scales.independent || shared ? 0 : column * weights.n_features; }
    std::int64_t coordinate(std::int32_t j, int column) const { return block(column) + weights.position(j); }

    void move_mean(Pair p, const Glance& g, double alpha, double age) const {
        for (int c = 0; c < weights.columns; ++c) {
            const bool moves = c == p.plus || c == p.minus || (!scales.independent && !shared);
            if (!moves) continue;
            const double size = shared && c == p.minus ? -alpha : alpha;
            const double* q = g.direction.data() + block(c);
            for (std::int64_t j = 0; j < weights.n_features; ++j)
                weights.add(weights.base + j * weights.planes * weights.columns, c, size * q[j], age);
        }
    }
};

template <class Real>
using FullGeometry = DenseGeometry<Real, false>;
template <class Real>
using SharedGeometry = DenseGeometry<Real, true>;

}  // namespace confidently
