// A full or shared covariance row by row, for matrices small enough to stay in the cache: O(D^2) per update, without
// products of matrices. gram.hpp trains larger ones on chunks of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "covariances/columns.hpp"
#include "covariances/scale.hpp"
#include "covariances/settings.hpp"
#include "covariances/sharing.hpp"
#include "covariances/weights.hpp"
#include "rules/step.hpp"

namespace confidently {

// Symmetric matrices of size n, one per learner, stored whole.
struct Symmetric {
    double* base;
    std::int64_t n;

    double* row(int learner, std::int64_t i) const { return base + (learner * n + i) * n; }

    // out += x * (row i)
    void accumulate(int learner, std::int64_t i, double x, double* out) const {
        const double* s = row(learner, i);
        for (std::int64_t j = 0; j < n; ++j) out[j] += x * s[j];
    }

    // S -= u u'. Multiplication commutes exactly, so S stays exactly symmetric.
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
struct DenseCovariance {
    static constexpr bool one_column = false;

    struct DenseMargin : Margin {
        bool at_floor;                  // no variance is left along z: the mean may move, the covariance may not
        bool lost;                      // rounding left less than none: neither moves
        std::vector<double> direction;  // Sigma z; shared: Sigma x
    };

    struct Columns : ColumnScores {
        std::vector<DenseMargin> margins;  // one per learner
    };

    Weights<Real> weights;
    Scales scales;
    Symmetric sigma;
    Sharing sharing;
    double floor;

    DenseMargin score(const Row& row, Pair p) const {
        DenseMargin margin = unfloored(row, p);
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        const double least = floor * norm * (p.both() ? 2.0 : 1.0);
        margin.at_floor = margin.variance <= least;
        margin.lost = margin.variance <= 0.0;
        if (margin.at_floor) margin.variance = least;
        return margin;
    }

    double variance(const Row& row, Pair p) const { return std::max(unfloored(row, p).variance, 0.0); }

    double update(const Row&, Pair p, DenseMargin& margin, const Step& step, double age) const {
        if (margin.lost) return 0.0;
        const double largest = update_mean(p, margin, step.alpha, age);
        if (margin.at_floor) return largest;
        gain(p, margin, step.zeta);
        if (step.scale != 1.0)
            scales.multiply<Real>(p.column(), step.scale, [&](double total) { sigma.multiply(learner(p), total); });
        return largest;
    }

    void score_columns(const Row& row, Columns& columns) const {
        const bool shared = sharing == Sharing::shared;
        for (int k = 0; k < (shared ? 1 : weights.columns); ++k) {
            columns.margins.push_back(score(row, {k, kNone}));
            columns.mean.push_back(columns.margins[k].mean);
            columns.variance.push_back(columns.margins[k].variance);
        }
        if (!shared) return;
        columns.mean.resize(static_cast<std::size_t>(weights.columns));
        weights.scores(row, 0, columns.mean.data());
        columns.variance.assign(static_cast<std::size_t>(weights.columns), columns.variance[0]);
    }

    double update_columns(const Row& row, Columns& columns, const std::vector<double>& alpha,
                          const std::vector<double>& zeta, double age) const {
        double largest = 0.0;
        if (sharing != Sharing::shared) {
            for (int k = 0; k < weights.columns; ++k)
                largest = std::max(largest, update(row, {k, kNone}, columns.margins[k], {alpha[k], zeta[k]}, age));
            return largest;
        }
        DenseMargin& margin = columns.margins[0];
        if (margin.lost) return largest;
        double gained = 0.0;
        for (int k = 0; k < weights.columns; ++k) {
            largest = std::max(largest, update_mean({k, kNone}, margin, alpha[k], age));
            gained += zeta[k];
        }
        if (!margin.at_floor) gain({0, kNone}, margin, gained);
        return largest;
    }

