// Cholesky factors of matrices of a few columns.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace confidently {

inline constexpr std::size_t kMostColumns = 16;
inline constexpr double kRounding = 1e-14;  // of the sums of squares

class SmallFactor {
  public:
    // Of the matrix whose lower triangle is at(j, k). The matrix is a diagonal `least` plus one that has no negative
    // eigenvalue, so that no square of a diagonal entry of the factor is below `least`; rounding could make it so. What
    // is left of an entry must be larger than its rounding, too, by which the entries below are divided.
    template <class At>
    void of(std::size_t columns, const double* least, At&& at) {
        n_ = columns;
        for (std::size_t j = 0; j < n_; ++j)
            for (std::size_t k = 0; k <= j; ++k) {
                double rest = at(j, k);
                for (std::size_t l = 0; l < k; ++l) rest -= l_[j * n_ + l] * l_[k * n_ + l];
                if (j == k)
                    inverse_diagonal_[j] = 1.0 / std::sqrt(std::max({rest, least[j], kRounding * at(j, j)}));
                else
                    l_[j * n_ + k] = rest * inverse_diagonal_[k];
            }
    }

    // Replaces x by A^-1 x.
    void solve(double* x) const { solve_from(0, x); }

    // Writes A^-1, all n x n numbers.
    void inverse(double* out) const {
        std::array<double, kMostColumns> x;
        for (std::size_t j = 0; j < n_; ++j) {
            x.fill(0.0), x[j] = 1.0;
            solve_from(j, x.data());
            for (std::size_t k = 0; k <= j; ++k) out[j * n_ + k] = out[k * n_ + j] = x[k];
        }
    }

  private:
    // x is 0 before this place.
    void solve_from(std::size_t first, double* x) const {
        for (std::size_t j = first; j < n_; ++j) {
            for (std::size_t k = first; k < j; ++k) x[j] -= l_[j * n_ + k] * x[k];
            x[j] *= inverse_diagonal_[j];
        }
        for (std::size_t j = n_; j-- > 0;) {
            for (std::size_t k = j + 1; k < n_; ++k) x[j] -= l_[k * n_ + j] * x[k];
            x[j] *= inverse_diagonal_[j];
        }
    }

    std::size_t n_ = 0;
    std::array<double, kMostColumns * kMostColumns> l_;  // below the diagonal
    std::array<double, kMostColumns> inverse_diagonal_;
};

}  // namespace confidently
