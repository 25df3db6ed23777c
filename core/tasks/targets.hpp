// What a regression learns about its targets besides the weights: their mean and spread, the noise around the
// predictions, and the distribution of the standardized errors, of which intervals are made. Every prediction is made
// before its target is used, so the stream itself is the set that intervals are calibrated on.
#pragma once

#include <algorithm>
#include <cmath>

#include "tasks/calibration.hpp"
#include "tasks/intervals.hpp"

namespace confidently {

// What is subtracted from targets before the weights predict the rest.
enum class Offset {
    none,
    mean,     // the mean of the first targets, for weights that have a constant feature
    centered  // the mean of the targets before, of rows that are centered too: together, the intercept of least
              // squares. With W the weight of the rows before, a row of weight w adds w W/(w + W) (x - mean)(x - mean)'
              // to the scatter matrix (Welford 1962)
};

// A prediction: its mean, and its variance up to the factor that noise() estimates.
struct Predicted {
    double mean, spread;
};

// Of one column of weights.
struct TargetStatistics {
    static constexpr int bins = 512, group = 16, at_groups = 12, at_bins = at_groups + bins / group,
                         size = at_bins + bins;
    // Errors are counted by asinh(z) times this: bins are .025 wide near 0, and the last ones begin at 300 standard
    // deviations.
    static constexpr double bins_per_unit = 40.0;
    static constexpr int near = 4;  // bins on both sides, whose errors may be equal ones of a learner that has moved
    static constexpr double crowd = 0.125;  // a part of all errors, above which that is likely
    static constexpr double largest_gain = 1e100;
    // Weight of the rows whose mean is the offset beside a constant feature. Later it would move without the rule
    // having asked for it, and the weight of that feature, by then certain, would follow too slowly.
    static constexpr double first_rows = 128.0;
    double* state;

    double& weight() const { return state[0]; }     // of the rows
    double& mean() const { return state[1]; }       // of their targets, or of the first ones; 0 without an offset
    double& squares() const { return state[2]; }    // sum of their squared deviations from it
    double& predicted() const { return state[3]; }  // rows with a prediction
    double& noise() const { return state[4]; }      // sum of error^2/spread over these
    double& gain() const { return state[5]; }       // what a row adds to its bin: it grows, so that old rows count less
    double& squared_errors() const { return state[6]; }  // sums over rows with a prediction
    double& absolute_errors() const { return state[7]; }
    double& low() const { return state[8]; }  // of targets, as was said; equal if nothing was
    double& high() const { return state[9]; }
    double& negative() const { return state[10]; }                  // rows with a target below 0
    double& fractional() const { return state[11]; }                // rows with a target that is no integer
    double& of_group(int j) const { return state[at_groups + j]; }  // sum of its bins
    double* bin() const { return state + at_bins; }

    // Counts in a target of a row of weight w.
    void add(double y, double w, Offset offset) const {
        const bool moves = offset == Offset::centered || (offset == Offset::mean && weight() < first_rows);
        weight() += w;
        const double d = y - mean();
        if (moves) mean() += w / weight() * d;
        squares() += w * d * (y - mean());
        negative() += y < 0.0;
        fractional() += y != std::floor(y);
    }

    // A prediction within what was said of targets or, if nothing was, not below 0 unless a target is. NaN stays.
    double clipped(double prediction) const {
        if (low() < high()) return std::min(std::max(prediction, low()), high());
        return negative() > 0.0 ? prediction : std::max(prediction, 0.0);
    }

    // The factor from spreads to variances of errors.
    double noise_factor() const { return predicted() > 0.0 ? noise() / predicted() : 1.0; }

    // The unit of the targets, in which rules have their parameters: their standard deviation, or 1 while all are
    // equal.
    double unit() const {
        const double variance = weight() > 0.0 ? squares() / weight() : 0.0;
        return variance > 0.0 ? std::sqrt(variance) : 1.0;
    }

    // The logarithm of the mean of counts, with half a row of mean 1 for the time without any.
    double log_mean() const { return std::log((weight() * mean() + 0.5) / (weight() + 0.5)); }

    // The p-values of a standardized error.
    ErrorPValues p_values(double z) const {
        const double place = place_of(z);
        const int own = static_cast<int>(place), groups = own / group;
        double low = 0.0, high = 0.0, near_low = 0.0, near_high = 0.0;
        for (int j = 0; j < groups; ++j) low += of_group(j);
        for (int j = groups + 1; j < bins / group; ++j) high += of_group(j);
        for (int k = groups * group; k < own; ++k) low += bin()[k];
        for (int k = own + 1; k < (groups + 1) * group; ++k) high += bin()[k];
        for (int k = std::max(own - near, 0); k < own; ++k) near_low += bin()[k];
        for (int k = own + 1; k <= std::min(own + near, bins - 1); ++k) near_high += bin()[k];
        const double same = bin()[own], part = (place - own) * same, all = low + same + high + gain();
        const double alike = near_low + same + near_high + gain(), below = low - near_low;
        // where many are alike, the least extreme of what it may be: a learner that moves makes them drift together
        const double middle = std::clamp(0.5 * all - below, 0.0, alike);
        const double random = alike > crowd * all ? middle : uniform(predicted()) * alike;
        return {(low + part + gain()) / all, (high + same - part + gain()) / all,
                std::clamp((below + random) / all, 0.0, 1.0)};
    }

    // Learns from the error of a prediction. conformal: what intervals are made of; nullptr: not wanted; standard:
    // whether the spread is known before the error
    void learn(double y, const Predicted& prediction, const Row& row, double* conformal = nullptr,
               bool standard = true) const {
        const double e = y - prediction.mean;
        if (standard && predicted() > 1.0 && noise() > 0.0)
            learn_standardized(e / std::sqrt(noise_factor() * prediction.spread), prediction.mean, row, conformal);
        predicted() += 1.0;
        noise() += e * e / prediction.spread;
        squared_errors() += e * e;
        absolute_errors() += std::fabs(e);
    }

  private:
    void learn_standardized(double z, double mean, const Row& row, double* conformal) const {
        if (!conformal || !std::isfinite(z)) return count(z);  // NaN for targets that the rule excludes
        const ConformalIntervals intervals{conformal};
        NoiseScale::Inputs inputs(mean, row);
        const double log_size = intervals.scale().log_size(inputs), own = z * std::exp(-log_size);
        intervals.learn(p_values(own));
        intervals.scale().learn(inputs, z, log_size);
        count(own);
    }

    static double place_of(double z) { return within_bins(std::asinh(z) * bins_per_unit + bins / 2, bins); }

    void count(double z) const {
        const int k = static_cast<int>(place_of(z));
        bin()[k] += gain();
        of_group(k / group) += gain();
        gain() /= kDecay;
        if (!(gain() > largest_gain)) return;
        for (int j = 0; j < bins / group + bins; ++j) state[at_groups + j] /= gain();
        gain() = 1.0;
    }
};

}  // namespace confidently
