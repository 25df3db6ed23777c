// Variances that forget: after every row the precision returns a step towards the prior's,
//   Sigma^-1 <- keep Sigma^-1 + (1 - keep) prior^-1,     keep = (1 - forget)^w for a row of weight w,
// and the mean stays. No feature is visited for it: with p = 1/stored,
//   Sigma^-1 = (kept p + (1 - kept) p_0) / scale,        p_0 the p of an unseen feature,
// so that forgetting, like rescaling, changes two numbers per learner. An update adds the gained precision to p.
#pragma once

#include <algorithm>
#include <cmath>

#include "covariances/variances.hpp"

namespace confidently {

// Lower bound of the fraction one row keeps, so that it has a reciprocal.
inline constexpr double kMinKept = 1e-100;

template <class Real>
struct ForgettingVariances {
    ScaledVariances<Real> scaled;
    double prior_variance, min_variance, forget_per_row;
    double* kept;  // one per learner

    struct Column {
        double scale, kept, fade, floor;

        CONFIDENTLY_INLINE double read(double stored) const {
            return std::max(scale * stored / (kept + fade * stored), floor);
        }
    };

    struct Gain {
        double fraction,
            floor;  // fraction of a gain of precision that p gains; the stored number of the least variance

        CONFIDENTLY_INLINE double updated(double stored, double, double gained) const {
            const double from = std::max(stored, floor);
            return std::max(from / (1.0 + gained * fraction * from), floor);
        }
    };

    Column column(int k) const {
        const double left = kept[learner(k)];
        return {scaled.scales.of(k), left, fade(k), scaled.floor};
    }

    Gain gain(int k) const {
        const double scale = scaled.scales.of(k), left = kept[learner(k)];
        // no such number exists once a rule has shrunk Sigma below the least variance
        const double room = std::max(scale - scaled.floor * fade(k), 0.5 * scale);
        return {scale / left, scaled.floor * left / room};
    }

    void rescale(const Weights<Real>& weights, int column, double by) const {
        scaled.scales.template multiply<Real>(column, by, [&](double total) {
            flush(weights, column);
            scaled.multiply(weights, column, total);
        });
    }

    // Called after a row of weight w.
    void forget(const Weights<Real>& weights, double w) const {
        const double keep = w == 1.0 ? 1.0 - forget_per_row : std::max(std::pow(1.0 - forget_per_row, w), kMinKept);
        for (int k = 0; k < (scaled.scales.independent ? weights.columns : 1); ++k) {
            double& scale = scaled.scales.of(k);
            // exactly 1 where no rule rescales Sigma, so that weights of unseen features stay at the prior
            const double grown = keep + (1.0 - keep) * origin(k) * scale;
            kept[k] *= keep / grown;
            scale /= grown;
            if (kept[k] < 1.0 / kMaxScale<Real>) flush(weights, k);
        }
    }

  private:
    int learner(int column) const { return scaled.scales.independent ? column : 0; }

    // the weight of an unseen feature is stored as this many times the prior variance
    double origin(int column) const { return std::max(scaled.scales.folded[learner(column)], min_variance); }

    double fade(int column) const { return (1.0 - kept[learner(column)]) / (prior_variance * origin(column)); }

    // Writes the forgetting into the stored numbers, before kept can leave the range of its type. Weights of unseen
    // features stay exactly as they are.
    void flush(const Weights<Real>& weights, int column) const {
        double& left = kept[learner(column)];
        const double fading = fade(column);
        each_variance(weights, scaled.scales.independent ? column : kNone, [&](Real& stored) {
            stored = static_cast<Real>(double(stored) / (left + fading * double(stored)));
        });
        left = 1.0;
    }
};

}  // namespace confidently
