// A precision that is a diagonal and a matrix of low rank, P = D + W W', for all columns of weights or for each of
// them. With w = sqrt(zeta) x as another column of W, an update is exact. When W has no column left, it returns to its
// rank: the eigenvectors of W' D^-1 W with the largest eigenvalues stay, and of the others, the diagonal of what they
// add to P (Chang et al. 2023, LO-FI, with the precisions relative to D). By Woodbury's identity,
//   Sigma = scale (D^-1 - D^-1 W M W' D^-1),    M = (I + G)^-1,    G = W' D^-1 W.
// An update costs O(d columns), and a variance O(nonzeros columns).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "cholesky.hpp"
#include "covariances/columns.hpp"
#include "covariances/eigenvectors.hpp"
#include "covariances/scale.hpp"
#include "covariances/settings.hpp"
#include "covariances/sharing.hpp"
#include "covariances/weights.hpp"
#include "processor.hpp"
#include "rules/step.hpp"

namespace confidently {

// The precisions of all learners. Unused columns of W are 0.
inline constexpr double kLargestPrecision = 1e250;  // of a weight, times another one's variance

template <class Real>
class LowRankPrecisions {
  public:
    struct Arrays {
        double* diagonal;    // (learners x n)
        Real* factors;       // (learners x n x room): W, the columns of a feature adjacent
        double* inner;       // (learners x 2 x room x room): G and M, 0 beyond the columns in use
        std::int64_t* used;  // (learners): columns of W in use, fewer than room
    };

    LowRankPrecisions(const Arrays& arrays, std::int64_t n, int room) : arrays_(arrays), n_(n), room_(room) {}

    // u = W' D^-1 x and M u, and x' P^-1 x, of a row at positions of features.
    struct Projected {
        std::vector<double> u, solved;
        double variance;
    };

    template <class Positions>
    Projected project(int learner, const Row& row, const Positions& position) const {
        Projected found{std::vector<double>(std::size_t(room_)), std::vector<double>(std::size_t(room_)), 0.0};
        const int used = int(arrays_.used[learner]);
        row.each([&](std::int32_t j, double x) {
            const double scaled = x / diagonal(learner)[position(j)];
            found.variance += x * scaled;
            add_scaled(scaled, factors(learner, position(j)), used, found.u.data());
        });
        for (int a = 0; a < used; ++a) {
            const double* m = inverse(learner) + a * room_;
            for (int b = 0; b < used; ++b) found.solved[b] += found.u[a] * m[b];
        }
        for (int a = 0; a < used; ++a) found.variance -= found.u[a] * found.solved[a];
        return found;
    }

    // out = P^-1 x, for all features
    template <class Positions>
    void solve(int learner, const Row& row, const Positions& position, const Projected& found, double* out) const {
        std::fill(out, out + n_, 0.0);
        row.each([&](std::int32_t j, double x) { out[position(j)] = x; });
        const int used = int(arrays_.used[learner]);
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return solve_avx2(learner, used, found.solved.data(), out);
#endif
        solve_all(learner, used, found.solved.data(), out);
    }

    // P += gained x x'; returns whether its numbers are within their range.
    template <class Positions>
    bool add(int learner, const Row& row, const Positions& position, const Projected& found, double gained) const {
        const int used = int(arrays_.used[learner]);
        const double size = std::sqrt(gained);
        row.each([&](std::int32_t j, double x) { factors(learner, position(j))[used] = static_cast<Real>(size * x); });
        double norm = found.variance;  // the new entry of G: x' D^-1 x, times the gain
        for (int a = 0; a < used; ++a) norm += found.u[a] * found.solved[a];
        double *g = gram(learner), *m = inverse(learner);
        const double left = 1.0 + gained * found.variance;  // of Schur's complement of the new entry in I + G
        for (int a = 0; a < used; ++a) {
            g[a * room_ + used] = g[used * room_ + a] = size * found.u[a];
            m[a * room_ + used] = m[used * room_ + a] = -size * found.solved[a] / left;
            const double share = gained * found.solved[a] / left;
            for (int b = 0; b < used; ++b) m[a * room_ + b] += share * found.solved[b];
        }
        g[used * room_ + used] = gained * norm;
        m[used * room_ + used] = 1.0 / left;
        if (!(gained * norm <= kLargestPrecision)) return false;
        if (++arrays_.used[learner] == room_) truncate(learner);
        return true;
    }

