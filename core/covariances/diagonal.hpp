// A diagonal covariance per class. The precision is projected onto the diagonal (Crammer et al. 2008, eq. 15):
// s_j <- scale s_j / (1 + zeta x_j^2 s_j). What the stored numbers mean is the business of Variances.
#pragma once

#include <algorithm>

#include "covariances/scale.hpp"
#include "rules/step.hpp"
#include "covariances/weights.hpp"

namespace confidently {

// Variances that are the scale times what is stored.
template <class Real>
struct ScaledVariances {
    Scales scales;
    double least;  // no variance counts as smaller: a hard constraint met twice would drive it to 0 and all else to NaN

    struct Column {
        double scale, least;

        CONFIDENTLY_INLINE double read(double stored) const { return std::max(scale * stored, least); }
    };

    // What is to be stored once the precision has grown; inverse: 1/scale.
    struct Gain {
        double inverse;

        CONFIDENTLY_INLINE double learned(double, double s, double gained) const { return s / (1.0 + gained * s) * inverse; }
    };

    Column column(int k) const { return {scales.of(k), least}; }
    Gain gain(int k) const { return {1.0 / scales.of(k)}; }

    void stretch(const Weights<Real>& weights, int column, double by) const {
        scales.stretch<Real>(column, by, [&](double total) { multiply(weights, column, total); });
    }

    void multiply(const Weights<Real>& weights, int column, double by) const {
        each_variance(weights, scales.independent ? column : kNone,
                      [&](Real& stored) { stored = static_cast<Real>(std::max(by * double(stored), least)); });
    }
};

template <class Real, class Variances = ScaledVariances<Real>>
struct DiagonalGeometry {
    static constexpr bool binary_only = false;

    struct Glance {
        double score, variance;
    };

    Weights<Real> weights;
    Variances variances;

    Glance look(const Row& row, Pair p) const {
        Glance g{0.0, 0.0};
        const auto sigma = variances.column(p.column());  // the two sides of a pair are one learner's
        if (p.both()) {
            row.each([&, sigma](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                g.score += x * (double(f[p.plus]) - double(f[p.minus]));
                g.variance += x * x * (sigma.read(f[weights.columns + p.plus]) + sigma.read(f[weights.columns + p.minus]));
            });
        } else {
            row.each([&, sigma, c = p.column()](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                g.score += x * f[c];
                g.variance += x * x * sigma.read(f[weights.columns + c]);
            });
            g.score *= p.sign();
        }
        return g;
    }

    double variance(const Row& row, Pair p) const { return look(row, p).variance; }

    void move(const Row& row, Pair p, const Glance&, const Step& step, double age) const {
        if (p.plus != kNone) move_column(row, p.plus, step.alpha, step, age);
        if (p.minus != kNone) move_column(row, p.minus, -step.alpha, step, age);
        if (step.scale != 1.0) variances.stretch(weights, p.column(), step.scale);
    }

    // A row of weight w has been learned.
    void pass(double w) const
        requires requires(const Variances& v, const Weights<Real>& all) { v.forget(all, 1.0); }
    {
        variances.forget(weights, w);
    }

  private:
    void move_column(const Row& row, int column, double alpha, const Step& step, double age) const {
        const auto sigma = variances.column(column);
        const auto gain = variances.gain(column);
        row.each([&, sigma, gain](std::int32_t j, double x) {
            Real* f = weights.at(j);
            const double stored = f[weights.columns + column], s = sigma.read(stored);
            weights.add(f, column, alpha * x * s, age);
            f[weights.columns + column] = static_cast<Real>(gain.learned(stored, s, step.zeta * x * x));
        });
    }
};

}  // namespace confidently
