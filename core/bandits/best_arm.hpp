// The probability that each of several independent Gaussians is the largest: the propensities of Thompson sampling.
//
// With F(t) = prod_b F_b(t), the distribution of the largest, p_a = int F(t) f_a(t)/F_a(t) dt, and the integrals over
// an interval sum to the change of F over it. That sum is known exactly, so an interval is halved until Gauss-Legendre
// nodes reproduce it: a narrow density between the nodes cannot be missed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/normal.hpp"

namespace confidently {

class BestArm {
  public:
    // p[a] for means m[a] and standard deviations s[a] >= 0; arms of which nothing else is known share equally.
    void probabilities(const double* m, const double* s, std::size_t n, double* p) {
        std::fill_n(p, n, 0.0);
        low_ = high_ = m[0] - kReach * s[0];
        for (std::size_t a = 0; a < n; ++a) {
            low_ = std::max(low_, m[a] - kReach * s[a]);
            high_ = std::max(high_, m[a] + kReach * s[a]);
        }
        if (!(high_ > low_)) {  // the best arms are known exactly
            const auto best = double(std::count(m, m + n, low_));
            for (std::size_t a = 0; a < n; ++a) p[a] = m[a] == low_ ? 1.0 / best : 0.0;
            return;
        }
        const double least = kLeast * (high_ - low_);
        low_ -= kReach * least;
        group(m, s, n, least);
        share_.assign(groups_.size(), 0.0);
        integrate(low_, high_, distribution(low_), distribution(high_), 0);
        double sum = 0.0;
        for (std::size_t g = 0; g < groups_.size(); ++g) sum += share_[g] * double(groups_[g].members);
        for (std::size_t i = 0; i < arms_.size(); ++i) p[arms_[i]] = share_[group_[i]] / sum;
    }

  private:
    struct Group {
        double mean, deviation;
        std::size_t members, number;

        bool is(double other_mean, double other_deviation) const {
            return mean == other_mean && deviation == other_deviation;
        }
    };

    static constexpr double kReach = 9.0;        // standard deviations: beyond them lies 1e-19 of a Gaussian
    static constexpr double kTolerance = 1e-10;  // of the sum of an interval's integrals
    static constexpr double kLeast = 1e-9;       // of the range, the least deviation: that of an arm known exactly
    static constexpr int kDepth = 60;            // halvings: below the spacing of doubles there is nothing to find
    static constexpr int kNodes = 6;             // on either side of an interval's middle
    static constexpr double kAt[kNodes] = {0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
                                           0.7699026741943047, 0.9041172563704749, 0.9815606342467193};
    static constexpr double kWeight[kNodes] = {0.2491470458134028, 0.2334925365383548, 0.2031674267230659,
                                               0.1600783285433462, 0.1069393259953184, 0.0471753363865118};

    // Arms that can win, those with the same mean and deviation as one group: among many arms most are still untried.
    // Groups are found by a hash, and only these are sorted.
    void group(const double* m, const double* s, std::size_t n, double least) {
        arms_.clear(), group_.clear(), groups_.clear();
        slots_.assign(std::bit_ceil(2 * n), 0);
        for (std::size_t a = 0; a < n; ++a) {
            if (m[a] + kReach * s[a] < low_) continue;
            const double mean = m[a] + 0.0, deviation = std::max(s[a], least);  // 0 in place of -0
            std::size_t slot = hash(mean, deviation) & (slots_.size() - 1);
            while (slots_[slot] != 0 && !groups_[slots_[slot] - 1].is(mean, deviation))
                slot = (slot + 1) & (slots_.size() - 1);
            if (slots_[slot] == 0) {
                groups_.push_back({mean, deviation, 0, groups_.size()});
                slots_[slot] = groups_.size();
            }
            ++groups_[slots_[slot] - 1].members;
            arms_.push_back(a), group_.push_back(slots_[slot] - 1);
        }
        std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
            return a.mean != b.mean ? a.mean < b.mean : a.deviation < b.deviation;
        });
        place_.resize(groups_.size());
        for (std::size_t g = 0; g < groups_.size(); ++g) place_[groups_[g].number] = g;
        for (std::size_t& g : group_) g = place_[g];
    }

    static std::size_t hash(double mean, double deviation) {
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(mean) * 0x9e3779b97f4a7c15u ^
                                   std::bit_cast<std::uint64_t>(deviation) * 0xc2b2ae3d27d4eb4fu;
        return std::size_t((bits ^ bits >> 32) * 0x9e3779b97f4a7c15u >> 32);
    }

    double distribution(double t) const {
        double sum = 0.0;
        for (const Group& g : groups_) {
            const double z = (t - g.mean) / g.deviation;
            if (z < kReach) sum += double(g.members) * (log_scaled_cdf(z) - 0.5 * z * z);
        }
        return std::exp(sum);
    }

    // Adds weight * F(t) f_a(t)/F_a(t) to every group's part of the interval; returns the sum over all arms.
    double add(double t, double weight) {
        double log_all = 0.0;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const double deviation = groups_[g].deviation, z = (t - groups_[g].mean) / deviation;
            log_all += z < kReach ? double(groups_[g].members) * (log_scaled_cdf(z) - 0.5 * z * z) : 0.0;
            rate_[g] = z < kReach ? hazard(z).v / deviation : 0.0;
        }
        const double scale = weight * std::exp(log_all);
        double sum = 0.0;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            part_[g] += scale * rate_[g];
            sum += scale * rate_[g] * double(groups_[g].members);
        }
        return sum;
    }

    void integrate(double from, double to, double below, double above, int depth) {
        const double middle = 0.5 * (from + to), half = 0.5 * (to - from);
        if (above - below < 1e-16) return;
        part_.assign(groups_.size(), 0.0);
        rate_.resize(groups_.size());
        double sum = 0.0;
        for (int k = 0; k < kNodes; ++k)
            sum += add(middle - half * kAt[k], half * kWeight[k]) + add(middle + half * kAt[k], half * kWeight[k]);
        if (std::abs(sum - (above - below)) <= kTolerance || depth == kDepth) {
            for (std::size_t g = 0; g < groups_.size(); ++g) share_[g] += part_[g];
            return;
        }
        const double between = distribution(middle);
        integrate(from, middle, below, between, depth + 1);
        integrate(middle, to, between, above, depth + 1);
    }

    double low_ = 0.0, high_ = 0.0;
    std::vector<std::size_t> arms_, group_;   // those that can win, and their groups
    std::vector<std::size_t> slots_, place_;  // of the hash: numbers of groups from 1 on; where a group is sorted to
    std::vector<Group> groups_;
    std::vector<double> share_, part_, rate_;
};

}  // namespace confidently
