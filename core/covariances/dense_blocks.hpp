// Products of matrices around the recursion of gram.hpp, for covariances of at most some hundred features, each known by one
// matrix over the features: two classes, one that classes share, or one per class. It is what batch_products.py does for all
// kinds and sizes; for small ones, a call from Python for every product takes as long as the products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "covariances/batch_products.hpp"
#include "covariances/blas.hpp"
#include "covariances/gram.hpp"

namespace confidently {

// The arrays of a state; Sigma = scale (covariance - pending' pending).
template <class Real>
struct DenseState {
    Real *weights, *covariance, *pending;  // features x planes x columns; learners x d x d; learners x room x d
    std::int64_t* pending_rows;
    int features, planes, columns, learners, room;

    Real* sigma(int l) const { return covariance + std::size_t(l) * features * features; }
    Real* rows(int l) const { return pending + std::size_t(l) * room * features; }
};

template <class Real>
class DenseBlocks {
  public:
    DenseBlocks(const Blas<Real>& blas, const DenseState<Real>& state, Sharing sharing) : blas_(blas), s_(state), sharing_(sharing) {}

    // Makes all products that the recursion needs of rows order[0 .. n-1] (nullptr: first, first + 1, ...).
    void begin(const Rows& rows, const std::int64_t* order, std::int64_t first, int n, bool intercept) {
        n_ = n;
        const std::size_t d = std::size_t(s_.features), k = std::size_t(n);
        block_.resize(k * d);
        fill_rows(rows, order, first, n, intercept, s_.features, block_.data());
        if (!multiply()) {  // too many digits cancel
            flush();
            multiply();
        }
        scores_.resize(k * s_.columns);
        start.resize(scores_.size());
        const int stride = s_.planes * s_.columns;
        blas_.multiply(1, block_.data(), s_.features, s_.weights, stride, 0, scores_.data(), s_.columns, n, s_.columns, s_.features);
        std::copy(scores_.begin(), scores_.end(), start.begin());
        norm.resize(k);
        for (std::size_t i = 0; i < k; ++i) norm[i] = dot(block_.data() + i * d, block_.data() + i * d, s_.features);
    }

    WholeGram<Real> gram(int l) const { return {gram_.data() + std::size_t(l) * n_ * n_, n_}; }

    // Updates means and covariances by what the recursion has found. more: whether the next rows are of another block.
    // Returns whether all weights are in range.
    template <class Pass>
    bool end(const Pass& pass, bool more, double largest) {
        std::vector<int> kept(std::size_t(s_.learners), 0);
        lost_.resize(std::size_t(s_.learners));
        for (int l = 0; l < s_.learners; ++l) kept[l] = update(pass, l);
        const std::int64_t size = std::int64_t(s_.features) * s_.planes * s_.columns;
        bool in_range = true;
        for (std::int64_t i = 0; i < size; ++i) in_range &= std::fabs(double(s_.weights[i])) <= largest;
        if (in_range) subtract(kept, more);
        return in_range;
    }

    std::vector<double> start, norm;  // rows x columns scores; |x|^2 of the rows

  private:
    // Returns whether all variances keep their digits.
    bool multiply() {
        const int d = s_.features, count = int(*s_.pending_rows);
        const std::size_t k = std::size_t(n_);
        product_.resize(std::size_t(s_.learners) * k * d);
        gram_.resize(std::size_t(s_.learners) * k * k);
        projected_.resize(k * count);
        bool precise = true;
        for (int l = 0; l < s_.learners; ++l) {
            Real *g = product_.data() + l * k * d, *gram = gram_.data() + l * k * k;
            blas_.multiply(1, block_.data(), d, s_.sigma(l), d, 0, g, d, n_, d, d);
            if (count) {
                blas_.multiply_transposed(block_.data(), s_.rows(l), projected_.data(), n_, count, d);
                blas_.multiply(-1, projected_.data(), count, s_.rows(l), d, 1, g, d, n_, d, count);
            }
            blas_.multiply_transposed(g, block_.data(), gram, n_, n_, d);
            for (std::size_t i = 0; i < k && count; ++i) {
                double lost = 0.0;
                for (int u = 0; u < count; ++u) lost += double(projected_[i * count + u]) * double(projected_[i * count + u]);
                const double left = gram[i * k + i];
                precise &= !(left < kMinFraction * (left + lost));
            }
        }
        return precise;
    }

