// Sigma = prior_variance I throughout: all that rules without precision (zeta = 0) need.
#pragma once

#include <algorithm>

#include "covariances/columns.hpp"
#include "covariances/scale.hpp"
#include "covariances/settings.hpp"
#include "covariances/weights.hpp"
#include "rules/step.hpp"

namespace confidently {

template <class Real>
struct IdentityCovariance {
    static constexpr bool one_column = false;
    using Columns = ColumnScores;

    Weights<Real> weights;
    double prior_variance;

    CONFIDENTLY_ALONE double variance(const Row& row, Pair p) const {
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        return prior_variance * norm * (p.both() ? 2.0 : 1.0);
    }

    void score_columns(const Row& row, Columns& columns) const {
        columns.mean.resize(static_cast<std::size_t>(weights.columns));
        weights.scores(row, 0, columns.mean.data());
        columns.variance.assign(columns.mean.size(), variance(row, {0, kNone}));
    }

    double update_columns(const Row& row, const Columns&, const std::vector<double>& alpha, const std::vector<double>&,
                          double age) const {
        double largest = 0.0;
        row.each([&](std::int32_t j, double x) {
            for (int k = 0; k < weights.columns; ++k)
                largest = std::max(largest, weights.add(weights.at(j), k, alpha[k] * prior_variance * x, age));
        });
        return largest;
    }

    CONFIDENTLY_ALONE Margin score(const Row& row, Pair p) const {
        double mean = 0.0, norm = 0.0;
        if (p.both())
            row.each([&](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                mean += x * (double(f[p.plus]) - double(f[p.minus]));
                norm += x * x;
            });
        else
            row.each([&, c = p.column()](std::int32_t j, double x) {
                mean += x * weights.at(j)[c];
                norm += x * x;
            });
        return {p.both() ? mean : p.sign() * mean, prior_variance * norm * (p.both() ? 2.0 : 1.0)};
    }

    CONFIDENTLY_ALONE double update(const Row& row, Pair p, const Margin&, const Step& step, double age) const {
        const double size = step.alpha * prior_variance;
        double largest = 0.0;
        row.each([&](std::int32_t j, double x) {
            Real* f = weights.at(j);
            if (p.plus != kNone) largest = std::max(largest, weights.add(f, p.plus, size * x, age));
            if (p.minus != kNone) largest = std::max(largest, weights.add(f, p.minus, -size * x, age));
        });
        return largest;
    }
};

struct Identity {
    static constexpr const char* name = "identity";
    static constexpr int planes = 1;
    static constexpr bool forgets = false;

    template <class Real, class State, class F>
    static void open(const State&, const Weights<Real>& weights, const Scales&, const CovarianceSettings& settings,
                     F&& f) {
        f(IdentityCovariance<Real>{weights, settings.prior_variance});
    }
};

}  // namespace confidently
