// Products of matrices around the recursion of gram.hpp, for covariances of at most some hundred features, each known
// by one matrix over the features: two classes, one that classes share, or one per class. It is what batch_products.py
// does for all kinds and sizes; for small ones, a call from Python for every product takes as long as the products.
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

// Rows of a product. Products of up to a million terms, which a BLAS does without copying a matrix, are as fast with
// few rows as with many, and make a call of one row several times as fast; larger ones are slow with few rows.
inline int rows_of_slice(int features) { return 4.0 * features * features <= 1e6 ? 4 : 16; }

// Rows are learned in blocks, which continue from one call to the next: where a block begins and ends depends on the
// rows alone. What the rows of a block need is computed in products of one size, that of a slice of the block, so that
// its bits do not depend on which of the rows a call has. The covariances given are only read: they are copied
// before they change for the first time, which not every call does.
template <class Real>
class DenseBlocks {
  public:
    // may_wait: pending rows with which a block may begin
    DenseBlocks(const Blas<Real>& blas, const DenseState<Real>& state, Sharing sharing, int rows_per_block,
                std::int64_t may_wait)
        : blas_(blas), s_(state), sharing_(sharing), room_(rows_per_block), may_wait_(may_wait),
          product_(std::size_t(state.learners) * rows_per_block * state.features) {}

    // Continues a block: its rows so far, what was pending before it, the weights then, and the products of these rows.
    void resume(int rows_so_far, std::int64_t pending_before, const Real* weights, const Real* products) {
        rows = rows_so_far, before_ = pending_before;
        weights_.assign(weights, weights + weights_size());
        const std::size_t size = std::size_t(rows) * s_.features;
        for (int l = 0; l < s_.learners; ++l) std::copy_n(products + l * size, size, products_of(l));
    }

    // Makes all products that the recursion needs of rows order[0 .. n-1] (nullptr: first, first + 1, ...). Returns how
    // many of the rows keep their digits; if none does, the block has ended.
    int begin(const Rows& all, const std::int64_t* order, std::int64_t first, int n, bool intercept) {
        const int slice = rows_of_slice(s_.features), columns = s_.columns;
        base_ = rows / slice * slice;
        end_ = std::min(room_, (rows + n + slice - 1) / slice * slice);
        const std::size_t d = std::size_t(s_.features), own = std::size_t(rows - base_);
        block_.assign(std::size_t(end_ - base_) * d, Real(0));
        fill_rows(all, order, first, n, intercept, s_.features, block_.data() + own * d);
        if (rows == 0) {
            if (*s_.pending_rows > may_wait_) flush();
            before_ = *s_.pending_rows;
            weights_.assign(s_.weights, s_.weights + weights_size());
        }
        int precise = multiply(n);
        if (precise == 0 && rows == 0) {  // too many digits cancel
            flush();
            before_ = 0;
            precise = multiply(n);
        }
        if (precise == 0) {
            rows = 0;
            return 0;
        }
        scores_.resize(std::size_t(end_ - base_) * columns);
        each_slice([&](std::size_t at, int m) {
            blas_.multiply(1, block_.data() + at * d, s_.features, weights_.data(), s_.planes * columns, 0,
                           scores_.data() + at * columns, columns, m, columns, s_.features);
        });
        start.assign(scores_.begin() + own * columns, scores_.begin() + (own + n) * columns);
        norm.resize(std::size_t(n));
        for (int i = 0; i < n; ++i) {
            const Real* row = block_.data() + (own + i) * d;
            norm[i] = dot(row, row, s_.features);
        }
        return precise;
    }

    // of the first n of the rows of begin()
    WholeGram<Real> gram(int l, int n) const {
        return {gram_of(l) + std::size_t(rows - base_) * room_, n, rows, room_, room_};
    }

    // Updates means and covariances by what the recursion has found of the block so far, `done` more rows of it; ended:
    // whether the next row begins another block. Returns whether all weights are in range.
    template <class Pass>
    bool end(const Pass& pass, int done, bool ended, double largest) {
        std::vector<int> kept(std::size_t(s_.learners), 0);
        lost_.resize(std::size_t(s_.learners));
        std::copy(weights_.begin(), weights_.end(), s_.weights);
        for (int l = 0; l < s_.learners; ++l) kept[l] = update(pass, l);
        bool in_range = true;
        for (std::size_t i = 0; i < weights_.size(); ++i) in_range &= std::fabs(double(s_.weights[i])) <= largest;
        if (in_range) wait(kept);
        rows = ended || rows + done == room_ ? 0 : rows + done;
        return in_range;
    }

