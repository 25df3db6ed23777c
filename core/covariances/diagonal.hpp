// A diagonal covariance per class. The new Gaussian is projected onto the diagonals either by its precisions (Crammer
// et al. 2008, eq. 15), s_j <- scale s_j / (1 + zeta x_j^2 s_j), or by its moments, s_j <- scale (s_j - zeta/(1 + zeta
// v) (x_j s_j)^2). The latter is the former with zeta/(1 + zeta (v - x_j^2 s_j)) in place of zeta. Variances defines
// how s_j is stored.
#pragma once

#include <algorithm>
#include <vector>

#include "covariances/columns.hpp"
#include "covariances/forgetting.hpp"
#include "covariances/packed_avx2.hpp"
#include "covariances/settings.hpp"
#include "covariances/variances.hpp"
#include "covariances/weights.hpp"
#include "rules/step.hpp"

namespace confidently {

template <class Real, class Variances = ScaledVariances<Real>>
struct DiagonalCovariance {
    static constexpr bool one_column = false;
    using Columns = ColumnScores;

    Weights<Real> weights;
    Variances variances;
    bool moments;  // whether the variances of the new Gaussian are kept, not its precisions

    CONFIDENTLY_ALONE Margin score(const Row& row, Pair p) const {
        Margin margin{0.0, 0.0};
        const auto sigma = variances.column(p.column());  // both sides of a pair belong to one learner
        if (p.both()) {
            row.each([&, sigma](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                margin.mean += x * (double(f[p.plus]) - double(f[p.minus]));
                margin.variance +=
                    x * x * (sigma.read(f[weights.spacing + p.plus]) + sigma.read(f[weights.spacing + p.minus]));
            });
        } else {
            row.each([&, sigma, c = p.column()](std::int32_t j, double x) {
                const Real* f = weights.at(j);
                margin.mean += x * f[c];
                margin.variance += x * x * sigma.read(f[weights.spacing + c]);
            });
            margin.mean *= p.sign();
        }
        return margin;
    }

    double variance(const Row& row, Pair p) const { return score(row, p).variance; }

    // Of four rows, each with a pair of its own, whose sums do not wait for one another.
    void variances_of_four(const Row* rows, const Pair* pairs, double* out) const {
        const std::int32_t common = std::min({rows[0].size, rows[1].size, rows[2].size, rows[3].size});
        double sum[4] = {};
        const auto term = [&](int r, std::int32_t j, double x) {
            const Pair p = pairs[r];
            const auto sigma = variances.column(p.column());
            const Real* s = weights.at(j) + weights.spacing;
            return x * x * (p.both() ? sigma.read(s[p.plus]) + sigma.read(s[p.minus]) : sigma.read(s[p.column()]));
        };
        for (std::int32_t i = 0; i < common; ++i)
            for (int r = 0; r < 4; ++r) sum[r] += term(r, rows[r].column[i], rows[r].value[i]);
        for (int r = 0; r < 4; ++r) {
            for (std::int32_t i = common; i < rows[r].size; ++i) sum[r] += term(r, rows[r].column[i], rows[r].value[i]);
            out[r] = rows[r].intercept ? sum[r] + term(r, kIntercept, 1.0) : sum[r];
        }
    }

    double update(const Row& row, Pair p, const Margin& margin, const Step& step, double age) const {
        double largest = 0.0;
        if (p.plus != kNone) largest = update_column(row, p.plus, step.alpha, step.zeta, margin.variance, age);
        if (p.minus != kNone)
            largest = std::max(largest, update_column(row, p.minus, -step.alpha, step.zeta, margin.variance, age));
        if (step.scale != 1.0) variances.rescale(weights, p.column(), step.scale);
        return largest;
    }

    void score_columns(const Row& row, Columns& columns) const {
        columns.mean.resize(static_cast<std::size_t>(weights.columns));
        columns.variance.resize(static_cast<std::size_t>(weights.columns));
        int k = 0;
        for (; k + 4 <= weights.columns; k += 4) score_some<4>(row, k, columns);
        for (; k < weights.columns; ++k) score_some<1>(row, k, columns);
    }

