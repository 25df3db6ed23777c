// The Gram matrix of a chunk of rows under the joint covariance of a kernel learner, computed where it is asked for.
//
// The covariance is known by its support rows: z' S0 x = t(z, x) - t(z)' A^-1 t(x), with t the kernel, times -1, 0 or 1
// by the classes of both, and A^-1 as a matrix. K classes make K vectors of each row, but a row updates along one
// direction, its class against the strongest rival. The rival is known only when the row is reached; who is likely to
// be it is known before the chunk. So the caller gives the products along the likely directions, made together by
// products of matrices, and the few others are computed here, one by one: only the support rows of two classes matter
// for them, and no product is made with a class that does not take part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "covariances/weights.hpp"

namespace confidently {

// Directions of a chunk, with what is known along them.
struct Directions {
    const std::int32_t *plus,
        *minus;            // vectors (column * rows + row), direction q of row q % rows; plus kNone: no direction
    const double* solved;  // A^-1 t(z), one row of numbers per direction
    const double* along;   // z' S0 x of all vectors x, one row of numbers per direction
    int n;
};

class SupportGram {
  public:
    using Direction = int;

    // inverse: support x support, nullptr where the covariance stays the prior; kernel: support x rows; own: rows x
    // rows; sides: the columns of each support row's direction, kNone for none
    SupportGram(const double* inverse, const double* kernel, const double* own, const std::int32_t* sides, int support,
                int rows, int columns, const Directions& likely)
        : inverse_(inverse), kernel_(kernel), own_(own), sides_(sides), support_(support), rows_(rows),
          columns_(columns), likely_(likely) {
        for (int q = 0; q < likely.n; ++q)
            if (likely.plus[q] != kNone) number_.emplace(std::pair(likely.plus[q], likely.minus[q]), q);
    }

    Direction direction(int a, int b) {
        const auto [at, is_new] = number_.emplace(std::pair(a, b), likely_.n + int(found_.size()));
        if (is_new) find(a, b);
        return at->second;
    }

    int position(int vector) const { return vector; }
    double product(int vector, Direction z) const { return along(z)[vector]; }
    double square(int a, int b) {
        const double* z = along(direction(a, b));
        return b == kNone ? z[a] : z[a] - z[b];
    }

    template <class F>
    bool all_of(int row, int rows, int, F&& f) const {
        for (int q = row; q < likely_.n; q += rows)
            if (likely_.plus[q] != kNone && !f(likely_.plus[q], likely_.minus[q])) return false;
        return true;
    }

    const double* solved(Direction z) const {
        return z < likely_.n ? likely_.solved + std::size_t(z) * support_ : found_[z - likely_.n].solved.get();
    }

  private:
    struct Found {
        std::unique_ptr<double[]> solved, along;
    };

    const double* along(Direction z) const {
        const std::size_t vectors = std::size_t(rows_) * columns_;
        return z < likely_.n ? likely_.along + z * vectors : found_[z - likely_.n].along.get();
    }

    static double sign(const std::int32_t* sides, int column) {
        return column == kNone ? 0.0 : double(sides[0] == column) - double(sides[1] == column);
    }

    void find(int a, int b) {
        const std::size_t vectors = std::size_t(rows_) * columns_;
        const int plus = a / rows_, minus = b == kNone ? int(kNone) : b / rows_, row = a % rows_;
        Found found{std::make_unique<double[]>(support_), std::make_unique<double[]>(vectors)};
        double *solved = found.solved.get(), *products = found.along.get();
        for (int j = 0; j < rows_; ++j) {
            const double own = own_[std::size_t(row) * rows_ + j];
            products[std::size_t(plus) * rows_ + j] += own;
            if (minus != kNone) products[std::size_t(minus) * rows_ + j] -= own;
        }
        for (std::size_t u = 0; inverse_ && u < std::size_t(support_); ++u) {
            const double t = kernel_[u * rows_ + row] * (sign(sides_ + 2 * u, plus) - sign(sides_ + 2 * u, minus));
            if (t == 0.0) continue;
            const double* entries = inverse_ + u * support_;
            for (int w = 0; w < support_; ++w) solved[w] += t * entries[w];
        }
        for (std::size_t u = 0; inverse_ && u < std::size_t(support_); ++u)
            for (int side = 0; side < 2; ++side) {
                const int column = sides_[2 * u + side];
                if (column == kNone || solved[u] == 0.0) continue;
                const double by = side == 0 ? solved[u] : -solved[u], *k = kernel_ + u * rows_;
                double* out = products + std::size_t(column) * rows_;
                for (int j = 0; j < rows_; ++j) out[j] -= by * k[j];
            }
        found_.push_back(std::move(found));
    }

    const double *inverse_, *kernel_, *own_;
    const std::int32_t* sides_;
    int support_, rows_, columns_;
    Directions likely_;
    std::map<std::pair<std::int32_t, std::int32_t>, int> number_;
    std::vector<Found> found_;  // directions beyond the likely ones
};

}  // namespace confidently
