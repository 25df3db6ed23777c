// A diagonal covariance per class. The precision is projected onto the diagonal (Crammer et al. 2008, eq. 15):
// s_j <- scale s_j / (1 + zeta x_j^2 s_j).
#pragma once

#include <algorithm>

#include "scale.hpp"
#include "step.hpp"
#include "weights.hpp"

namespace confidently {

template <class Real>
struct DiagonalGeometry {
    static constexpr bool binary_only = false;

    struct Glance {
        double score, variance;
    };

    Weights<Real> weights;
    Scales scales;
    double least;  // no variance counts as smaller: a hard constraint met twice would drive it to 0 and all else to NaN

    double sigma(const Real* f, int column, double scale) const {
        return std::max(scale * double(f[weights.columns + column]), least);
    }

    Glance look(const Row& row, Pair p) const {
        Glance g{0.0, 0.0};
        const double scale = scales.of(p.column());
        if (p.both()) {
            row.each([&](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                g.score += x * (double(f[p.plus]) - double(f[p.minus]));
                g.variance += x * x * (sigma(f, p.plus, scale) + sigma(f, p.minus, scale));
            });
        } else {
            row.each([&, c = p.column()](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                g.score += x * f[c];
                g.variance += x * x * sigma(f, c, scale);
            });
            g.score *= p.sign();
        }
        return g;
    }

    double variance(const Row& row, Pair p) const { return look(row, p).variance; }

    void move(const Row& row, Pair p, const Glance&, const Step& step, double age) const {
        if (p.plus != kNone) move_column(row, p.plus, step.alpha, step, age);
        if (p.minus != kNone) move_column(row, p.minus, -step.alpha, step, age);
        if (step.scale != 1.0) stretch(p.column(), step.scale);
    }

  private:
    void move_column(const Row& row, int column, double alpha, const Step& step, double age) const {
        const double scale = scales.of(column), inverse = 1.0 / scale;
        row.each([&](std::int32_t j, double x) {
            Real* f = weights.at(j);
            const double s = sigma(f, column, scale);
            weights.add(f, column, alpha * x * s, age);
            f[weights.columns + column] = static_cast<Real>(s / (1.0 + step.zeta * x * x * s) * inverse);
        });
    }

    void stretch(int column, double by) const {
        scales.stretch<Real>(column, by, [&](double total) {
            const int first = scales.independent ? column : 0, last = scales.independent ? column + 1 : weights.columns;
            for (std::int64_t j = 0; j < weights.n_features; ++j) {
                Real* f = weights.base + (j * weights.planes + 1) * weights.columns;
                for (int c = first; c < last; ++c) f[c] = static_cast<Real>(std::max(total * double(f[c]), least));
            }
        });
    }
};

}  // namespace confidently
