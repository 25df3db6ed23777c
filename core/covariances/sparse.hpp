// A diagonal covariance of which only the weights that rows have moved are stored (sparse_weights.hpp). Means and
// variances have the bits of those in diagonal.hpp: sums have the same order, and what is not stored is at the prior.
#pragma once

#include <algorithm>
#include <vector>

#include "covariances/scale.hpp"
#include "covariances/settings.hpp"
#include "covariances/sparse_weights.hpp"
#include "covariances/variances.hpp"
#include "rules/step.hpp"

namespace confidently {

template <class Real>
struct SparseCovariance {
    static constexpr bool one_column = false;

    // With the places of the pair's columns in the lists of the row's features.
    struct Score : Margin {
        std::vector<typename SparseWeights<Real>::Found> found;
    };

    SparseWeights<Real> weights;
    ScaledVariances<Real> variances;
    bool moments;
    double prior_variance, min_variance;

    // The stored variance of a weight that is not stored.
    Real prior() const { return static_cast<Real>(prior_variance * std::max(*variances.scales.folded, min_variance)); }

    Score score(const Row& row, Pair p) const {
        Score margin{};
        margin.found.reserve(static_cast<std::size_t>(row.size) + 1);
        row.each([&](std::int32_t j, double) {
            const auto& list = weights.list(j);
            margin.found.push_back(weights.find(list, p));
            weights.expect_entry(list, margin.found.back());
        });
        const auto sigma = variances.column(0);
        const double prior_read = sigma.read(prior());
        auto next = margin.found.begin();
        const auto mean_at = [&](std::int64_t start, std::int64_t at) {
            return at < 0 ? 0.0 : double(weights.mean[start + at]);
        };
        const auto variance_at = [&](std::int64_t start, std::int64_t at) {
            return at < 0 ? prior_read : sigma.read(weights.variance[start + at]);
        };
        row.each([&](std::int32_t j, double x) {
            const auto& list = weights.list(j);
            const auto found = *next++;
            if (p.both()) {
                margin.mean += x * (mean_at(list.start, found.plus) - mean_at(list.start, found.minus));
                margin.variance += x * x * (variance_at(list.start, found.plus) + variance_at(list.start, found.minus));
            } else {
                const std::int64_t at = p.plus != kNone ? found.plus : found.minus;
                margin.mean += x * mean_at(list.start, at);
                margin.variance += x * x * variance_at(list.start, at);
            }
        });
        if (!p.both()) margin.mean *= p.sign();
        return margin;
    }

    double variance(const Row& row, Pair p) const { return score(row, p).variance; }

    double update(const Row& row, Pair p, const Score& margin, const Step& step, double age) const {
        double largest = 0.0;
        auto found = margin.found.begin();
        row.each([&](std::int32_t j, double x) {
            if (p.plus != kNone)
                largest =
                    std::max(largest, change(j, p.plus, found->plus, x, step.alpha, step.zeta, margin.variance, age));
            if (p.minus != kNone)
                largest = std::max(largest,
                                   change(j, p.minus, found->minus, x, -step.alpha, step.zeta, margin.variance, age));
            ++found;
        });
        if (step.scale != 1.0)
            variances.scales.template multiply<Real>(0, step.scale, [&](double total) {
                weights.each_variance([&](Real& stored) {
                    stored = static_cast<Real>(std::max(total * double(stored), variances.floor));
                });
            });
        return largest;
    }

    // The variances of the scores of all columns.
    void all_variances(const Row& row, double* out) const {
        const auto sigma = variances.column(0);
        const double prior_read = sigma.read(prior());
        std::fill_n(out, weights.columns, 0.0);
        std::vector<double> before;
        row.each([&](std::int32_t j, double x) {
            const auto [start, size] = weights.list(j);
            before.clear();
            for (std::int64_t i = start; i < start + size; ++i) before.push_back(out[weights.column[i]]);
            for (int k = 0; k < weights.columns; ++k) out[k] += x * x * prior_read;
            for (std::int64_t i = 0; i < size; ++i)
                out[weights.column[start + i]] =
                    before[static_cast<std::size_t>(i)] + x * x * sigma.read(weights.variance[start + i]);
        });
    }

  private:
    double change(std::int32_t feature, int column, std::int64_t found, double x, double alpha, double zeta, double v,
                  double age) const {
        const std::int64_t at = weights.place(weights.list(feature), found, column, prior());
        weights.note(at);
        const double stored = weights.variance[at], s = variances.column(0).read(stored);
        const double largest = weights.add(at, alpha * x * s, age);
        const double gained = moments ? x * x / (1.0 / zeta + std::max(v - x * x * s, 0.0)) : zeta * x * x;
        weights.variance[at] = static_cast<Real>(variances.gain(0).updated(stored, s, gained));
        return largest;
    }
};

struct Sparse {
    static constexpr const char* name = "sparse";
    static constexpr bool forgets = false;
};

}  // namespace confidently
