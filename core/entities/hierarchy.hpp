// The exact posterior of numbers of many entities, such as users, around one shared Gaussian, for few columns.
//
// A row of entity e is y = (w + d_e).x + noise, where the noise has variance s, d_e ~ N(0, s G) with a diagonal G, and
// all variances below are in units of s. Of an entity's rows the sums P = sum x x', h = sum x y, q = sum y^2 are all
// that matters. With C = (P + 1/G)^-1, the row is to the shared weights one with features z and noise 1 + x'C x:
//
//     y - x.C h ~ N(z.w, 1 + x'C x),   z = x - P C x = C x/G
//
// so a row is one rank-one update of its entity, and one of the shared Gaussian. That Gaussian is the product of a wide
// prior and a message of each entity, of precision S = P - P C P and shift g = h - P C h. G and s are learned by
// restricted maximum likelihood (Patterson & Thompson, Biometrika 1971), a step of Fisher scoring per quarter more
// rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "entities/small_factor.hpp"
#include "rows.hpp"

namespace confidently {

inline constexpr std::size_t kY = kMostColumns;  // place of the target behind those of the columns
inline constexpr double kPriorEntities = 0.1;    // that deviate by as much as the noise
inline constexpr double kSharedScale = 100.0;    // variance that a shared weight may explain, in that of the targets
inline constexpr double kLeastNoise = 1e-12;     // in units of the variance of the targets
inline constexpr double kMaxFactor = 5.0;        // of a change of G
inline constexpr int kMaxSteps = 100;            // until variances are settled, which change by less than
inline constexpr double kSettled = 1e-8;
inline constexpr double kLeastVariance = 1e-6, kMostVariance = 1e8;  // of G, where the noise is 1 and so is the column
inline constexpr double kLeastStart = 1e-12, kMostStart = 1.0;       // precision of the shared prior, likewise

class Hierarchy {
  public:
    using Columns = std::array<double, kMostColumns>;
    using Values = std::array<double, kMostColumns + 1>;
    struct Expected {
        double mean, variance;  // of the target's expectation; the variance in units of the noise
    };

    explicit Hierarchy(std::int64_t max_age) : max_age(max_age) {
        variances.fill(1.0), start.fill(1.0);
        for (std::size_t j = 0; j < kMostColumns; ++j) covariance[j * kMostColumns + j] = 1.0;
    }

    std::int64_t max_age;  // rows after which an entity is as if it had never been seen
    std::size_t d = 1;     // columns, of which the first is the intercept
    // Of each entity: the lower triangle of sum (x, y)(x, y)' around the center, row by row; the last row is (h, q).
    std::vector<double> sums{};
    std::vector<std::int64_t> last{}, rows{};     // number of the last row (-1: forgotten), and how many
    Values center{}, count{}, mean{}, squares{};  // of columns and targets: what they are taken from, moments
    Columns variances{}, start{}, weights{};      // G, the precision of the shared prior, and the mean of w
    std::array<double, kMostColumns * kMostColumns> covariance{};  // of w
    double left = 0.0, weight = 0.0, fresh = 1.0;  // squares left, rows, and precision of the prior of a new column
    std::int64_t seen = 0, next = 2;               // rows learned, and when variances are learned again
    bool forgot = false;                           // whether there are entities to drop, by keep()
    std::vector<double> losses = std::vector<double>(3);  // rows, and sums of squared and absolute progressive errors

    std::size_t size() const { return last.size(); }
    std::size_t stride() const { return (d + 1) * (d + 2) / 2; }
    static bool fits(const Row& row) {
        return row.size == 0 || std::size_t(row.column[row.size - 1]) + 1 < kMostColumns;
    }

    void add(std::size_t n) {
        const std::size_t all = size() + n;
        if (sums.capacity() < all * stride()) sums.reserve(std::max(all, size() + size() / 4) * stride());
        sums.resize(all * stride()), last.resize(all, -1), rows.resize(all);
    }

    void keep(const std::int32_t* slots, std::size_t n) {
        std::vector<double> kept;
        std::vector<std::int64_t> kept_last, kept_rows;
        kept.reserve(n * stride());
        for (std::size_t i = 0; i < n; ++i) {
            const auto slot = std::size_t(slots[i]);
            kept.insert(kept.end(), own(slot), own(slot) + stride());
            kept_last.push_back(last[slot]), kept_rows.push_back(rows[slot]);
        }
        sums = std::move(kept), last = std::move(kept_last), rows = std::move(kept_rows), forgot = false;
    }

