// What a regression learns about its targets besides the weights: their mean and spread, the noise around the
// predictions, and the distribution of the standardized errors, of which intervals are made. Every prediction is made
// before its target is used, so the stream itself is the set that intervals are calibrated on.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tasks/error_counts.hpp"

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
    static constexpr int at_groups = 12, size = at_groups + ErrorCounts::size;
    // Weight of the rows whose mean is the offset beside a constant feature. Later it would move without the rule
    // having asked for it, and the weight of that feature, by then certain, would follow too slowly.
    static constexpr double first_rows = 128.0;
    double* state;

    double& weight() const { return state[0]; }          // of the rows
    double& mean() const { return state[1]; }            // of their targets, or of the first ones; 0 without an offset
    double& squares() const { return state[2]; }         // sum of their squared deviations from it
    double& predicted() const { return state[3]; }       // rows with a prediction
    double& noise() const { return state[4]; }           // sum of error^2/spread over these
    double& gain() const { return state[5]; }            // what a row adds to the counts of errors
    double& squared_errors() const { return state[6]; }  // sums over rows with a prediction
    double& absolute_errors() const { return state[7]; }
    double& low() const { return state[8]; }  // of targets, as was said; equal if nothing was
    double& high() const { return state[9]; }
    double& negative() const { return state[10]; }    // rows with a target below 0
    double& fractional() const { return state[11]; }  // rows with a target that is no integer
    ErrorCounts errors() const { return {state + 5, state + at_groups}; }

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

    // Learns from the error of a prediction. conformal: what intervals are made of; nullptr: not wanted; standard:
    // whether the spread is known before the error. Returns the error that is counted; NaN if none is
    double learn(double y, const Predicted& prediction, const Row& row, double* conformal = nullptr,
                 bool standard = true) const {
        const double e = y - prediction.mean;
        double counted = std::numeric_limits<double>::quiet_NaN();
        if (standard && predicted() > 1.0 && noise() > 0.0)
            counted =
                learn_standardized(e / std::sqrt(noise_factor() * prediction.spread), prediction.mean, row, conformal);
        predicted() += 1.0;
        noise() += e * e / prediction.spread;
        squared_errors() += e * e;
        absolute_errors() += std::fabs(e);
        return counted;
    }

  private:
    double learn_standardized(double z, double mean, const Row& row, double* conformal) const {
        if (!conformal || !std::isfinite(z)) {  // NaN for targets that the rule excludes
            errors().count(z);
            return z;
        }
        const ConformalIntervals intervals{conformal};
        NoiseScale::Inputs inputs(mean, row);
        const double log_size = intervals.scale().log_size(inputs), own = z * std::exp(-log_size);
        intervals.learn(errors().p_values(own, predicted()));
        intervals.scale().learn(inputs, z, log_size);
        errors().count(own);
        return own;
    }
};

}  // namespace confidently
