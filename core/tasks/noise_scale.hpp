// The size of the noise of a row, which intervals are as wide as: a Gaussian over a generalized additive model of its
// logarithm, learned online from how much larger errors are than expected (docs/mathematics.md).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "rows.hpp"
#include "tasks/counts.hpp"

namespace confidently {

// log size = (1 + s) sum_j a_j t_j + b_j (|t_j| - .8) + (1 + r) sum_j f_j(t_j), where t_j is the prediction, or one of
// the first columns of the row, standardized by the rows before, and f_j is linear between knots. Both sums together
// are learned as if s and r were 0; these shrink what they say to what it was worth, on later rows. All numbers are 0
// at first.
struct NoiseScale {
    static constexpr int inputs = 65, knots = 9;                                    // the prediction, and columns
    static constexpr double knots_per_unit = 2.0, farthest = 2.5, mean_size = 0.8;  // of |t|, if t is normal
    static constexpr double evidence = 10.0, evidence_of_shares = 1.0, largest_log = 5.0, largest_error = 4.0;
    static constexpr double keep = 1.0 - 1.0 / 10000.0;  // of the evidence, from one row to the next
    static constexpr double least_rate = 1.0 / 5000.0;   // at which centers and scales of inputs follow
    static constexpr double first_rows = 2048.0;         // that are all learned
    static constexpr int later = 4;                      // of later rows, every fourth is
    // rows, inputs in use, means of errors relative to what both sums say and to what is left of them; the two shares,
    // and what their precision has gained; then of inputs the centers, variances, slopes, slopes of sizes, precisions
    // of these, and of knots the values and precisions; the scales of inputs, 1 over their standard deviations
    static constexpr int at_whole = 2, at_mean = 3, at_shares = 4, at_precision = 6, at_center = 9,
                         at_variance = at_center + inputs, at_slope = at_variance + inputs,
                         at_size_slope = at_slope + inputs, at_slope_known = at_size_slope + inputs,
                         at_size_slope_known = at_slope_known + inputs, at_knots = at_size_slope_known + inputs,
                         at_knots_known = at_knots + inputs * knots, at_scale = at_knots_known + inputs * knots,
                         size = at_scale + inputs;
    static constexpr double least_variance = 1e-300;
    double* state;

    // The inputs of a row, and what follows from them.
    struct Inputs {
        std::array<double, inputs> x{}, t;
        int used = 1, known = 0;
        double linear = 0.0, curved = 0.0;  // the two sums

        Inputs(double prediction, const Row& row) {
            x[0] = prediction;
            for (std::int32_t i = 0; i < row.size && row.column[i] < inputs - 1; ++i)
                if (row.column[i] >= 0) x[row.column[i] + 1] = row.value[i], used = row.column[i] + 2;
        }
    };

    // Computes what follows from the inputs; returns the logarithm of the size of the noise.
    double log_size(Inputs& in) const {
        in.known = static_cast<int>(state[1]);
        for (int j = 0; j < in.known; ++j) {
            const double t = (in.x[j] - state[at_center + j]) * state[at_scale + j];
            in.t[j] = std::min(std::max(t, -farthest), farthest);
        }
        for (int j = 0; j < in.known; ++j)
            in.linear += state[at_slope + j] * in.t[j] + state[at_size_slope + j] * (std::fabs(in.t[j]) - mean_size);
        for (int j = 0; j < in.known; ++j) {
            const auto [k, part] = between(in.t[j]);
            const double* at = state + at_knots + j * knots + k;
            in.curved += at[0] + part * (at[1] - at[0]);
        }
        return limited((1.0 + state[at_shares]) * in.linear + (1.0 + state[at_shares + 1]) * in.curved);
    }