    // Returns how many rows are to be subtracted from the covariance, which are then in lost_.
    template <class Pass>
    int update(const Pass& pass, int l) {
        const auto& c = pass.covariances[l];
        const int n = c.size(), d = s_.features;
        if (n == 0) return 0;
        const std::size_t first = sharing_ == Sharing::independent ? l : 0, last = sharing_ == Sharing::shared ? pass.means.size() : first + 1;
        const int columns = int(last - first), planes = s_.planes > 1 ? 2 : 1;
        lower_.assign(std::size_t(n) * n, Real(0));
        size_.resize(std::size_t(n));
        mean_.resize(std::size_t(n) * columns * planes);
        plus_.assign(c.plus.begin(), c.plus.end());
        for (int u = 0; u < n; ++u) {
            std::copy_n(c.shares(u), u, lower_.data() + std::size_t(u) * n);
            size_[u] = Real(std::sqrt(std::max(c.weight[u], 0.0)) * c.factor);
            for (int k = 0; k < columns; ++k) {
                const double g = pass.means[first + k][u] * c.factor;
                mean_[std::size_t(k) * n + u] = Real(g);
                if (planes > 1) mean_[std::size_t(columns + k) * n + u] = Real(g * pass.ages[l][u]);
            }
        }
        std::vector<Real>& q = lost_[l];
        q.resize(std::size_t(n) * d);
        change_.resize(std::size_t(columns) * planes * d);
        const BlockUpdate<Real> update{plus_.data(), nullptr, lower_.data(), mean_.data(), size_.data(), n, columns * planes};
        update.compute(blas_, product_.data() + std::size_t(l) * n_ * d, d, q.data(), change_.data(), 0, d, scratch_);
        if (c.factor != 1.0) {
            for (std::int64_t i = 0; i < std::int64_t(d) * d; ++i) s_.sigma(l)[i] *= Real(c.factor);
            for (std::int64_t i = 0; i < std::int64_t(s_.room) * d; ++i) s_.rows(l)[i] *= Real(std::sqrt(c.factor));
        }
        for (int p = 0; p < planes; ++p)
            for (int k = 0; k < columns; ++k) {
                const Real* by = change_.data() + std::size_t(p * columns + k) * d;
                Real* to = s_.weights + (p ? s_.planes - 1 : 0) * s_.columns + first + k;
                for (int j = 0; j < d; ++j) to[std::size_t(j) * s_.planes * s_.columns] += by[j];
            }
        int kept = 0;
        for (int u = 0; u < n; ++u) {
            if (!(c.weight[u] > 0.0)) continue;
            if (kept < u) std::copy_n(q.data() + std::size_t(u) * d, d, q.data() + std::size_t(kept) * d);
            ++kept;
        }
        return kept;
    }

    // Subtracts the Gram matrices of the rows in lost_ from the covariances, now or when enough rows are pending.
    void subtract(const std::vector<int>& kept, bool may_wait) {
        const int d = s_.features, count = int(*s_.pending_rows), more = *std::max_element(kept.begin(), kept.end());
        if (may_wait && count + more <= s_.room) {
            for (int l = 0; l < s_.learners; ++l) {
                Real* to = s_.rows(l) + std::size_t(count) * d;
                std::copy_n(lost_[l].data(), std::size_t(kept[l]) * d, to);
                std::fill_n(to + std::size_t(kept[l]) * d, std::size_t(more - kept[l]) * d, Real(0));
            }
            *s_.pending_rows = count + more;
            return;
        }
        flush();
        for (int l = 0; l < s_.learners; ++l)
            if (kept[l]) blas_.add_gram(s_.sigma(l), d, lost_[l].data(), kept[l], -1, 0, d);
    }

    void flush() {
        const int d = s_.features, count = int(*s_.pending_rows);
        for (int l = 0; l < s_.learners && count; ++l) {
            blas_.add_gram(s_.sigma(l), d, s_.rows(l), count, -1, 0, d);
            std::fill_n(s_.rows(l), std::size_t(count) * d, Real(0));  // so that equal states are equal bit for bit
        }
        *s_.pending_rows = 0;
    }

    const Blas<Real>& blas_;
    DenseState<Real> s_;
    Sharing sharing_;
    int n_ = 0;
    std::vector<Real> block_, product_, gram_, projected_, scores_, lower_, size_, mean_, change_, scratch_;
    std::vector<std::vector<Real>> lost_;  // one list of rows per learner
    std::vector<std::int64_t> plus_;
};

}  // namespace confidently