    // P /= by
    void divide(int learner, double by) const {
        const double size = 1.0 / std::sqrt(by);
        double* d = diagonal(learner);
        Real* w = factors(learner, 0);
        for (std::int64_t j = 0; j < n_; ++j) d[j] /= by;
        for (std::int64_t k = 0; k < n_ * room_; ++k) w[k] = static_cast<Real>(size * w[k]);
    }

    std::int64_t features() const { return n_; }

  private:
    using Four = double __attribute__((vector_size(32)));

    Arrays arrays_;
    std::int64_t n_;
    int room_;

    int rank() const { return room_ / 2; }
    double* diagonal(int learner) const { return arrays_.diagonal + learner * n_; }
    Real* factors(int learner, std::int64_t i) const { return arrays_.factors + (learner * n_ + i) * room_; }
    double* gram(int learner) const { return arrays_.inner + std::int64_t(2) * learner * room_ * room_; }
    double* inverse(int learner) const { return gram(learner) + std::int64_t(room_) * room_; }

    static void add_scaled(double x, const Real* w, int used, double* out) {
        for (int k = 0; k < used; ++k) out[k] += x * double(w[k]);
    }

    CONFIDENTLY_INLINE static Four four_of(const Real* w) {
        if constexpr (sizeof(Real) == sizeof(double)) {
            Four found;
            std::memcpy(&found, w, sizeof found);
            return found;
        } else {
            return Four{double(w[0]), double(w[1]), double(w[2]), double(w[3])};
        }
    }

    CONFIDENTLY_INLINE void solve_all(int learner, int used, const double* t, double* out) const {
        const double* d = diagonal(learner);
        for (std::int64_t i = 0; i < n_; ++i) {
            const Real* w = factors(learner, i);
            Four first = {}, second = {}, one, two;
            int k = 0;
            for (; k + 8 <= used; k += 8) {
                std::memcpy(&one, t + k, sizeof one), std::memcpy(&two, t + k + 4, sizeof two);
                first += one * four_of(w + k), second += two * four_of(w + k + 4);
            }
            first += second;
            double sum = (first[0] + first[1]) + (first[2] + first[3]);
            for (; k < used; ++k) sum += t[k] * double(w[k]);
            out[i] = (out[i] - sum) / d[i];
        }
    }

    // W <- W V for the first eigenvectors V of G; the diagonal of the rest goes into D.
    CONFIDENTLY_INLINE void rotate_all(int learner, const double* v, int kept, std::vector<double>& made) const {
        double* d = diagonal(learner);
        for (std::int64_t i = 0; i < n_; ++i) {
            Real* w = factors(learner, i);
            double whole = 0.0, stays = 0.0;
            for (int k = 0; k < room_; ++k) whole += double(w[k]) * double(w[k]);
            if (whole == 0.0) continue;
            std::fill(made.begin(), made.end(), 0.0);
            double* out = made.data();
            for (int c = 0; c < room_; ++c) {
                const double x = double(w[c]);
                const double* of = v + c * kept;
                for (int k = 0; k < kept; ++k) out[k] += x * of[k];
            }
            for (int k = 0; k < kept; ++k) {
                w[k] = static_cast<Real>(out[k]);
                stays += out[k] * out[k];
            }
            std::fill(w + kept, w + room_, Real(0));
            d[i] += std::max(whole - stays, 0.0);
        }
    }

    // The lower triangle of W' D^-1 W, of the first columns.
    CONFIDENTLY_INLINE void gram_all(int learner, int kept, double* g) const {
        const double* d = diagonal(learner);
        for (std::int64_t i = 0; i < n_; ++i) {
            const Real* w = factors(learner, i);
            for (int a = 0; a < kept; ++a) {
                if (w[a] == Real(0)) continue;
                const double x = double(w[a]) / d[i];
                double* to = g + a * room_;
                for (int b = 0; b <= a; ++b) to[b] += x * double(w[b]);
            }
        }
    }

#if CONFIDENTLY_X86
    CONFIDENTLY_AVX2 void solve_avx2(int learner, int used, const double* t, double* out) const {
        solve_all(learner, used, t, out);
    }
    CONFIDENTLY_AVX2 void rotate_avx2(int learner, const double* v, int kept, std::vector<double>& made) const {
        rotate_all(learner, v, kept, made);
    }
    CONFIDENTLY_AVX2 void gram_avx2(int learner, int kept, double* g) const { gram_all(learner, kept, g); }
#endif

