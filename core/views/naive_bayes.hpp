// Features count for more if they are more frequent in some classes than in others: x_j times the standard deviation
// over the classes of the logarithm of the share of their rows that have j, then unit norm.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct NaiveBayesScale {
    static constexpr const char* name = "nb";
    static constexpr double kFloor = 0.2;  // factor of a feature that is as frequent in every class

    std::int64_t n_classes, stride;
    Statistics rows, frequency;  // by class: weight of its rows; by feature and class: of those that have the feature
    mutable std::vector<double> log_rows, share;  // logarithms, by class

    template <class State>
    static NaiveBayesScale open(const State& state, Undo<double>* undo) {
        const auto n_classes = static_cast<std::int64_t>(state.size("nb.rows"));
        const auto stride = static_cast<std::int64_t>(state.size("nb.frequency", 1));
        if (stride < n_classes) throw std::invalid_argument("nb.frequency does not match the classes");
        return {n_classes,
                stride,
                {state.template array<double>("nb.rows", n_classes), undo},
                {state.template array<double>("nb.frequency", n_features(state), stride), undo},
                std::vector<double>(static_cast<std::size_t>(n_classes)),
                std::vector<double>(static_cast<std::size_t>(n_classes))};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("nb.frequency"));
    }

    void see(const Row& row, MadeRows& out) const {
        for (std::int64_t k = 0; k < n_classes; ++k)
            log_rows[static_cast<std::size_t>(k)] = LogCount<OfRows>()(rows[k]);
        const LogCount<OfFeature> log_count;
        for (std::int32_t i = 0; i < row.size; ++i)
            out.add(row.column[i], row.value[i] * factor(row.column[i], log_count));
        out.end_row_of_unit_norm();
    }

    void learn(const Row& row, const std::int32_t* label, const std::int32_t* label_end, double w) {
        for (; label != label_end; ++label) {
            rows.add(*label, w);
            for (std::int32_t i = 0; i < row.size; ++i)
                if (row.value[i] != 0.0)
                    frequency.add(row.column[i] * stride + *label, w);  // a stored 0 is no occurrence
        }
    }

  private:
    struct OfFeature {
        static constexpr double value = 0.3;
    };
    struct OfRows {
        static constexpr double value = 0.6;
    };

    double factor(std::int64_t j, const LogCount<OfFeature>& log_count) const {
        if (n_classes == 0) return kFloor;
        if (n_classes == 2) {
            const double *counts = frequency.at + j * stride, relative = log_count(counts[0]) - log_count(counts[1]);
            return 0.5 * std::fabs(relative - (log_rows[0] - log_rows[1])) + kFloor;
        }
        const double n = static_cast<double>(n_classes);
        double mean = 0.0, squares = 0.0;
        for (std::size_t k = 0; k < share.size(); ++k) {
            share[k] = log_count(frequency[j * stride + static_cast<std::int64_t>(k)]) - log_rows[k];
            mean += share[k] / n;
        }
        for (const double x : share) squares += (x - mean) * (x - mean);
        return std::sqrt(squares / n) + kFloor;
    }
};

}  // namespace confidently
