// Symmetric matrices S whose last changes are pending: S - U'U, with the rows of U in their order. An update appends a
// row, which takes O(n) instead of O(n^2), and whatever the matrix is asked is corrected by those rows. As soon as
// there are kMost of them, they are subtracted together, while a part of the matrix is in the cache.
//
// Where a row of examples finds so many pending rows depends on the rows before alone, and sums run in one order, so
// that the bits are the same however rows are cut into calls, on every processor, and with room for more features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "covariances/gram.hpp"
#include "covariances/symmetric_products.hpp"
#include "covariances/undo.hpp"

namespace confidently {

template <class Real>
class Pending {
  public:
    using Number = Real;
    static constexpr std::int64_t kMost = 32;      // pending rows: more cost more to correct by than they save
    static constexpr std::int64_t kMostAhead = 8;  // rows of examples that are multiplied together

    // base: learners x n x n; rows: learners x room x n; count: of pending rows, the same for all learners; undo: where
    // changes of both are noted, if they are
    Pending(Real* base, Real* rows, std::int64_t* count, std::int64_t learners, std::int64_t n, std::int64_t room,
            Undo<Real>* undo)
        : n(n), base_(base), rows_(rows), count_(count), room_(room), undo_(undo), has_row_(std::size_t(learners)) {}

    // Makes ready for the row of examples at a place in the order of training, which perhaps begins a batch, with so
    // many rows from there on. fill(k, out) writes the k-th of them: some are multiplied at a time, which takes half as
    // long.
    template <class Fill>
    void expect(std::int64_t at, bool begins, std::int64_t rows, Fill&& fill) const {
        current_ = at - first_ahead_;
        if (!begins && current_ < rows_ahead_) return;
        const std::int64_t most = std::min(kMost, room_);
        if (*count_ >= most) subtract_pending();
        rows_ahead_ = std::min({rows, kMostAhead, most - *count_}) / kRowsAtOnce * kRowsAtOnce;
        first_ahead_ = at, current_ = 0;
        ahead_.assign(std::size_t(rows_ahead_ * n), Real(0));
        products_.resize(has_row_.size() * ahead_.size());
        for (std::int64_t k = 0; k < rows_ahead_; ++k) fill(k, ahead_.data() + k * n);
        for (std::size_t l = 0; l < has_row_.size() && rows_ahead_; ++l)
            multiply_symmetric(ahead_.data(), matrix(int(l)), products_.data() + l * ahead_.size(), rows_ahead_, n);
    }

    // Writes (S - U'U) z, given what calls f(i, z_i); of the row that is expected, if matrices may change. If z' (S -
    // U'U) z has lost nearly all of its digits then, pending rows are subtracted first.
    template <class Each>
    void product(int learner, Each&& each, Real* out, bool may_change) const {
        std::vector<Real> z(static_cast<std::size_t>(n));
        each([&](std::int64_t i, double value) { z[std::size_t(i)] = static_cast<Real>(value); });
        if (may_change && current_ < rows_ahead_)
            std::copy_n(products_.data() + std::size_t(learner) * ahead_.size() + current_ * n, n, out);
        else
            multiply_symmetric(z.data(), matrix(learner), out, 1, n);
        const double lost = correct(row(learner, 0), z.data(), out, *count_, n);
        if (!may_change || lost == 0.0) return;
        const double left = dot(out, z.data(), int(n));
        if (left >= kMinFraction * (left + lost)) return;
        subtract_pending();
        multiply_symmetric(z.data(), matrix(learner), out, 1, n);
    }

    // S <- S - u u', by a row of examples of this age. What one row of examples changes in several learners waits in
    // one pending row of each.
    void subtract_outer(int learner, const Real* u, double age) const {
        char& has_row = has_row_[std::size_t(learner)];
        if (age != age_ || has_row) {
            if (*count_ >= room_) subtract_pending();
            ++*count_;
            age_ = age;
            std::fill(has_row_.begin(), has_row_.end(), char(0));
        }
        has_row = 1;
        std::copy_n(u, n, noted(row(learner, *count_ - 1), n));
    }

    void multiply(int learner, double by) const {
        subtract_pending();
        Real* s = noted(matrix(learner), n * n);
        for (std::int64_t i = 0; i < n * n; ++i) s[i] *= Real(by);
    }

    const std::int64_t n;

  private:
    Real *base_, *rows_;
    std::int64_t* count_;
    std::int64_t room_;
    Undo<Real>* undo_;
    mutable double age_ = -1.0;          // of the row of examples that made the last pending row
    mutable std::vector<char> has_row_;  // the learners whose last pending row is not empty

    // Products of rows of examples with S, one learner's after another's.
    mutable std::vector<Real> ahead_, products_;
    mutable std::int64_t first_ahead_ = 0, rows_ahead_ = 0, current_ = 0;

    Real* matrix(int learner) const { return base_ + learner * n * n; }
    Real* row(int learner, std::int64_t u) const { return rows_ + (learner * room_ + u) * n; }

    Real* noted(Real* first, std::int64_t size) const {
        if (undo_) undo_->note_all(first, static_cast<std::size_t>(size));
        return first;
    }

    CONFIDENTLY_SELDOM void subtract_pending() const {
        const std::int64_t waiting = std::exchange(*count_, 0);
        age_ = -1.0;
        rows_ahead_ = 0;
        if (!waiting) return;
        for (std::size_t l = 0; l < has_row_.size(); ++l) {
            Real *s = noted(matrix(int(l)), n * n), *u = row(int(l), 0);
            for (std::int64_t k = 0; k < waiting; ++k) noted(row(int(l), k), n);
            subtract_gram(s, u, waiting, n);
            std::fill_n(u, waiting * n, Real(0));  // so that equal states are equal bit for bit
        }
    }
};

}  // namespace confidently
