// A Gaussian while it learns a block of rows, known only by the rows' Gram matrix under the covariance S0 at the block's
// start. With z_u the u-th direction learned and S_u what S0 has become before it,
//   S_{u+1} = S_u - d_u (S_u z_u)(S_u z_u)',     mean = mean_0 + sum_u g_u S_u z_u,
// and all a rule asks for follows from the products p_u(x) = x' S_u z_u, which obey
//   p_u(x) = x' S0 z_u - sum_{w<u} d_w p_w(z_u) p_w(x)
// (a forward substitution, as in a Cholesky factorisation). Neither S nor a row is touched: full, shared and kernel
// covariances are the same to this file, and whoever calls it does the products of matrices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "covariances/scale.hpp"
#include "rules/step.hpp"
#include "learner/tasks.hpp"
#include "covariances/weights.hpp"

namespace confidently {

// Rounding leaves errors of this share of the prior in a dense covariance's entries; what lies below is noise, and a
// step divided by it would be noise too.
template <class Real>
inline constexpr double kDenseNoise = sizeof(Real) == 4 ? 1e-6 : 1e-14;

// A variance that falls below this share of what it was at the block's start has lost as many digits: the block ends there
// and the next one begins with a fresh Gram matrix.
inline constexpr double kLeastShare = 1e-4;

// in eight chains of one fixed order, so that the compiler may use whole vectors
inline double dot(const double* a, const double* b, int n) {
    double sum[8] = {};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) sum[k] += a[i + k] * b[i + k];
    for (int k = 0; i + k < n; ++k) sum[k] += a[i + k] * b[i + k];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// One covariance within a block. A place is a row of the block, or a row in one column's share of the weights.
template <class Real>
class BlockCovariance {
  public:
    BlockCovariance(const Real* gram, int places, int capacity)
        : gram_(gram), places_(places), capacity_(capacity), known_(places, 0),
          product_(std::size_t(places) * capacity), share_(std::size_t(capacity) * capacity) {}

    int size() const { return static_cast<int>(weight.size()); }
    const double* shares(int u) const { return share_.data() + std::size_t(u) * capacity_; }

    // p_u(x) of a place, for all directions learned so far
    const double* products(int place) {
        double* p = product_.data() + std::size_t(place) * capacity_;
        const Real* g = gram_ + std::size_t(place) * places_;
        for (int& u = known_[place]; u < size(); ++u) {
            const double start = double(g[plus[u]]) - (minus[u] == kNone ? 0.0 : double(g[minus[u]]));
            p[u] = factor * start - dot(shares(u), p, u);
        }
        return p;
    }

    // z' S z of z = (one place) - (another, or nothing)
    double variance(int a, int b) {
        const double *p = products(a), *q = b == kNone ? nullptr : products(b);
        double start = gram(a, a), lost = 0.0;
        if (q) start += gram(b, b) - gram(a, b) - gram(b, a);
        for (int u = 0; u < size(); ++u) {
            const double r = q ? p[u] - q[u] : p[u];
            lost += weight[u] * r * r;
        }
        return factor * start - lost;
    }

    // whether the variance along a place still has most of the digits it had at the start
    bool sharp(int place) { return variance(place, kNone) >= kLeastShare * factor * gram(place, place); }

    void learn(int a, int b, double d) {
        const double *p = products(a), *q = b == kNone ? nullptr : products(b);
        double* share = share_.data() + std::size_t(size()) * capacity_;
        for (int u = 0; u < size(); ++u) share[u] = weight[u] * (q ? p[u] - q[u] : p[u]);
        plus.push_back(a);
        minus.push_back(b);
        weight.push_back(d);
    }

    // S <- by S
    void multiply(double by) {
        factor *= by;
        for (int place = 0; place < places_; ++place)
            for (int u = 0; u < known_[place]; ++u) product_[std::size_t(place) * capacity_ + u] *= by;
        for (double& d : weight) d /= by;
    }

    std::vector<std::int32_t> plus, minus;  // the directions learned, by places
    std::vector<double> weight;             // d_u
    double factor = 1.0;                    // S0 and all S_u are to be multiplied by it

  private:
    double gram(int a, int b) const { return gram_[std::size_t(a) * places_ + b]; }

    const Real* gram_;
    int places_, capacity_;
    std::vector<int> known_;
    std::vector<double> product_, share_;
};

// How the columns of weights share a covariance.
enum class Sharing {
    joint,        // one over all weights: a place is (column, row)
    shared,       // one of the features, the same in every column: a place is a row
    independent,  // one a column: a place is a row
};

template <class Real>
class GramPass {
  public:
    // gram: one places x places matrix a learner; start: rows x columns scores; norm: |x|^2 of the rows
    GramPass(Sharing sharing, const Real* gram, const double* start, const double* norm, int rows, int columns,
             int updates_a_row, Scales scales, double least)
        : columns(columns), sharing_(sharing), start_(start), norm_(norm), rows_(rows), scales_(scales), least_(least),
          means(sharing == Sharing::joint ? 1 : columns) {
        const int learners = sharing == Sharing::independent ? columns : 1;
        const int places = sharing == Sharing::joint ? rows * columns : rows, capacity = rows * updates_a_row;
        for (int l = 0; l < learners; ++l)
            covariances.emplace_back(gram + std::size_t(l) * places * places, places, capacity);
        ages.resize(learners);
    }

