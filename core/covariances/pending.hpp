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
#include "covariances/undo.hpp"
#include "processor.hpp"

namespace confidently {

// out += by[0] row 0 + by[1] row 1 + ..., one after the other, without those of 0; rows begin every so many numbers.
template <class Real>
CONFIDENTLY_INLINE void add_rows_plainly(const Real* rows, std::int64_t apart, const Real* by, std::int64_t m,
                                         Real* __restrict out, std::int64_t n) {
    for (std::int64_t i = 0; i < m;) {
        const Real* row[4] = {};
        Real times[4] = {};
        int found = 0;
        for (; i < m && found < 4; ++i)
            if (by[i] != Real(0)) row[found] = rows + i * apart, times[found++] = by[i];
        const Real *a = row[0], *b = row[1], *c = row[2], *d = row[3];
        if (found == 4)
            for (std::int64_t j = 0; j < n; ++j)
                out[j] = (((out[j] + times[0] * a[j]) + times[1] * b[j]) + times[2] * c[j]) + times[3] * d[j];
        else
            for (int k = 0; k < found; ++k)
                for (std::int64_t j = 0; j < n; ++j) out[j] += times[k] * row[k][j];
    }
}

#if CONFIDENTLY_X86
template <class Real>
CONFIDENTLY_AVX2 void add_rows_avx2(const Real* rows, std::int64_t apart, const Real* by, std::int64_t m, Real* out,
                                    std::int64_t n) {
    add_rows_plainly(rows, apart, by, m, out, n);
}
#endif

template <class Real>
void add_rows(const Real* rows, std::int64_t apart, const Real* by, std::int64_t m, Real* out, std::int64_t n) {
#if CONFIDENTLY_X86
    if (usual_simd() != Simd::plain) return add_rows_avx2(rows, apart, by, m, out, n);
#endif
    add_rows_plainly(rows, apart, by, m, out, n);
}

template <class Real>
class Pending {
  public:
    using Number = Real;
    static constexpr std::int64_t kMost = 32;  // pending rows: more cost more to correct by than they save

    // base: learners x n x n; rows: learners x room x n; count: of pending rows, the same for all learners; undo: where
    // changes of both are noted, if they are
    Pending(Real* base, Real* rows, std::int64_t* count, std::int64_t learners, std::int64_t n, std::int64_t room,
            Undo<Real>* undo)
        : n(n), base_(base), rows_(rows), count_(count), room_(room), undo_(undo), has_row_(std::size_t(learners)) {}

    // Writes (S - U'U) z, given what calls f(i, z_i). If z' (S - U'U) z has lost nearly all of its digits, and matrices
    // may change, pending rows are subtracted first.
    template <class Each>
    void product(int learner, Each&& each, Real* out, bool may_change) const {
        std::vector<Real> z(static_cast<std::size_t>(n));
        each([&](std::int64_t i, double value) { z[std::size_t(i)] = static_cast<Real>(value); });
        double lost = 0.0;
        multiply(learner, z.data(), out, lost);
        if (!may_change || lost == 0.0) return;
        const double left = dot(out, z.data(), int(n));
        if (left >= kMinFraction * (left + lost)) return;
        subtract_pending();
        multiply(learner, z.data(), out, lost);
    }

    // S <- S - u u', by a row of examples of this age. What one row of examples changes in several learners waits in
    // one pending row of each.
    void subtract_outer(int learner, const Real* u, double age) const {
        char& has_row = has_row_[std::size_t(learner)];
        if (age != age_ || has_row) {
            if (*count_ >= std::min(kMost, room_)) subtract_pending();
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

    Real* matrix(int learner) const { return base_ + learner * n * n; }
    Real* row(int learner, std::int64_t u) const { return rows_ + (learner * room_ + u) * n; }

    // lost: z' U'U z
    void multiply(int learner, const Real* z, Real* out, double& lost) const {
        const Real* pending = row(learner, 0);
        const std::int64_t waiting = *count_;
        std::vector<Real> along(static_cast<std::size_t>(waiting));
        std::fill_n(out, n, Real(0));
        add_rows(matrix(learner), n, z, n, out, n);
        for (std::int64_t u = 0; u < waiting; ++u) {
            const double p = dot(pending + u * n, z, int(n));
            lost += p * p;
            along[std::size_t(u)] = Real(-p);
        }
        add_rows(pending, n, along.data(), waiting, out, n);
    }

    Real* noted(Real* first, std::int64_t size) const {
        if (undo_) undo_->note_all(first, static_cast<std::size_t>(size));
        return first;
    }

    CONFIDENTLY_SELDOM void subtract_pending() const {
        const std::int64_t waiting = std::exchange(*count_, 0);
        age_ = -1.0;
        if (!waiting) return;
        std::vector<Real> by(static_cast<std::size_t>(n * waiting));
        for (std::size_t l = 0; l < has_row_.size(); ++l) {
            Real *s = noted(matrix(int(l)), n * n), *u = row(int(l), 0);
            for (std::int64_t k = 0; k < waiting; ++k) noted(row(int(l), k), n);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t k = 0; k < waiting; ++k) by[std::size_t(i * waiting + k)] = -u[k * n + i];
            for (std::int64_t first = 0; first < n; first += kStrip)
                for (std::int64_t i = first; i < n; ++i)
                    add_rows(u + first, n, by.data() + i * waiting, waiting, s + i * n + first,
                             std::min(kStrip, i + 1 - first));
            for (std::int64_t first = 0; first < n; first += kStrip)
                for (std::int64_t i = first; i < n; ++i)
                    for (std::int64_t j = first, end = std::min(first + kStrip, i); j < end; ++j)
                        s[j * n + i] = s[i * n + j];
            std::fill_n(u, waiting * n, Real(0));  // so that equal states are equal bit for bit
        }
    }

    static constexpr std::int64_t kStrip = 64;  // columns of pending rows that stay in the cache
};

}  // namespace confidently
