// What a stack says of a row before the label is used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "stack/mixture.hpp"
#include "tasks/conformal.hpp"

namespace confidently {

// The logarithm of the odds of class k by mixed logits: one for two classes, otherwise one per class.
inline double log_odds_of(const double* mixed, int columns, int k) {
    if (columns == 1) return k == 1 ? mixed[0] : -mixed[0];
    double others = 0.0;
    for (int j = 0; j < columns; ++j)
        if (j != k) others += std::exp(mixed[j] - mixed[k]);
    return -std::log(others);
}

// What the mean logits of members expect of a label. mean: scratch space
inline Expected expected_by(const MemberLogits& l, std::span<const std::int64_t> members, int label,
                            std::vector<double>& mean) {
    std::fill(mean.begin(), mean.end(), 0.0);
    for (const std::int64_t member : members)
        for (int k = 0; k < l.columns; ++k) mean[k] += l(int(member), k) / double(members.size());
    if (l.columns == 1) return Expected::of_two(sigmoid(label == 1 ? mean[0] : -mean[0]));
    const double top = *std::max_element(mean.begin(), mean.end());
    for (double& one : mean) one -= top;
    normalize_exponentials(mean.data(), l.columns);
    return Expected::of_several(mean.data(), l.columns, label);
}

// mixed, best: the mixed logits, and the most probable class; lasting: the members by whose mean classes are expected
inline Said said_of(const double* mixed, int best, const MemberLogits& l, std::span<const std::int64_t> lasting,
                    int label, std::vector<double>& mean) {
    return {log_odds_of(mixed, l.columns, label), log_odds_of(mixed, l.columns, best),
            expected_by(l, lasting, label, mean), label, best != label};
}

}  // namespace confidently
