// A diagonal covariance that forgets: after every row the precision goes a step back to the prior's,
//   Sigma^-1 <- keep Sigma^-1 + (1 - keep) prior^-1,     keep = (1 - forget)^w for a row of weight w,
// and the mean stays. It is done to all features at once and costs none of them a visit: with p = 1/stored,
//   Sigma^-1 = (kept p + (1 - kept) p_0) / scale,        p_0 the p of a feature that was never met,
// so that forgetting, like stretching, changes two numbers a learner. An update adds to p what the precision gains.
#pragma once

#include <algorithm>
#include <cmath>

#include "covariances/diagonal.hpp"

namespace confidently {

// No row makes more be forgotten than all but this: what is left must have a reciprocal.
inline constexpr double kLeastKept = 1e-100;

template <class Real>
struct FadingVariances {
    ScaledVariances<Real> scaled;
    double prior_variance, min_variance, forget_a_row;
    double* kept;  // one a learner

    struct Column {
        double scale, kept, fade, least;

        CONFIDENTLY_INLINE double read(double stored) const { return std::max(scale * stored / (kept + fade * stored), least); }
    };

    struct Gain {
        double share, floor;  // of a gain of precision in p; the stored number whose variance is the least there is

        CONFIDENTLY_INLINE double learned(double stored, double, double gained) const {
            const double from = std::max(stored, floor);
            return std::max(from / (1.0 + gained * share * from), floor);
        }
    };

    Column column(int k) const {
        const double left = kept[learner(k)];
        return {scaled.scales.of(k), left, fade(k), scaled.least};
    }

    Gain gain(int k) const {
        const double scale = scaled.scales.of(k), left = kept[learner(k)];
        // a rule that shrinks Sigma below the least variance leaves no such number
        const double room = std::max(scale - scaled.least * fade(k), 0.5 * scale);
        return {scale / left, scaled.least * left / room};
    }

    void stretch(const Weights<Real>& weights, int column, double by) const {
        scaled.scales.template stretch<Real>(column, by, [&](double total) {
            settle(weights, column);
            scaled.multiply(weights, column, total);
        });
    }

    // A row of weight w has been learned.
    void forget(const Weights<Real>& weights, double w) const {
        const double keep = w == 1.0 ? 1.0 - forget_a_row : std::max(std::pow(1.0 - forget_a_row, w), kLeastKept);
        for (int k = 0; k < (scaled.scales.independent ? weights.columns : 1); ++k) {
            double& scale = scaled.scales.of(k);
            // 1 to the last bit where no rule stretches Sigma, so that weights never met stay at the prior
            const double grown = keep + (1.0 - keep) * origin(k) * scale;
            kept[k] *= keep / grown;
            scale /= grown;
            if (kept[k] < 1.0 / kLargestScale<Real>) settle(weights, k);
        }
    }

  private:
    int learner(int column) const { return scaled.scales.independent ? column : 0; }

    // a weight never met is stored as this many times the prior variance
    double origin(int column) const { return std::max(scaled.scales.folded[learner(column)], min_variance); }

    double fade(int column) const { return (1.0 - kept[learner(column)]) / (prior_variance * origin(column)); }

    // Stores what is forgotten, before kept can leave its type's range. Weights never met stay as they are to the last bit.
    void settle(const Weights<Real>& weights, int column) const {
        double& left = kept[learner(column)];
        const double fading = fade(column);
        each_variance(weights, scaled.scales.independent ? column : kNone, [&](Real& stored) {
            stored = static_cast<Real>(double(stored) / (left + fading * double(stored)));
        });
        left = 1.0;
    }
};

}  // namespace confidently
