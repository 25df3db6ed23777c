// MIRA (Crammer & Singer 2003): one weight vector per class; an example updates all classes that violate the margin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "rows.hpp"

namespace confidently {

// Minimizes |tau|^2 norm2/2 + sum_k tau_k (s_k + gamma [k != truth]) subject to sum tau = 0 and tau_k <= C [k = truth];
// tau_k is the step of class k along x. Exact: tau_k = min(theta - b_k, cap_k), and theta is found by sorting.
class MiraStep {
  public:
    // scores: n of them, overwritten by tau; norm2 = |x|^2 > 0. Returns false if all of tau is 0.
    bool operator()(double* scores, int n, int truth, double norm2, double gamma, double C) {
        const double own = scores[truth] / norm2;
        rivals_.clear();
        for (int k = 0; k < n; ++k)
            if (const double b = (scores[k] + gamma) / norm2; k != truth && b > own) rivals_.push_back(b);
        if (rivals_.empty()) return false;
        std::sort(rivals_.begin(), rivals_.end(), std::greater<>());
        double theta = level(own, 1);
        const bool capped = theta - own > C;
        if (capped) theta = level(-C, 0);
        for (int k = 0; k < n; ++k)
            scores[k] = k == truth ? (capped ? C : theta - own) : std::min(theta - (scores[k] + gamma) / norm2, 0.0);
        return true;
    }

  private:
    std::vector<double> rivals_;  // b of the violating classes, largest first

    // theta with (m theta - sum) + sum over rivals of min(theta - b, 0) = 0; the largest rival is always below its b
    double level(double sum, int m) const {
        sum += rivals_[0];
        double theta = sum / ++m;
        for (std::size_t k = 1; k < rivals_.size() && rivals_[k] > theta; ++k) {
            sum += rivals_[k];
            theta = sum / ++m;
        }
        return theta;
    }
};

struct MiraCounts {
    std::int64_t mistakes = 0, updates = 0;
};

// Visits each row of the order once (nullptr: as they come). weights: (columns + intercept) x classes, the intercept
// last.
inline MiraCounts mira_learn(const Rows& rows, const std::int32_t* label, const std::int64_t* order, std::int64_t n,
                             double* weights, int classes, bool intercept, double gamma, double C) {
    MiraCounts counts;
    MiraStep solve;
    RowBuffer buffer;
    std::vector<double> scores(static_cast<std::size_t>(classes));
    const auto weight = [&](std::int32_t j) { return weights + (j == kIntercept ? rows.n_columns : j) * classes; };
    for (std::int64_t at = 0; at < n; ++at) {
        const std::int64_t i = order ? order[at] : at;
        const Row row = rows.at(i, intercept, buffer);
        std::fill(scores.begin(), scores.end(), 0.0);
        double norm2 = 0.0;
        row.each([&](std::int32_t j, double x) {
            const double* w = weight(j);
            norm2 += x * x;
            for (int k = 0; k < classes; ++k) scores[k] += x * w[k];
        });
        double rival = -std::numeric_limits<double>::infinity();
        for (int k = 0; k < classes; ++k)
            if (k != label[i]) rival = std::max(rival, scores[k]);
        counts.mistakes += scores[label[i]] <= rival;
        if (!(norm2 > 0.0) || !solve(scores.data(), classes, label[i], norm2, gamma, C)) continue;
        ++counts.updates;
        row.each([&](std::int32_t j, double x) {
            double* w = weight(j);
            for (int k = 0; k < classes; ++k) w[k] += x * scores[k];
        });
    }
    return counts;
}

}  // namespace confidently
