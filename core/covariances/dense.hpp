// A full or shared covariance row by row, for matrices so small that they stay in the cache: O(D^2) an update, and no
// products of matrices to be called for (gram.hpp has the blocks that larger ones are learned in).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "covariances/gram.hpp"
#include "covariances/scale.hpp"
#include "rules/step.hpp"
#include "covariances/weights.hpp"

namespace confidently {

// Symmetric matrices of size n, one a learner, stored whole.
struct Symmetric {
    double* base;
    std::int64_t n;

    double* row(int learner, std::int64_t i) const { return base + (learner * n + i) * n; }

    // out += x * (row i)
    void accumulate(int learner, std::int64_t i, double x, double* out) const {
        const double* s = row(learner, i);
        for (std::int64_t j = 0; j < n; ++j) out[j] += x * s[j];
    }

    // S -= u u'. The product of two numbers commutes, so S stays symmetric to the last bit.
    void subtract_outer(int learner, const double* u) const {
        for (std::int64_t i = 0; i < n; ++i) {
            double* s = row(learner, i);
            const double ui = u[i];
            if (ui == 0.0) continue;
            for (std::int64_t j = 0; j < n; ++j) s[j] -= ui * u[j];
        }
    }

    void multiply(int learner, double by) const {
        double* s = row(learner, 0);
        for (std::int64_t i = 0; i < n * n; ++i) s[i] *= by;
    }
};

template <class Real>
struct DenseGeometry {
    static constexpr bool binary_only = false;

    struct Glance {
        double score, variance;
        bool spent, lost;               // as in GramPass
        std::vector<double> direction;  // Sigma z; shared: Sigma x
    };

    Weights<Real> weights;
    Scales scales;
    Symmetric sigma;
    Sharing sharing;
    double least;

    Glance look(const Row& row, Pair p) const {
        Glance g = unfloored(row, p);
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        const double floor = least * norm * (p.both() ? 2.0 : 1.0);
        g.spent = g.variance <= floor;
        g.lost = g.variance <= 0.0;
        if (g.spent) g.variance = floor;
        return g;
    }

    double variance(const Row& row, Pair p) const { return std::max(unfloored(row, p).variance, 0.0); }

    void move(const Row&, Pair p, Glance& g, const Step& step, double age) const {
        if (g.lost) return;
        move_mean(p, g, step.alpha, age);
        if (g.spent) return;
        if (step.zeta > 0.0) {
            const double size = 1.0 / std::sqrt((1.0 / step.zeta + g.variance / sides(p)) * scales.of(p.column()));
            for (double& entry : g.direction) entry *= size;
            sigma.subtract_outer(learner(p), g.direction.data());
        }
        if (step.scale != 1.0)
            scales.stretch<Real>(p.column(), step.scale, [&](double total) { sigma.multiply(learner(p), total); });
    }

  private:
    Glance unfloored(const Row& row, Pair p) const {
        Glance g{weights.score(row, p), 0.0, false, false, std::vector<double>(static_cast<std::size_t>(sigma.n))};
        double* q = g.direction.data();
        row.each([&](std::int32_t j, double x) {
            each_share(j, p, x, [&](std::int64_t i, double z) { sigma.accumulate(learner(p), i, z, q); });
        });
        const double scale = scales.of(p.column());
        for (double& entry : g.direction) entry *= scale;
        row.each([&](std::int32_t j, double x) {
            each_share(j, p, x, [&](std::int64_t i, double z) { g.variance += z * q[i]; });
        });
        g.variance *= sides(p);
        return g;
    }

    int learner(Pair p) const { return scales.independent ? p.column() : 0; }
    double sides(Pair p) const { return sharing == Sharing::shared && p.both() ? 2.0 : 1.0; }
    std::int64_t first(int column) const { return sharing == Sharing::joint ? column * weights.n_features : 0; }

    // calls f(i, z_i) for the entries of z that a feature has; shared: x, whose two sides are alike
    template <class F>
    void each_share(std::int32_t j, Pair p, double x, F&& f) const {
        const std::int64_t at = weights.position(j);
        if (sharing != Sharing::joint) return f(at, p.both() ? x : p.sign() * x);
        if (p.plus != kNone) f(first(p.plus) + at, x);
        if (p.minus != kNone) f(first(p.minus) + at, -x);
    }

    void move_mean(Pair p, const Glance& g, double alpha, double age) const {
        for (int c = 0; c < weights.columns; ++c) {
            if (sharing != Sharing::joint && c != p.plus && c != p.minus) continue;
            const double size = sharing == Sharing::shared && p.both() && c == p.minus ? -alpha : alpha;
            const double* q = g.direction.data() + first(c);
            for (std::int64_t j = 0; j < weights.n_features; ++j)
                weights.add(weights.base + j * weights.planes * weights.columns, c, size * q[j], age);
        }
    }
};

}  // namespace confidently