    struct Glance {
        double score, variance;
        bool spent;  // no variance left along z: the mean may move, the covariance is kept
        bool lost;   // rounding left less than none: neither moves
    };

    double score(int row, int column) {
        BlockCovariance<Real>& s = covariances[learner(column)];
        const std::vector<double>& g = means[sharing_ == Sharing::joint ? 0 : column];
        return start_[row * columns + column] + dot(g.data(), s.products(place(row, column)), s.size());
    }

    double variance(int row, Pair p) { return scales_.of(p.column()) * sides(p) * unscaled(row, p); }

    // whether a row may be learned within this block
    bool sharp(int row) {
        if (sharing_ == Sharing::shared) return covariances[0].sharp(row);
        for (int c = 0; c < columns; ++c)
            if (!covariances[learner(c)].sharp(place(row, c))) return false;
        return true;
    }

    Glance look(int row, Pair p) {
        Glance g{p.both() ? score(row, p.plus) - score(row, p.minus) : p.sign() * score(row, p.column()),
                 variance(row, p), false, false};
        const double floor = least_ * norm_[row] * (p.both() ? 2.0 : 1.0);
        g.spent = g.variance <= floor;
        g.lost = g.variance <= 0.0;
        if (g.spent) g.variance = floor;
        return g;
    }

    void move(int row, Pair p, const Glance& seen, const Step& step, double age) {
        if (seen.lost) return;
        const int l = learner(p.column());
        const double scale = scales_.of(p.column()), v = seen.variance / sides(p);
        const double d = seen.spent || step.zeta <= 0.0 ? 0.0 : scale / (1.0 / step.zeta + v);
        covariances[l].learn(place(row, p.column()), other_place(row, p), d);
        ages[l].push_back(age);
        move_mean(p, step.alpha * scale);
        if (!seen.spent && step.scale != 1.0)
            scales_.stretch<Real>(p.column(), step.scale, [&](double total) { multiply(l, total); });
    }

    const int columns;
    std::vector<BlockCovariance<Real>> covariances;  // one a learner
    std::vector<std::vector<double>> ages;           // rows seen before each update, one list a learner

  private:
    int learner(int column) const { return sharing_ == Sharing::independent ? column : 0; }
    int place(int row, int column) const { return sharing_ == Sharing::joint ? column * rows_ + row : row; }
    // the second place of z; with a shared covariance z's two sides are one and the same x
    int other_place(int row, Pair p) const {
        return sharing_ == Sharing::joint && p.both() ? place(row, p.minus) : kNone;
    }
    double sides(Pair p) const { return sharing_ == Sharing::shared && p.both() ? 2.0 : 1.0; }
    double unscaled(int row, Pair p) {
        return covariances[learner(p.column())].variance(place(row, p.column()), other_place(row, p));
    }

    void move_mean(Pair p, double size) {
        if (sharing_ != Sharing::shared) {
            means[sharing_ == Sharing::joint ? 0 : p.column()].push_back(p.sign() * size);
            return;
        }
        for (auto& mean : means) mean.push_back(0.0);
        if (p.plus != kNone) means[p.plus].back() += size;
        if (p.minus != kNone) means[p.minus].back() -= size;
    }

    void multiply(int l, double by) {
        covariances[l].multiply(by);
        for (int c = 0; c < static_cast<int>(means.size()); ++c)
            if (sharing_ != Sharing::independent || c == l)
                for (double& g : means[c]) g /= by;
    }

    Sharing sharing_;
    const double *start_, *norm_;
    int rows_;
    Scales scales_;
    double least_;

  public:
    std::vector<std::vector<double>> means;  // g_u; joint: one list for all columns, else one a column
};

// The same as a geometry for the loop of learn.hpp. Row i of a block is the unit vector of column i.
template <class Real>
struct GramGeometry {
    static constexpr bool binary_only = false;
    using Glance = typename GramPass<Real>::Glance;

    struct Scores {
        GramPass<Real>* pass;
        int columns;
        static constexpr bool intercept = false;

        void scores(const Row& row, int, double* out) const {
            for (int c = 0; c < columns; ++c) out[c] = pass->score(*row.column, c);
        }
    };

    GramPass<Real>* pass;
    Scores weights{pass, pass->columns};

    Glance look(const Row& row, Pair p) const { return pass->look(*row.column, p); }
    // below 0 is rounding's, where values are large and all was learned
    double variance(const Row& row, Pair p) const { return std::max(pass->variance(*row.column, p), 0.0); }
    void move(const Row& row, Pair p, const Glance& seen, const Step& step, double age) const {
        pass->move(*row.column, p, seen, step, age);
    }
};

// The rows of a block as unit vectors.
class UnitRows final : public Rows {
  public:
    explicit UnitRows(std::int64_t n) : Rows(n, n) {}
    Row at(std::int64_t i, bool, RowBuffer& buffer) const override {
        buffer.hold(1);
        buffer.column[0] = static_cast<std::int32_t>(i);
        buffer.value[0] = 1.0;
        return {buffer.column.data(), buffer.value.data(), 1, false};
    }
    Fault fault(std::int64_t, double) const override { return {}; }
};

}  // namespace confidently
