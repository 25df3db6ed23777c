// Naive Bayes over the features that rows have: scores from counts, as a member of a stack.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tasks/calibration.hpp"
#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

// Factor of the classes' own frequencies, next to rows of unit length.
inline constexpr double kClassShare = 0.1;

struct NaiveBayes {
    Statistics frequency;  // (features x classes) weight of the rows of a class that have a feature
    Statistics entries;    // (classes) the sum over the features
    Statistics rows;       // (classes) weight of all rows
    Statistics known;      // (1) number of features that a row has had
    int classes;

    // f_k = sum_j x_j/|x| (log(n_kj + 1) - log(N_k + V)) + .1 log((n_k + 1)/(n + K)), over the features that a row has
    // had
    void score(const Row& row, double* f) const {
        const LogCount<One> log_count;
        double all = static_cast<double>(classes), seen = 0.0;
        for (int k = 0; k < classes; ++k) f[k] = 0.0, all += rows[k];
        const double length = norm(row.value, static_cast<std::size_t>(row.size));
        for (std::int32_t i = 0; length > 0.0 && i < row.size; ++i) {
            const std::int64_t first = std::int64_t(row.column[i]) * classes;
            const double x = row.value[i] / length;
            if (!has_been(first)) continue;
            for (int k = 0; k < classes; ++k) f[k] += x * log_count(frequency[first + k]);
            seen += x;
        }
        for (int k = 0; k < classes; ++k)
            f[k] +=
                kClassShare * std::log((rows[k] + 1.0) / all) - seen * std::log(entries[k] + std::max(known[0], 1.0));
    }

    void learn(const Row& row, int label, double w) const {
        rows.add(label, w);
        double n = 0.0;
        for (std::int32_t i = 0; i < row.size; ++i) {
            if (row.value[i] == 0.0) continue;
            const std::int64_t first = std::int64_t(row.column[i]) * classes;
            if (!has_been(first)) known.add(0, 1.0);
            frequency.add(first + label, w);
            n += w;
        }
        entries.add(label, n);
    }

  private:
    struct One {
        static constexpr double value = 1.0;
    };

    bool has_been(std::int64_t first) const {
        for (int k = 0; k < classes; ++k)
            if (frequency[first + k] > 0.0) return true;
        return false;
    }
};

// Turns the scores of the classes into those that are calibrated: one for two classes, otherwise one per class, mean 0.
// Returns their number.
inline int relative(double* f, int classes) {
    if (classes == 2) {
        f[0] = f[1] - f[0];
        return 1;
    }
    double mean = 0.0;
    for (int k = 0; k < classes; ++k) mean += f[k] / classes;
    for (int k = 0; k < classes; ++k) f[k] -= mean;
    return classes;
}

}  // namespace confidently