    // The sums of a slot if it is known, for rows with numbers from now on.
    const double* known(std::int32_t slot, std::int64_t now) const {
        if (slot < 0 || last[std::size_t(slot)] < 0 || now - last[std::size_t(slot)] > max_age) return nullptr;
        return sums.data() + std::size_t(slot) * stride();
    }

    // missing: whether an absent value of a column is not known, rather than 0.
    Expected predict(const double* entity, const Row& row, const std::int8_t* missing) const {
        Columns x;
        const double beyond = read(row, missing, x);
        const Seen found = see(entity, x);
        return {center[kY] + found.own + found.shared, found.variance + beyond};
    }

    void learn(std::size_t slot, const Row& row, const std::int8_t* missing, double target, double w,
               std::int64_t now) {
        if (row.size > 0) widen(std::size_t(row.column[row.size - 1]) + 2, missing);
        const double* before = known(std::int32_t(slot), now);
        double* entity = own(slot);
        if (before == nullptr) std::fill_n(entity, stride(), 0.0), rows[slot] = 0;
        count_in(row, missing, target, w);
        Columns x;
        read(row, missing, x);
        const Seen found = see(before, x);
        const double y = target - center[kY], error = y - found.own - found.shared;
        losses[0] += 1.0, losses[1] += error * error, losses[2] += std::fabs(error);
        const double gain = w / (1.0 + w * found.variance);
        for (std::size_t j = 0; j < d; ++j) {
            weights[j] += gain * error * found.s[j];
            for (std::size_t k = 0; k < d; ++k) covariance[j * kMostColumns + k] -= gain * found.s[j] * found.s[k];
        }
        left += gain * error * error, weight += w;
        double* at = entity;
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t k = 0; k <= j; ++k) *at++ += w * x[j] * x[k];
        for (std::size_t k = 0; k < d; ++k) *at++ += w * y * x[k];
        *at += w * y * y;
        last[slot] = now, ++rows[slot];
        if (++seen >= next) refit(now);
    }

    // Learns the variances again, forgets entities that are too old, and makes the shared Gaussian from all entities.
    void refit(std::int64_t now) {
        learn_variances();
        Values moved{};
        for (std::size_t j = 1; j < d; ++j) moved[j] = mean[j] - center[j], center[j] = mean[j];
        moved[kY] = mean[kY] - center[kY], center[kY] = mean[kY];
        for (std::size_t i = 0; i < size(); ++i) {
            if (last[i] >= 0 && now - last[i] > max_age) {
                std::fill_n(own(i), stride(), 0.0);
                last[i] = -1, rows[i] = 0, forgot = true;
            }
            move(own(i), moved);
        }
        share();
        next = seen + std::max<std::int64_t>(std::min(seen / 4, max_age), 1);
    }

    // Learns the variances until they stay, from entities that were put together.
    void settle(std::int64_t now) {
        share();
        double change = 1.0;
        for (int k = 0; k < kMaxSteps && change > kSettled; ++k) {
            const Columns before = variances;
            refit(now);
            change = 0.0;
            for (std::size_t j = 0; j < d; ++j) change = std::max(change, std::fabs(variances[j] / before[j] - 1.0));
        }
    }

    double spread() const {
        if (squares[kY] > 0.0) return squares[kY] / count[kY];
        return mean[kY] != 0.0 ? mean[kY] * mean[kY] : 1.0;
    }

    // Rows less the shared weights that they determine.
    double freedom() const {
        double found = weight;
        for (std::size_t j = 0; j < d; ++j) found -= 1.0 - start[j] * covariance[j * kMostColumns + j];
        return found;
    }

    double noise() const {
        const double free = freedom();
        return std::max(free >= 1.0 ? left / free : spread(), kLeastNoise * spread());
    }

