// A Gaussian while it trains on a chunk of rows, known only by the Gram matrix of the rows under the covariance S0 at
// the start of the chunk. With z_u the u-th direction of an update and S_u the covariance before it,
//   S_{u+1} = S_u - d_u (S_u z_u)(S_u z_u)',     mean = mean_0 + sum_u g_u S_u z_u,
// and everything a rule needs follows from the products p_u(x) = x' S_u z_u, which obey
//   p_u(x) = x' S0 z_u - sum_{w<u} d_w p_w(z_u) p_w(x)
// (a forward substitution, as in a Cholesky factorization). Neither S nor a row is accessed: full, shared and kernel
// covariances are all the same here, and the caller computes the products of matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "covariances/columns.hpp"
#include "covariances/scale.hpp"
#include "covariances/sharing.hpp"
#include "covariances/weights.hpp"
#include "rows.hpp"
#include "rules/step.hpp"

namespace confidently {

// A variance that falls below this fraction of what it was at the start of the chunk has lost as many digits: the chunk
// ends there, and the next one begins with a fresh Gram matrix.
inline constexpr double kMinFraction = 1e-4;

// In eight chains of one fixed order, so that the compiler may use whole vectors.
template <class Real>
double dot(const Real* a, const Real* b, int n) {
    double sum[8] = {};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) sum[k] += double(a[i + k]) * double(b[i + k]);
    for (int k = 0; i + k < n; ++k) sum[k] += double(a[i + k]) * double(b[i + k]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// A Gram matrix of which every entry is given: of the vectors of some rows against those of all rows of their chunk, of
// which they are the rows first, first + 1, ... A Gram says what z' S0 x is of a direction z = (one vector) - (another,
// or nothing); support_gram.hpp has one that computes what is asked for. A vector's position is its number among those
// of the whole chunk.
template <class Real>
struct WholeGram {
    struct Direction {
        std::int32_t plus, minus;
    };

    const Real* gram;  // vectors x positions
    int rows, first, room, positions;

    int position(int vector) const { return vector / rows * room + first + vector % rows; }
    Direction direction(int a, int b) const { return {position(a), b == kNone ? kNone : position(b)}; }
    Direction known(std::int32_t plus, std::int32_t minus) const { return {plus, minus}; }
    double product(int vector, Direction z) const {
        const Real* g = gram + std::size_t(vector) * positions;
        return double(g[z.plus]) - (z.minus == kNone ? 0.0 : double(g[z.minus]));
    }
    double square(int a, int b) const {
        return b == kNone ? entry(a, a) : entry(a, a) + (entry(b, b) - entry(a, b) - entry(b, a));
    }

    // Calls f(a, b) for the directions of a row along which variances must keep their digits, until f returns false.
    template <class F>
    bool all_of(int row, int rows, int columns, F&& f) const {
        for (int c = 0; c < columns; ++c)
            if (!f(c * rows + row, int(kNone))) return false;
        return true;
    }

  private:
    double entry(int a, int b) const { return gram[std::size_t(a) * positions + position(b)]; }
};

// Updates that were made in a chunk, in their order: z as positions of vectors, d, and the shares d_w p_w(z_u) of those
// before.
struct KnownUpdates {
    const std::int32_t *plus, *minus;
    const double *weight, *share;  // n; n x n
    int n;
};

// One covariance within a chunk. Its vectors are those of the Gram matrix: a row, or with a joint covariance a row in
// the part of one column of the weights.
template <class Gram>
class GramCovariance {
  public:
    GramCovariance(Gram gram, int n_vectors, int capacity)
        : gram(std::move(gram)), n_vectors_(n_vectors), capacity_(capacity), known_(n_vectors, 0),
          product_(std::size_t(n_vectors) * capacity), share_(std::size_t(capacity) * capacity) {}

    // Continues after updates by earlier rows of the chunk.
    void resume(const KnownUpdates& known) {
        plus.assign(known.plus, known.plus + known.n);
        minus.assign(known.minus, known.minus + known.n);
        weight.assign(known.weight, known.weight + known.n);
        for (int u = 0; u < known.n; ++u) {
            direction.push_back(gram.known(plus[u], minus[u]));
            std::copy_n(known.share + std::size_t(u) * known.n, u, share_.data() + std::size_t(u) * capacity_);
        }
    }

    int size() const { return static_cast<int>(weight.size()); }
    const double* shares(int u) const { return share_.data() + std::size_t(u) * capacity_; }

    // p_u(x) of a vector, for all updates so far
    const double* products(int vector) {
        double* p = product_.data() + std::size_t(vector) * capacity_;
        for (int& u = known_[vector]; u < size(); ++u)
            p[u] = factor * gram.product(vector, direction[u]) - dot(shares(u), p, u);
        return p;
    }

    // z' S z of z = (one vector) - (another, or nothing)
    double variance(int a, int b) {
        const double *p = products(a), *q = b == kNone ? nullptr : products(b);
        double lost = 0.0;
        for (int u = 0; u < size(); ++u) {
            const double r = q ? p[u] - q[u] : p[u];
            lost += weight[u] * r * r;
        }
        return factor * gram.square(a, b) - lost;
    }

    // whether the variance along z still has most of the digits it had at the start
    bool precise(int a, int b = kNone) { return variance(a, b) >= kMinFraction * factor * gram.square(a, b); }

    void append(int a, int b, double d) {
        const double *p = products(a), *q = b == kNone ? nullptr : products(b);
        double* share = share_.data() + std::size_t(size()) * capacity_;
        for (int u = 0; u < size(); ++u) share[u] = weight[u] * (q ? p[u] - q[u] : p[u]);
        direction.push_back(gram.direction(a, b));
        plus.push_back(gram.position(a));
        minus.push_back(b == kNone ? kNone : gram.position(b));
        weight.push_back(d);
    }

    // S <- by S
    void multiply(double by) {
        factor *= by;
        for (int vector = 0; vector < n_vectors_; ++vector)
            for (int u = 0; u < known_[vector]; ++u) product_[std::size_t(vector) * capacity_ + u] *= by;
        for (double& d : weight) d /= by;
    }

    std::vector<std::int32_t> plus, minus;  // the directions of the updates, as positions of vectors
    std::vector<double> weight;             // d_u
    std::vector<typename Gram::Direction> direction;
    double factor = 1.0;  // multiplies S0 and all S_u
    Gram gram;

  private:
    int n_vectors_, capacity_;
    std::vector<int> known_;
    std::vector<double> product_, share_;
};

// All covariances and means of a learner within a chunk, whatever the type of their Gram matrices.
class ProductPass {
  public:
    struct ProductMargin : Margin {
        bool at_floor;  // no variance is left along z: the mean may move, the covariance may not
        bool lost;      // rounding left less than none: neither moves
    };

    virtual double column_score(int row, int column) = 0;
    virtual double variance(int row, Pair p) = 0;
    virtual ProductMargin score(int row, Pair p) = 0;
    // Returns a bound of the coefficient times the length of the row.
    virtual double update(int row, Pair p, const ProductMargin& margin, const Step& step, double age) = 0;
    // The same for a step of every column, where they share one covariance; zeta: the sum of what their precisions
    // gain.
    virtual double update_shared(int row, const ProductMargin& margin, const std::vector<double>& alpha, double zeta,
                                 double age) = 0;
    // whether this chunk may still train on a row
    virtual bool precise(int row) = 0;
    // whether a scale was multiplied into a covariance, which ends the chunk
    virtual bool folded() const = 0;

    const int columns;
    const bool shared;  // whether the columns share one covariance

  protected:
    ProductPass(int columns, bool shared) : columns(columns), shared(shared) {}
    ~ProductPass() = default;
};

template <class Real, class Gram = WholeGram<Real>>
class GramPass final : public ProductPass {
  public:
    // gram_of(learner): its Gram; start: rows x columns scores; norm: |x|^2 of the rows; capacity: updates in a chunk
    template <class GramOf>
    GramPass(Sharing sharing, GramOf&& gram_of, const double* start, const double* norm, int rows, int columns,
             int capacity, Scales scales, double floor)
        : ProductPass(columns, sharing == Sharing::shared), sharing_(sharing), start_(start), norm_(norm), rows_(rows),
          scales_(scales), floor_(floor), means(sharing == Sharing::joint ? 1 : columns), moved(means.size()) {
        const int learners = sharing == Sharing::independent ? columns : 1;
        const int vectors = sharing == Sharing::joint ? rows * columns : rows;
        for (int l = 0; l < learners; ++l) covariances.emplace_back(gram_of(l), vectors, capacity);
        ages.resize(learners);
    }

    double column_score(int row, int column) override {
        GramCovariance<Gram>& s = covariances[learner(column)];
        const int mean = sharing_ == Sharing::joint ? 0 : column;
        if (!moved[mean]) return start_[row * columns + column];  // of thousands of classes a chunk moves few
        const std::vector<double>& g = means[mean];
        return start_[row * columns + column] + dot(g.data(), s.products(vector(row, column)), s.size());
    }

    double variance(int row, Pair p) override { return scales_.of(p.column()) * sides(p) * unscaled(row, p); }

    bool precise(int row) override {
        if (sharing_ == Sharing::joint)
            return covariances[0].gram.all_of(row, rows_, columns,
                                              [&](int a, int b) { return covariances[0].precise(a, b); });
        return std::all_of(covariances.begin(), covariances.end(),
                           [&](auto& covariance) { return covariance.precise(row); });
    }

    ProductMargin score(int row, Pair p) override {
        const double mean = p.both() ? column_score(row, p.plus) - column_score(row, p.minus)
                                     : p.sign() * column_score(row, p.column());
        ProductMargin margin{{mean, variance(row, p)}, false, false};
        const double least = floor_ * norm_[row] * (p.both() ? 2.0 : 1.0);
        margin.at_floor = margin.variance <= least;
        margin.lost = margin.variance <= 0.0;
        if (margin.at_floor) margin.variance = least;
        return margin;
    }

    double update(int row, Pair p, const ProductMargin& margin, const Step& step, double age) override {
        if (margin.lost) return 0.0;
        const int l = learner(p.column());
        const double scale = scales_.of(p.column()), v = margin.variance / sides(p);
        const double gained = step.zeta * sharing_gain(sharing_, p, columns);
        const double d = margin.at_floor || gained <= 0.0 ? 0.0 : scale / (1.0 / gained + v);
        covariances[l].append(vector(row, p.column()), other_vector(row, p), d);
        ages[l].push_back(age);
        update_mean(p, step.alpha * scale);
        if (!margin.at_floor && step.scale != 1.0)
            scales_.multiply<Real>(p.column(), step.scale, [&](double total) { multiply(l, total); });
        return std::fabs(step.alpha) * scale * std::sqrt(norm_[row]);
    }

    double update_shared(int row, const ProductMargin& margin, const std::vector<double>& alpha, double zeta,
                         double age) override {
        if (margin.lost) return 0.0;
        const double scale = scales_.of(0), gained = zeta / columns;
        covariances[0].append(row, kNone,
                              margin.at_floor || gained <= 0.0 ? 0.0 : scale / (1.0 / gained + margin.variance));
        ages[0].push_back(age);
        double largest = 0.0;
        for (int c = 0; c < columns; ++c) {
            means[c].push_back(alpha[c] * scale);
            if (alpha[c] != 0.0) moved[c] = true;
            largest = std::max(largest, std::fabs(alpha[c]));
        }
        return largest * scale * std::sqrt(norm_[row]);
    }

    bool folded() const override {
        return std::any_of(covariances.begin(), covariances.end(),
                           [](auto& covariance) { return covariance.factor != 1.0; });
    }

    std::vector<GramCovariance<Gram>> covariances;  // one per learner
    std::vector<std::vector<double>> ages;          // rows seen before each update, one list per learner

  private:
    int learner(int column) const { return sharing_ == Sharing::independent ? column : 0; }
    int vector(int row, int column) const { return sharing_ == Sharing::joint ? column * rows_ + row : row; }
    // the second vector of z; with a shared covariance both sides of z are the same x
    int other_vector(int row, Pair p) const {
        return sharing_ == Sharing::joint && p.both() ? vector(row, p.minus) : kNone;
    }
    double sides(Pair p) const { return sharing_ == Sharing::shared && p.both() ? 2.0 : 1.0; }
    double unscaled(int row, Pair p) {
        return covariances[learner(p.column())].variance(vector(row, p.column()), other_vector(row, p));
    }

    void update_mean(Pair p, double size) {
        if (sharing_ != Sharing::shared) {
            const int mean = sharing_ == Sharing::joint ? 0 : p.column();
            means[mean].push_back(p.sign() * size);
            moved[mean] = true;
            return;
        }
        for (auto& mean : means) mean.push_back(0.0);
        if (p.plus != kNone) means[p.plus].back() += size, moved[p.plus] = true;
        if (p.minus != kNone) means[p.minus].back() -= size, moved[p.minus] = true;
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
    double floor_;

  public:
    std::vector<std::vector<double>> means;  // g_u; joint: one list for all columns, otherwise one per column
    std::vector<char> moved;                 // whether one of a mean's g is not 0
};

// A pass as a covariance for the loop in learn.hpp; its rows are unit vectors, of their number in the chunk.
struct ProductCovariance {
    static constexpr bool one_column = false;

    struct Scores {
        ProductPass* pass;
        int columns;
        static constexpr bool intercept = false;

        void scores(const Row& row, int, double* out) const {
            for (int c = 0; c < columns; ++c) out[c] = pass->column_score(*row.column, c);
        }
    };

    using Margin = ProductPass::ProductMargin;

    struct Columns : ColumnScores {
        std::vector<Margin> margins;  // one per learner
    };

    struct Limits {
        double variance, weight;  // the least one of a row, and the largest absolute one
    };

    ProductPass* pass;
    Limits limits;
    Scores weights{pass, pass->columns};

    auto score(const Row& row, Pair p) const { return pass->score(*row.column, p); }
    // Rounding may leave less than 0 where values are large and everything is known.
    double variance(const Row& row, Pair p) const { return std::max(pass->variance(*row.column, p), 0.0); }
    double update(const Row& row, Pair p, const Margin& margin, const Step& step, double age) const {
        return pass->update(*row.column, p, margin, step, age);
    }

    void score_columns(const Row& row, Columns& columns) const {
        columns.mean.reserve(std::size_t(pass->columns)), columns.variance.reserve(std::size_t(pass->columns));
        for (int c = 0; c < pass->columns; ++c) {
            if (c == 0 || !pass->shared) columns.margins.push_back(score(row, {c, kNone}));
            columns.mean.push_back(c == 0 ? columns.margins[0].mean : pass->column_score(*row.column, c));
            columns.variance.push_back(columns.margins.back().variance);
        }
    }

    double update_columns(const Row& row, const Columns& columns, const std::vector<double>& alpha,
                          const std::vector<double>& zeta, double age) const {
        double largest = 0.0, gained = 0.0;
        for (int c = 0; c < pass->columns; ++c) {
            gained += zeta[c];
            if (!pass->shared)
                largest = std::max(largest, update(row, {c, kNone}, columns.margins[c], {alpha[c], zeta[c]}, age));
        }
        return pass->shared ? pass->update_shared(*row.column, columns.margins[0], alpha, gained, age) : largest;
    }
};

}  // namespace confidently