    // Returns the weights before the block that the next row continues, and the products of its rows; nothing if there
    // is none.
    std::pair<std::vector<Real>, std::vector<Real>> open() const {
        if (rows == 0) return {};
        std::vector<Real> products;
        for (int l = 0; l < s_.learners; ++l) {
            const Real* from = product_.data() + std::size_t(l) * room_ * s_.features;
            products.insert(products.end(), from, from + std::size_t(rows) * s_.features);
        }
        return {weights_, products};
    }

    std::int64_t pending_before() const { return before_; }

    // The covariances if they have changed; otherwise nothing.
    std::vector<Real>& changed() { return changed_; }

    int rows = 0;                     // of the block so far
    std::vector<double> start, norm;  // rows x columns scores; |x|^2 of the rows

  private:
    static constexpr std::size_t kManyColumns = 256;  // MANY_COLUMNS of Python

    std::size_t weights_size() const { return std::size_t(s_.features) * s_.planes * s_.columns; }
    const Real* gram_of(int l) const { return gram_.data() + std::size_t(l) * (end_ - base_) * room_; }
    Real* gram_of(int l) { return gram_.data() + std::size_t(l) * (end_ - base_) * room_; }
    Real* products_of(int l) { return product_.data() + std::size_t(l) * room_ * s_.features; }

    // Calls f(first row, rows) for the slices of the block that have some of the next rows, counted from the first one.
    template <class F>
    void each_slice(F&& f) const {
        const int slice = rows_of_slice(s_.features);
        for (int at = base_; at < end_; at += slice) f(std::size_t(at - base_), std::min(slice, end_ - at));
    }