    // Makes room for columns.
    void widen(std::size_t columns, const std::int8_t* missing) {
        if (columns <= d) return;
        const std::size_t before = d, from = stride();
        d = columns;
        std::vector<double> wide(size() * stride());
        for (std::size_t i = 0; i < size(); ++i) {
            const double* old = sums.data() + i * from;
            const std::size_t square = before * (before + 1) / 2;
            double* entity = wide.data() + i * stride();
            std::copy_n(old, square, entity);
            std::copy_n(old + square, before, entity + d * (d + 1) / 2);
            entity[stride() - 1] = old[from - 1];
        }
        sums = std::move(wide);
        for (std::size_t j = before; j < d; ++j) {
            if (missing == nullptr || !missing[j - 1]) count[j] = count[kY];
            start[j] = fresh, covariance[j * kMostColumns + j] = 1.0 / fresh;
        }
    }

  private:
    // What a row is to an entity and to the shared Gaussian.
    struct Seen {
        Columns s;                     // covariance of w times z
        double own, shared, variance;  // the entity's part of the expectation, the shared one, and the variance
    };
    // What an entity says about the shared weights: of precision S and shift g, with the squares that it leaves.
    struct Message {
        std::array<double, kMostColumns * kMostColumns> S;
        Columns g;
        double left;
    };

    double* own(std::size_t slot) { return sums.data() + slot * stride(); }
    double usual(std::size_t j) const { return j > 0 && squares[j] > 0.0 ? count[j] / squares[j] : 1.0; }

