// Inverses of small dense symmetric matrices.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

namespace confidently {

// The inverse of a symmetric positive definite n x n matrix in row order, by its Cholesky factor.
class Inverse {
  public:
    explicit Inverse(int n) : n_(n), factor_(static_cast<std::size_t>(n) * n), column_(n) {}

    void operator()(const double* matrix, double* inverse) {
        factorize(matrix);
        for (int c = 0; c < n_; ++c) {
            // L y = e_c, then L' x = y
            for (int i = c; i < n_; ++i) {
                double sum = i == c ? 1.0 : 0.0;
                for (int k = c; k < i; ++k) sum -= at(i, k) * column_[k];
                column_[i] = sum / at(i, i);
            }
            for (int i = n_ - 1; i >= c; --i) {
                column_[i] /= at(i, i);
                for (int k = c; k < i; ++k) column_[k] -= at(i, k) * column_[i];
            }
            for (int i = c; i < n_; ++i) inverse[i * n_ + c] = inverse[c * n_ + i] = column_[i];
        }
    }

  private:
    int n_;
    std::vector<double> factor_, column_;

    double& at(int i, int j) { return factor_[static_cast<std::size_t>(i) * n_ + j]; }

    void factorize(const double* matrix) {
        for (int i = 0; i < n_; ++i)
            for (int j = 0; j <= i; ++j) {
                double sum = matrix[i * n_ + j];
                for (int k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
                if (i != j) {
                    at(i, j) = sum / at(j, j);
                } else if (sum > 0.0 && std::isfinite(sum)) {
                    at(i, i) = std::sqrt(sum);
                } else {
                    throw std::domain_error("a precision matrix is no longer positive definite");
                }
            }
    }
};

}  // namespace confidently