    void rotate(int learner, const double* v, int kept, std::vector<double>& made) const {
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return rotate_avx2(learner, v, kept, made);
#endif
        rotate_all(learner, v, kept, made);
    }

    void measure(int learner, int kept, double* g) const {
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2) return gram_avx2(learner, kept, g);
#endif
        gram_all(learner, kept, g);
    }

    CONFIDENTLY_SELDOM void truncate(int learner) const {
        const std::size_t room = std::size_t(room_), kept = std::size_t(rank());
        double *g = gram(learner), *m = inverse(learner);
        std::vector<double> whole(g, g + room * room), first(room * kept), made(kept);
        Eigenvectors eigen;
        eigen(whole, room);
        for (std::size_t k = 0; k < kept; ++k)
            for (std::size_t c = 0; c < room; ++c) first[c * kept + k] = eigen.vectors[k * room + c];
        rotate(learner, first.data(), int(kept), made);
        std::fill(g, g + 2 * room * room, 0.0);
        measure(learner, int(kept), g);
        std::vector<double> one(kept * kept), inverted(kept * kept);
        for (std::size_t a = 0; a < kept; ++a)
            for (std::size_t b = 0; b <= a; ++b) {
                g[b * room + a] = g[a * room + b];
                one[a * kept + b] = one[b * kept + a] = g[a * room + b] + (a == b ? 1.0 : 0.0);
            }
        Inverse(int(kept))(one.data(), inverted.data());
        for (std::size_t a = 0; a < kept; ++a) std::copy_n(&inverted[a * kept], kept, m + a * room);
        arrays_.used[learner] = std::int64_t(kept);
    }
};

template <class Real>
struct LowRankCovariance {
    static constexpr bool one_column = false;

    struct LowRankMargin : Margin {
        bool at_floor;  // no variance is left along z: the mean may move, the covariance may not
        bool lost;      // rounding left less than none: neither moves
        typename LowRankPrecisions<Real>::Projected projected;  // of x
    };

    struct Columns : ColumnScores {
        std::vector<LowRankMargin> margins;  // one per learner
    };

    Weights<Real> weights;
    Scales scales;
    LowRankPrecisions<Real> precisions;
    Sharing sharing;
    double floor;

    LowRankMargin score(const Row& row, Pair p) const {
        LowRankMargin margin{{weights.score(row, p), 0.0}, false, false, project(row, p)};
        double norm = 0.0;
        row.each([&](std::int32_t, double x) { norm += x * x; });
        margin.variance = margin.projected.variance * scales.of(p.column()) * sides(p);
        const double least = floor * norm * (p.both() ? 2.0 : 1.0);
        margin.at_floor = margin.variance <= least;
        margin.lost = margin.variance <= 0.0;
        if (margin.at_floor) margin.variance = least;
        return margin;
    }

    double variance(const Row& row, Pair p) const { return score(row, p).variance; }

    double update(const Row& row, Pair p, const LowRankMargin& margin, const Step& step, double age) const {
        if (margin.lost) return 0.0;
        const std::vector<double> q = direction(row, p, margin);
        double largest = 0.0;
        if (p.plus != kNone) largest = move(p.plus, q, step.alpha, age);
        if (p.minus != kNone) largest = std::max(largest, move(p.minus, q, -step.alpha, age));
        if (margin.at_floor) return largest;
        if (!gain(row, p, margin, step.zeta)) return HUGE_VAL;
        if (step.scale != 1.0)
            scales.multiply<Real>(p.column(), step.scale, [&](double by) { precisions.divide(learner(p), by); });
        return largest;
    }

