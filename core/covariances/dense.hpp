// A full or shared covariance row by row, without products of matrices: O(D^2) per update. Small matrices change with
// every update, and changes of larger ones, up to some hundred features, are pending (pending.hpp). gram.hpp trains
// those that do not stay in the cache on chunks of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "covariances/columns.hpp"
#include "covariances/pending.hpp"
#include "covariances/scale.hpp"
#include "covariances/settings.hpp"
#include "covariances/sharing.hpp"
#include "covariances/weights.hpp"
#include "rules/step.hpp"

namespace confidently {

// Symmetric matrices of size n, one per learner, stored whole. They have double precision: rounded after every row,
// they would lose three digits in a few thousand.
struct Symmetric {
    using Number = double;

    double* base;
    std::int64_t n;

    // Writes S z, given what calls f(i, z_i).
    template <class Each>
    void product(int learner, Each&& each, double* out, bool) const {
        std::fill_n(out, n, 0.0);
        each([&](std::int64_t i, double z) { accumulate(learner, i, z, out); });
    }

    // out += z * (row i)
    void accumulate(int learner, std::int64_t i, double z, double* out) const {
        const double* s = matrix(learner) + i * n;
        for (std::int64_t j = 0; j < n; ++j) out[j] += z * s[j];
    }

    // S -= u u'. Multiplication commutes exactly, so S stays exactly symmetric.
    void subtract_outer(int learner, const double* u, double = 0.0) const {
        for (std::int64_t i = 0; i < n; ++i) {
            double* s = matrix(learner) + i * n;
            const double ui = u[i];
            if (ui == 0.0) continue;
            for (std::int64_t j = 0; j < n; ++j) s[j] -= ui * u[j];
        }
    }

    void multiply(int learner, double by) const {
        double* s = matrix(learner);
        for (std::int64_t i = 0; i < n * n; ++i) s[i] *= by;
    }

  private:
    double* matrix(int learner) const { return base + learner * n * n; }
};

// Matrices: Symmetric or Pending.
template <class Real, class Matrices>
struct DenseCovariance {
    using Number = typename Matrices::Number;
    static constexpr bool one_column = false;

    struct DenseMargin : Margin {
        bool at_floor;                  // no variance is left along z: the mean may move, the covariance may not
        bool lost;                      // rounding left less than none: neither moves
        std::vector<Number> direction;  // Sigma z; shared: Sigma x
    };

    struct Columns : ColumnScores {
        std::vector<DenseMargin> margins;  // one per learner
    };

    Weights<Real> weights;
    Scales scales;
    Matrices sigma;
    Sharing sharing;
    double floor;
    double* aged = nullptr;  // where the weights of rows are added up, for forgetting them together

    DenseMargin score(const Row& row, Pair p) const {
        DenseMargin margin = unfloored(row, p, true);
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        const double least = floor * norm * (p.both() ? 2.0 : 1.0);
        margin.at_floor = margin.variance <= least;
        margin.lost = margin.variance <= 0.0;
        if (margin.at_floor) margin.variance = least;
        return margin;
    }

    double variance(const Row& row, Pair p) const { return std::max(unfloored(row, p, false).variance, 0.0); }

    double update(const Row&, Pair p, DenseMargin& margin, const Step& step, double age) const {
        if (margin.lost) return 0.0;
        const double largest = update_mean(p, margin, step.alpha, age);
        if (margin.at_floor) return largest;
        gain(p, margin, step.zeta, age);
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
        if (!margin.at_floor) gain({0, kNone}, margin, gained, age);
        return largest;
    }

    void forget(double w) const {
        if (aged) *aged += w;
    }

    // Makes ready for a row of a batch, at this place in the order of training.
    template <class AnyRows, class Batch>
    void expect(const AnyRows& rows, const Batch& batch, std::int64_t at) const {
        if constexpr (requires { Matrices::kMostAhead; })
            sigma.expect(at, at == batch.from, batch.to - at, [&](std::int64_t k, Number* out) {
                RowBuffer buffer;
                rows.at(batch.row(at + k), weights.intercept, buffer).each([&](std::int32_t j, double x) {
                    out[weights.position(j)] = static_cast<Number>(x);
                });
            });
    }