    double update_columns(const Row& row, const Columns& columns, const std::vector<double>& alpha,
                          const std::vector<double>& zeta, double age) const {
        double largest = 0.0;
        for (int k = 0; k < weights.columns; ++k)
            largest = std::max(largest, update_column(row, k, alpha[k], zeta[k], columns.variance[k], age));
        return largest;
    }

    void forget(double w) const
        requires requires(const Variances& v, const Weights<Real>& all) { v.forget(all, 1.0); }
    {
        variances.forget(weights, w);
    }

  private:
    // The scores and variances of n columns from k on, whose sums stay in registers.
    template <int n>
    void score_some(const Row& row, int k, Columns& columns) const {
        using Column = decltype(variances.column(0));
        double mean[n] = {}, variance[n] = {};
        Column sigma[n];
        for (int c = 0; c < n; ++c) sigma[c] = variances.column(k + c);
        row.each([&](std::int32_t j, double x) {
            const Real *m = weights.at(j) + k, *s = m + weights.spacing;
            for (int c = 0; c < n; ++c) {
                mean[c] += x * m[c];
                variance[c] += x * x * sigma[c].read(s[c]);
            }
        });
        std::copy(mean, mean + n, columns.mean.begin() + k);
        std::copy(variance, variance + n, columns.variance.begin() + k);
    }

    double update_column(const Row& row, int column, double alpha, double zeta, double v, double age) const {
        return moments ? update_by<true>(row, column, alpha, zeta, v, age)
                       : update_by<false>(row, column, alpha, zeta, v, age);
    }

    template <bool by_moments>
    CONFIDENTLY_ALONE double update_by(const Row& row, int column, double alpha, double zeta, double v,
                                       double age) const {
        const auto sigma = variances.column(column);
        const auto gain = variances.gain(column);
        double largest = 0.0;
        row.each([&, sigma, gain](std::int32_t j, double x) {
            Real* f = weights.at(j);
            const double stored = f[weights.spacing + column], s = sigma.read(stored);
            largest = std::max(largest, weights.add(f, column, alpha * x * s, age));
            const double gained = by_moments ? x * x / (1.0 / zeta + std::max(v - x * x * s, 0.0)) : zeta * x * x;
            f[weights.spacing + column] = static_cast<Real>(gain.updated(stored, s, gained));
        });
        return largest;
    }
};

struct Diagonal {
    static constexpr const char* name = "diag";
    static constexpr int planes = 2;
    static constexpr bool forgets = true;

    template <class Real, class State, class F>
    static void open(const State& state, const Weights<Real>& weights, const Scales& scales,
                     const CovarianceSettings& settings, F&& f) {
        const ScaledVariances<Real> scaled{scales, settings.floor()};
        if (settings.forget > 0.0) {
            double* kept = state.template array<double>("kept", settings.independent ? weights.columns : 1);
            f(DiagonalCovariance<Real, ForgettingVariances<Real>>{
                weights,
                {scaled, settings.prior_variance, settings.min_variance, settings.forget, kept},
                settings.moments});
        } else if (settings.one_column && !weights.average && !settings.rule_rescales && scales.of(0) == 1.0) {
            if (settings.moments)
                open_packed<true>(weights, settings.floor(), f);
            else
                open_packed<false>(weights, settings.floor(), f);
        } else {
            f(DiagonalCovariance<Real>{weights, scaled, settings.moments});
        }
    }

  private:
    template <bool moments, class Real, class F>
    static void open_packed(const Weights<Real>& weights, double floor, F& f) {
#if CONFIDENTLY_X86
        if constexpr (sizeof(Real) == sizeof(double))
            if (usual_simd() >= Simd::avx2) return f(PackedDiagonalAvx2<moments>{weights, floor});
#endif
        f(PackedDiagonal<Real, moments>{weights, floor});
    }
};

}  // namespace confidently