    void score_columns(const Row& row, Columns& columns) const {
        const bool shared = sharing == Sharing::shared;
        for (int k = 0; k < (shared ? 1 : weights.columns); ++k) {
            columns.margins.push_back(score(row, {k, kNone}));
            columns.mean.push_back(columns.margins[k].mean);
            columns.variance.push_back(columns.margins[k].variance);
        }
        if (!shared) return;
        columns.mean.resize(static_cast<std::size_t>(weights.columns));
        weights.scores(row, 0, columns.mean.data());
        columns.variance.assign(static_cast<std::size_t>(weights.columns), columns.variance[0]);
    }

    double update_columns(const Row& row, const Columns& columns, const std::vector<double>& alpha,
                          const std::vector<double>& zeta, double age) const {
        double largest = 0.0;
        if (sharing != Sharing::shared) {
            for (int k = 0; k < weights.columns; ++k)
                largest = std::max(largest, update(row, {k, kNone}, columns.margins[k], {alpha[k], zeta[k]}, age));
            return largest;
        }
        const LowRankMargin& margin = columns.margins[0];
        if (margin.lost) return largest;
        const std::vector<double> q = direction(row, {0, kNone}, margin);
        double gained = 0.0;
        for (int k = 0; k < weights.columns; ++k) {
            largest = std::max(largest, move(k, q, alpha[k], age));
            gained += zeta[k];
        }
        return margin.at_floor || gain(row, {0, kNone}, margin, gained) ? largest : HUGE_VAL;
    }

  private:
    auto position() const {
        return [this](std::int32_t j) { return weights.position(j); };
    }
    int learner(Pair p) const { return scales.independent ? p.column() : 0; }
    double sides(Pair p) const { return p.both() ? 2.0 : 1.0; }

    auto project(const Row& row, Pair p) const { return precisions.project(learner(p), row, position()); }

    // Sigma x
    std::vector<double> direction(const Row& row, Pair p, const LowRankMargin& margin) const {
        std::vector<double> q(static_cast<std::size_t>(precisions.features()));
        precisions.solve(learner(p), row, position(), margin.projected, q.data());
        const double scale = scales.of(p.column());
        for (double& entry : q) entry *= scale;
        return q;
    }

    double move(int column, const std::vector<double>& q, double alpha, double age) const {
        double largest = 0.0;
        for (std::int64_t j = 0; j < weights.n_features; ++j) {
            Real* f = weights.base + j * weights.stride();
            if (weights.undo)
                for (int plane = 0; plane < weights.planes; ++plane)
                    weights.undo->note(f + plane * weights.spacing + column);
            largest = std::max(largest, weights.add(f, column, alpha * q[j], age));
        }
        return largest;
    }

    // Adds zeta z z' to the precision, or what the covariance keeps of it; returns whether that stays within its range.
    bool gain(const Row& row, Pair p, const LowRankMargin& margin, double zeta) const {
        if (!(zeta > 0.0)) return true;
        const double gained = zeta * sharing_gain(sharing, p, weights.columns) * scales.of(p.column());
        return precisions.add(learner(p), row, position(), margin.projected, gained);
    }
};

struct LowRank {
    static constexpr const char* name = "low_rank";
    static constexpr int planes = 1;
    static constexpr bool forgets = false;

    template <class Real, class State, class F>
    static void open(const State& state, const Weights<Real>& weights, const Scales& scales,
                     const CovarianceSettings& settings, F&& f) {
        const std::int64_t n = weights.n_features, learners = settings.independent ? weights.columns : 1;
        const std::size_t room = state.size("factors", 2);
        if (room < 2 || room % 2 || room > std::size_t(1) << 20)
            throw std::invalid_argument("factors have two columns per rank");
        const std::int64_t columns = std::int64_t(room);
        const typename LowRankPrecisions<Real>::Arrays arrays{
            state.template array<double>("diagonal", learners, n),
            state.template array<Real>("factors", learners, n, room),
            state.template array<double>("inner", learners, 2, room, room),
            state.template array<std::int64_t>("factors_used", learners)};
        for (std::int64_t l = 0; l < learners; ++l)
            if (arrays.used[l] < 0 || arrays.used[l] >= columns)
                throw std::invalid_argument("more factors are in use than there are");
        f(LowRankCovariance<Real>{weights, scales, LowRankPrecisions<Real>(arrays, n, int(room)),
                                  settings.independent ? Sharing::independent : Sharing::shared,
                                  dense_floor<Real>(settings.min_variance) * settings.prior_variance});
    }
};

}  // namespace confidently