    // Writes a row around the center; returns the variance of its new columns.
    double read(const Row& row, const std::int8_t* missing, Columns& x) const {
        double beyond = 0.0;
        x[0] = 1.0;
        for (std::size_t j = 1; j < d; ++j) x[j] = missing != nullptr && missing[j - 1] ? 0.0 : -center[j];
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::size_t j = std::size_t(row.column[i]) + 1;
            if (j < d)
                x[j] = row.value[i] - center[j];
            else
                beyond += row.value[i] * row.value[i] * (1.0 + 1.0 / fresh);
        }
        return beyond;
    }

    // Counts in the values of a row; where one is the first, it is the center.
    void count_in(const Row& row, const std::int8_t* missing, double target, double w) {
        std::int32_t i = 0;
        for (std::size_t j = 1; j < d; ++j) {
            const bool present = i < row.size && std::size_t(row.column[i]) + 1 == j;
            const double value = present ? row.value[i++] : 0.0;
            if (present || missing == nullptr || !missing[j - 1]) count_value(j, value, w);
        }
        count_value(kY, target, w);
    }

    void count_value(std::size_t j, double value, double w) {
        if (count[j] == 0.0) center[j] = mean[j] = value;
        count[j] += w;
        const double before = value - mean[j];
        mean[j] += w / count[j] * before;
        squares[j] += w * before * (value - mean[j]);
    }

    void factor(const double* entity, SmallFactor& out) const {
        Columns least;
        for (std::size_t j = 0; j < d; ++j) least[j] = 1.0 / variances[j];
        out.of(d, least.data(),
               [&](std::size_t j, std::size_t k) { return entity[j * (j + 1) / 2 + k] + (j == k ? least[j] : 0.0); });
    }

    Seen see(const double* entity, const Columns& x) const {
        Seen found{};
        Columns z = x;
        double v = 0.0;
        if (entity == nullptr) {
            for (std::size_t j = 0; j < d; ++j) v += variances[j] * x[j] * x[j];
        } else {
            SmallFactor known;
            factor(entity, known);
            Columns u = x;  // C x
            known.solve(u.data());
            const double* h = entity + d * (d + 1) / 2;
            for (std::size_t j = 0; j < d; ++j) v += u[j] * x[j], found.own += h[j] * u[j], z[j] = u[j] / variances[j];
        }
        for (std::size_t j = 0; j < d; ++j) {
            for (std::size_t k = 0; k < d; ++k) found.s[j] += covariance[j * kMostColumns + k] * z[k];
            found.shared += z[j] * weights[j], found.variance += z[j] * found.s[j];
        }
        found.variance = std::max(found.variance, 0.0) + v;
        return found;
    }

    void say(const double* entity, Message& out) const {
        SmallFactor known;
        factor(entity, known);
        std::array<double, kMostColumns * kMostColumns> C;
        known.inverse(C.data());
        const double* h = entity + d * (d + 1) / 2;
        out.left = h[d];
        for (std::size_t j = 0; j < d; ++j) {
            const double lag = 1.0 / variances[j];
            double own = 0.0;
            for (std::size_t k = 0; k < d; ++k) {
                own += C[j * d + k] * h[k];
                out.S[j * d + k] = (j == k ? lag : 0.0) - lag * C[j * d + k] / variances[k];
            }
            out.g[j] = lag * own, out.left -= h[j] * own;
        }
    }

    // A step of Fisher scoring for log G, where the noise is the most likely one for each G.
    void learn_variances() {
        const double s = noise();
        Columns score{}, total{};
        std::array<double, kMostColumns * kMostColumns> information{};
        double n = 0.0;
        for (std::size_t j = 0; j < d; ++j) {
            score[j] = kPriorEntities * (usual(j) / variances[j] - 1.0);
            information[j * d + j] = kPriorEntities;
        }
        Message of;
        for (std::size_t i = 0; i < size(); ++i) {
            if (last[i] < 0) continue;
            n += own(i)[0];
            say(own(i), of);
            for (std::size_t j = 0; j < d; ++j) {
                const double* S = of.S.data() + j * d;
                double t = of.g[j], of_shared = 0.0;
                for (std::size_t k = 0; k < d; ++k) {
                    t -= S[k] * weights[k];
                    double sum = 0.0;
                    for (std::size_t l = 0; l < d; ++l) sum += covariance[k * kMostColumns + l] * S[l];
                    of_shared += S[k] * sum;
                    information[j * d + k] += S[k] * variances[j] * S[k] * variances[k];
                }
                score[j] += variances[j] * (t * t / s - S[j] + of_shared), total[j] += variances[j] * S[j];
            }
        }
        SmallFactor of_all;
        Columns least;
        least.fill(kPriorEntities);
        of_all.of(d, least.data(), [&](std::size_t j, std::size_t k) {
            return information[j * d + k] - total[j] * total[k] / std::max(n, 1e-300);
        });
        Columns step = score;
        of_all.solve(step.data());
        for (std::size_t j = 0; j < d; ++j) {
            if (std::isfinite(step[j])) variances[j] *= std::clamp(1.0 + step[j], 1.0 / kMaxFactor, kMaxFactor);
            variances[j] = std::clamp(variances[j], kLeastVariance * usual(j), kMostVariance * usual(j));
        }
        fresh = std::clamp(s / (kSharedScale * spread()), kLeastStart, kMostStart);
        for (std::size_t j = 0; j < d; ++j)
            start[j] =
                std::clamp(s / (kSharedScale * spread() * usual(j)), kLeastStart / usual(j), kMostStart / usual(j));
    }

    // Sums around another center.
    void move(double* entity, const Values& by) const {
        const auto at = [&](std::size_t j, std::size_t k) -> double& { return entity[j * (j + 1) / 2 + k]; };
        for (std::size_t j = d; j > 0; --j) {
            const double own = j == d ? by[kY] : by[j];
            for (std::size_t k = 1; k <= j; ++k) {
                const double other = k == d ? by[kY] : by[k];
                at(j, k) += -own * at(k, 0) - other * at(j, 0) + own * other * at(0, 0);
            }
        }
        for (std::size_t j = 1; j <= d; ++j) {
            at(j, 0) -= (j == d ? by[kY] : by[j]) * at(0, 0);
            at(j, j) = std::max(at(j, j), 0.0);  // rounding
        }
    }

    // The shared Gaussian: the prior times the messages of all entities.
    void share() {
        std::array<double, kMostColumns * kMostColumns> A{};
        Columns b{};
        for (std::size_t j = 0; j < d; ++j) A[j * d + j] = start[j];
        left = weight = 0.0;
        Message of;
        for (std::size_t i = 0; i < size(); ++i) {
            if (last[i] < 0) continue;
            say(own(i), of);
            for (std::size_t j = 0; j < d; ++j) {
                b[j] += of.g[j];
                for (std::size_t k = 0; k <= j; ++k) A[j * d + k] += of.S[j * d + k];
            }
            left += of.left, weight += own(i)[0];
        }
        SmallFactor shared;
        shared.of(d, start.data(), [&](std::size_t j, std::size_t k) { return A[j * d + k]; });
        std::array<double, kMostColumns * kMostColumns> inverse;
        shared.inverse(inverse.data());
        weights = b;
        shared.solve(weights.data());
        for (std::size_t j = 0; j < d; ++j) {
            left -= b[j] * weights[j];
            for (std::size_t k = 0; k < d; ++k) covariance[j * kMostColumns + k] = inverse[j * d + k];
        }
        left = std::max(left, 0.0);
    }
};

}  // namespace confidently