    // Returns the number of rows, of n, before the first whose variance has lost its digits.
    int multiply(int n) {
        const int d = s_.features, count = int(before_);
        const std::size_t k = std::size_t(room_), own = std::size_t(rows - base_), size = std::size_t(n) * d;
        const Real* next = block_.data() + own * d;
        projected_.resize(std::size_t(end_ - base_) * count);
        gram_.resize(std::size_t(s_.learners) * (end_ - base_) * k);
        int precise = n;
        for (int l = 0; l < s_.learners; ++l) {
            Real *products = products_of(l) + rows * std::size_t(d), *g = products, *gram = gram_of(l);
            if (rows) {  // those of the rows before stay
                part_.resize(block_.size());
                g = part_.data();
            }
            if (multiply_sparse_rows(next, n, d, s_.sigma(l), d, products) > 0) {
                each_slice([&](std::size_t at, int m) {
                    blas_.multiply(1, block_.data() + at * d, d, s_.sigma(l), d, 0, g + at * d, d, m, d, d);
                });
                multiply_sparse_rows(next, n, d, s_.sigma(l), d, g + own * d);
            } else if (rows) {
                std::copy_n(products, size, g + own * d);
            }
            if (count)
                each_slice([&](std::size_t at, int m) {
                    Real* projected = projected_.data() + at * count;
                    blas_.multiply_transposed(block_.data() + at * d, s_.rows(l), projected, m, count, d);
                    blas_.multiply(-1, projected, count, s_.rows(l), d, 1, g + at * d, d, m, d, count);
                });
            if (rows) std::copy_n(g + own * d, size, products);
            each_slice([&](std::size_t at, int m) {
                blas_.multiply_transposed(block_.data() + at * d, products_of(l), gram + at * k, m, room_, d);
            });
            for (int i = 0; i < precise && count; ++i) {
                const std::size_t at = own + i;
                double lost = 0.0;
                for (int u = 0; u < count; ++u)
                    lost += double(projected_[at * count + u]) * double(projected_[at * count + u]);
                const double left = gram[at * k + std::size_t(rows + i)];
                if (left < kMinFraction * (left + lost)) precise = i;
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
        const std::size_t first = sharing_ == Sharing::independent ? l : 0,
                          last = sharing_ == Sharing::shared ? pass.means.size() : first + 1;
        moved_.clear();  // of thousands of classes a block moves few
        for (std::size_t k = first; k < last; ++k)
            if (last - first <= kManyColumns || pass.moved[k]) moved_.push_back(int(k));
        const int columns = int(moved_.size()), planes = s_.planes > 1 ? 2 : 1;
        lower_.assign(std::size_t(n) * n, Real(0));
        size_.resize(std::size_t(n));
        mean_.resize(std::size_t(n) * columns * planes);
        plus_.assign(c.plus.begin(), c.plus.end());
        for (int u = 0; u < n; ++u) {
            std::copy_n(c.shares(u), u, lower_.data() + std::size_t(u) * n);
            size_[u] = Real(std::sqrt(std::max(c.weight[u], 0.0)) * c.factor);
            for (int k = 0; k < columns; ++k) {
                const double g = pass.means[moved_[k]][u] * c.factor;
                mean_[std::size_t(k) * n + u] = Real(g);
                if (planes > 1) mean_[std::size_t(columns + k) * n + u] = Real(g * pass.ages[l][u]);
            }
        }
        std::vector<Real>& q = lost_[l];
        q.resize(std::size_t(n) * d);
        change_.assign(std::size_t(columns) * planes * d, Real(0));
        const BlockUpdate<Real> update{plus_.data(), nullptr, lower_.data(),   mean_.data(),
                                       size_.data(), n,       columns * planes};
        update.compute(blas_, products_of(l), d, q.data(), change_.data(), 0, d, scratch_);
        if (c.factor != 1.0) {
            copy_covariances();
            for (std::int64_t i = 0; i < std::int64_t(d) * d; ++i) s_.sigma(l)[i] *= Real(c.factor);
            for (std::int64_t i = 0; i < std::int64_t(s_.room) * d; ++i) s_.rows(l)[i] *= Real(std::sqrt(c.factor));
        }
        for (int j = 0; j < d; ++j)
            for (int p = 0; p < planes; ++p) {
                const Real* by = change_.data() + (std::size_t(j) * planes + p) * columns;
                Real* to = s_.weights + (std::size_t(j) * s_.planes + (p ? s_.planes - 1 : 0)) * s_.columns;
                for (int k = 0; k < columns; ++k) to[moved_[k]] += by[k];
            }
        int kept = 0;
        for (int u = 0; u < n; ++u) {
            if (!(c.weight[u] > 0.0)) continue;
            if (kept < u) std::copy_n(q.data() + std::size_t(u) * d, d, q.data() + std::size_t(kept) * d);
            ++kept;
        }
        return kept;
    }

    // Keeps the rows in lost_, whose Gram matrices are to be subtracted from the covariances, after what was pending
    // before the block.
    void wait(const std::vector<int>& kept) {
        const int d = s_.features, count = int(before_), more = *std::max_element(kept.begin(), kept.end());
        for (int l = 0; l < s_.learners; ++l) {
            Real* to = s_.rows(l) + std::size_t(count) * d;
            std::copy_n(lost_[l].data(), std::size_t(kept[l]) * d, to);
            std::fill_n(to + std::size_t(kept[l]) * d, std::size_t(more - kept[l]) * d, Real(0));
        }
        *s_.pending_rows = count + more;
    }

    void copy_covariances() {
        if (!changed_.empty()) return;
        changed_.assign(s_.covariance, s_.covariance + std::size_t(s_.learners) * s_.features * s_.features);
        s_.covariance = changed_.data();
    }

    void flush() {
        const int d = s_.features, count = int(*s_.pending_rows);
        if (count) copy_covariances();
        for (int l = 0; l < s_.learners && count; ++l) {
            blas_.add_gram(s_.sigma(l), d, s_.rows(l), count, -1, 0, d);
            std::fill_n(s_.rows(l), std::size_t(count) * d, Real(0));  // so that equal states are equal bit for bit
        }
        *s_.pending_rows = 0;
    }

    const Blas<Real>& blas_;
    DenseState<Real> s_;
    Sharing sharing_;
    int room_;                            // rows of a block
    std::int64_t may_wait_, before_ = 0;  // pending rows before the block
    int base_ = 0, end_ = 0;              // of the slices of the block that the next rows are in
    std::vector<Real> product_, gram_;    // learners x room x d; learners x rows of these slices x room
    std::vector<Real> weights_;           // before the block
    std::vector<Real> changed_;           // copies of the covariances
    std::vector<Real> block_, part_, projected_, scores_, lower_, size_, mean_, change_, scratch_;
    std::vector<std::vector<Real>> lost_;  // one list of rows per learner
    std::vector<std::int64_t> plus_;
    std::vector<int> moved_;  // columns of weights
};

}  // namespace confidently