  private:
    DenseMargin unfloored(const Row& row, Pair p, bool may_change) const {
        const bool is_negative = p.plus == kNone;
        const Pair of{p.column(), is_negative ? kNone : p.minus};
        DenseMargin margin{
            {weights.score(row, p), 0.0}, false, false, std::vector<Number>(static_cast<std::size_t>(sigma.n))};
        const auto each = [&](auto&& f) { row.each([&](std::int32_t j, double x) { each_entry(j, of, x, f); }); };
        Number* q = margin.direction.data();
        sigma.product(learner(p), each, q, may_change);
        multiply(margin.direction, scales.of(p.column()));
        each([&](std::int64_t i, double z) { margin.variance += z * q[i]; });
        margin.variance *= sides(p);
        if (is_negative)
            for (Number& entry : margin.direction) entry = Number(0) - entry;  // 0 stays 0, as of features to come
        return margin;
    }

    static void multiply(std::vector<Number>& entries, double by) {
        for (Number& entry : entries) entry = static_cast<Number>(entry * by);
    }

    // Adds zeta z z' to the precision, or what the covariance keeps of it.
    void gain(Pair p, DenseMargin& margin, double zeta, double age) const {
        if (!(zeta > 0.0)) return;
        const double gained = zeta * sharing_gain(sharing, p, weights.columns), v = margin.variance / sides(p);
        const double size = 1.0 / std::sqrt((1.0 / gained + v) * scales.of(p.column()));
        multiply(margin.direction, size);
        sigma.subtract_outer(learner(p), margin.direction.data(), age);
    }

    int learner(Pair p) const { return scales.independent ? p.column() : 0; }
    double sides(Pair p) const { return sharing == Sharing::shared && p.both() ? 2.0 : 1.0; }
    std::int64_t first(int column) const { return sharing == Sharing::joint ? column * weights.n_features : 0; }

    // Calls f(i, z_i) for the entries of z that belong to a feature, where z has a positive side; shared: the entries
    // of x, since both sides are equal.
    template <class F>
    void each_entry(std::int32_t j, Pair p, double x, F&& f) const {
        const std::int64_t at = weights.position(j);
        if (sharing != Sharing::joint) return f(at, x);
        f(first(p.plus) + at, x);
        if (p.minus != kNone) f(first(p.minus) + at, -x);
    }

    double update_mean(Pair p, const DenseMargin& margin, double alpha, double age) const {
        double largest = 0.0;
        for (int c = 0; c < weights.columns; ++c) {
            if (sharing != Sharing::joint && c != p.plus && c != p.minus) continue;
            const double size = sharing == Sharing::shared && p.both() && c == p.minus ? -alpha : alpha;
            const Number* q = margin.direction.data() + first(c);
            for (std::int64_t j = 0; j < weights.n_features; ++j)
                largest = std::max(largest, weights.add(weights.base + j * weights.stride(), c, size * q[j], age));
        }
        return largest;
    }
};

// What the two dense rows of the table have in common.
template <Sharing unless_independent>
struct Dense {
    static constexpr int planes = 1;
    static constexpr bool forgets = false;

    template <class Real, class State, class F>
    static void open(const State& state, Weights<Real> weights, const Scales& scales,
                     const CovarianceSettings& settings, F&& f) {
        const Sharing sharing = settings.independent ? Sharing::independent : unless_independent;
        const std::int64_t n = weights.n_features * (sharing == Sharing::joint ? weights.columns : 1);
        const std::int64_t learners = settings.independent ? weights.columns : 1;
        const double floor = dense_floor<Real>(settings.min_variance) * settings.prior_variance;
        auto* pending = state.template array<std::int64_t>("pending_rows", 1);
        Undo<Real>* const undo =
            std::exchange(weights.undo, nullptr);  // an update changes all weights, which are copied
        if (settings.pending) {
            if (n != weights.n_features) throw std::invalid_argument("a matrix is over all weights");
            const auto room = std::int64_t(state.size("pending", 1));
            Real* rows = state.template array<Real>("pending", learners, room, n);
            if (*pending < 0 || *pending > room || room < 1)
                throw std::invalid_argument("there are more pending rows than room");
            const Pending<Real> matrices(state.template array<Real>("covariance", learners, n, n), rows, pending,
                                         learners, n, room, undo);
            double* aged = state.has("aged") ? state.template array<double>("aged", 1) : nullptr;
            f(DenseCovariance<Real, Pending<Real>>{weights, scales, matrices, sharing, floor, aged});
            return;
        }
        if (*pending != 0) throw std::invalid_argument("pending rows must be flushed first");
        const Symmetric matrices{state.template array<double>("covariance", learners, n, n), n};
        f(DenseCovariance<Real, Symmetric>{weights, scales, matrices, sharing, floor});
    }
};

struct Full : Dense<Sharing::joint> {
    static constexpr const char* name = "full";
};

struct Shared : Dense<Sharing::shared> {
    static constexpr const char* name = "shared";
};

}  // namespace confidently