    // error: relative to what it is for all rows; log_size: that of the row
    void learn(Inputs& in, double error, double log_size) const {
        const double rows = state[0] += 1.0;
        if (rows > first_rows && std::int64_t(rows) % later != 0) return;
        const double size = std::fabs(error), left = size * std::exp(-log_size);
        const double whole = size * std::exp(-limited(in.linear + in.curved));
        learn_shares(in, step(left, at_mean));
        learn_parts(in, step(whole, at_whole));
        const double rate = std::min(1.0, std::max(2.0 / rows, 1.0 - kDecay));
        follow(state[at_whole], whole, rate), follow(state[at_mean], left, rate);
        follow_inputs(in);
    }

  private:
    static double limited(double log) { return std::clamp(log, -largest_log, largest_log); }

    static std::pair<int, double> between(double t) {
        const double place = within_bins(t * knots_per_unit + knots / 2, knots - 1);
        return {static_cast<int>(place), place - static_cast<int>(place)};
    }

    // How much larger an error is than expected: the derivative of the likelihood of a Laplace distribution.
    double step(double size, int at) const {
        return state[at] > 0.0 ? std::min(size / state[at], largest_error) - 1.0 : 0.0;
    }

    static void follow(double& mean, double size, double rate) {
        mean += rate * (std::min(size, mean > 0.0 ? largest_error * mean : size) - mean);
    }

    void learn_shares(const Inputs& in, double step) const {
        double* gained = state + at_precision;
        gained[0] = keep * gained[0] + in.linear * in.linear;
        gained[1] = keep * gained[1] + in.linear * in.curved;
        gained[2] = keep * gained[2] + in.curved * in.curved;
        const double a = gained[0] + evidence_of_shares, b = gained[1], c = gained[2] + evidence_of_shares;
        const double scale = step / (a * c - b * b);
        state[at_shares] += scale * (c * in.linear - b * in.curved);
        state[at_shares + 1] += scale * (a * in.curved - b * in.linear);
    }

    void learn_parts(const Inputs& in, double step) const {
        std::array<double, inputs> ahead, behind;  // of slopes and of slopes of sizes, the inputs over the precision
        double variance = 1.0;                     // of the step
        for (int j = 0; j < in.known; ++j) {
            const double t = in.t[j], size = std::fabs(t) - mean_size;
            ahead[j] = t / (state[at_slope_known + j] + evidence);
            behind[j] = size / (state[at_size_slope_known + j] + evidence);
            state[at_slope_known + j] = keep * state[at_slope_known + j] + t * t;
            state[at_size_slope_known + j] = keep * state[at_size_slope_known + j] + size * size;
            variance += t * ahead[j] + size * behind[j];
        }
        std::array<double, inputs> lower, upper;  // the same of the knots on both sides
        std::array<int, inputs> knot;
        for (int j = 0; j < in.known; ++j) {
            const auto [k, part] = between(in.t[j]);
            double* known = state + at_knots_known + j * knots + k;
            knot[j] = j * knots + k;
            lower[j] = (1.0 - part) / (known[0] + evidence), upper[j] = part / (known[1] + evidence);
            known[0] = keep * known[0] + (1.0 - part) * (1.0 - part), known[1] = keep * known[1] + part * part;
            variance += (1.0 - part) * lower[j] + part * upper[j];
        }
        const double gain = step / variance;
        for (int j = 0; j < in.known; ++j) {
            state[at_slope + j] += gain * ahead[j], state[at_size_slope + j] += gain * behind[j];
            state[at_knots + knot[j]] += gain * lower[j], state[at_knots + knot[j] + 1] += gain * upper[j];
        }
    }

    void follow_inputs(const Inputs& in) const {
        const int used = std::max(in.known, in.used);
        state[1] = used;
        const double rate = std::max(1.0 / state[0], least_rate);
        for (int j = 0; j < used; ++j) {
            double &center = state[at_center + j], &variance = state[at_variance + j];
            const double d = in.x[j] - center;
            center += rate * d;
            variance = (1.0 - rate) * (variance + rate * d * d);
            state[at_scale + j] = variance > least_variance ? 1.0 / std::sqrt(variance) : 0.0;
        }
    }
};

}  // namespace confidently