  private:
    DenseMargin unfloored(const Row& row, Pair p) const {
        DenseMargin margin{
            {weights.score(row, p), 0.0}, false, false, std::vector<double>(static_cast<std::size_t>(sigma.n))};
        double* q = margin.direction.data();
        row.each([&](std::int32_t j, double x) {
            each_entry(j, p, x, [&](std::int64_t i, double z) { sigma.accumulate(learner(p), i, z, q); });
        });
        const double scale = scales.of(p.column());
        for (double& entry : margin.direction) entry *= scale;
        row.each([&](std::int32_t j, double x) {
            each_entry(j, p, x, [&](std::int64_t i, double z) { margin.variance += z * q[i]; });
        });
        margin.variance *= sides(p);
        return margin;
    }

    // Adds zeta z z' to the precision, or what the covariance keeps of it.
    void gain(Pair p, DenseMargin& margin, double zeta) const {
        if (!(zeta > 0.0)) return;
        const double gained = zeta * sharing_gain(sharing, p, weights.columns), v = margin.variance / sides(p);
        const double size = 1.0 / std::sqrt((1.0 / gained + v) * scales.of(p.column()));
        for (double& entry : margin.direction) entry *= size;
        sigma.subtract_outer(learner(p), margin.direction.data());
    }

    int learner(Pair p) const { return scales.independent ? p.column() : 0; }
    double sides(Pair p) const { return sharing == Sharing::shared && p.both() ? 2.0 : 1.0; }
    std::int64_t first(int column) const { return sharing == Sharing::joint ? column * weights.n_features : 0; }

    // Calls f(i, z_i) for the entries of z that belong to a feature; shared: the entries of x, since both sides are
    // equal.
    template <class F>
    void each_entry(std::int32_t j, Pair p, double x, F&& f) const {
        const std::int64_t at = weights.position(j);
        if (sharing != Sharing::joint) return f(at, p.both() ? x : p.sign() * x);
        if (p.plus != kNone) f(first(p.plus) + at, x);
        if (p.minus != kNone) f(first(p.minus) + at, -x);
    }

    double update_mean(Pair p, const DenseMargin& margin, double alpha, double age) const {
        double largest = 0.0;
        for (int c = 0; c < weights.columns; ++c) {
            if (sharing != Sharing::joint && c != p.plus && c != p.minus) continue;
            const double size = sharing == Sharing::shared && p.both() && c == p.minus ? -alpha : alpha;
            const double* q = margin.direction.data() + first(c);
            for (std::int64_t j = 0; j < weights.n_features; ++j)
                largest = std::max(largest, weights.add(weights.base + j * weights.stride(), c, size * q[j], age));
        }
        return largest;
    }
};

// What the two dense rows of the table have in common. The matrices have double precision: rounded after every row,
// they would lose three digits in a few thousand.
template <Sharing unless_independent>
struct Dense {
    static constexpr int planes = 1;
    static constexpr bool forgets = false;

    template <class Real, class State, class F>
    static void open(const State& state, const Weights<Real>& weights, const Scales& scales,
                     const CovarianceSettings& settings, F&& f) {
        const Sharing sharing = settings.independent ? Sharing::independent : unless_independent;
        const std::int64_t n = weights.n_features * (sharing == Sharing::joint ? weights.columns : 1);
        const std::int64_t learners = settings.independent ? weights.columns : 1;
        double* stored = state.template array<double>("covariance", learners, n, n);
        if (*state.template array<std::int64_t>("pending_rows", 1) != 0)
            throw std::invalid_argument("pending rows must be flushed first");
        DenseCovariance<Real> covariance{
            weights, scales, {stored, n}, sharing, dense_floor<Real>(settings.min_variance) * settings.prior_variance};
        f(covariance);
    }
};

struct Full : Dense<Sharing::joint> {
    static constexpr const char* name = "full";
};

struct Shared : Dense<Sharing::shared> {
    static constexpr const char* name = "shared";
};

}  // namespace confidently
