// Eigenvalues and eigenvectors of small symmetric matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace confidently {

// Of an n x n matrix in row order, which is overwritten: it is reduced to a tridiagonal one by reflections, and this to
// a diagonal one by rotations (Golub & Van Loan, chapter 8). Rows of `vectors` are eigenvectors, in the order of
// descending eigenvalues.
class Eigenvectors {
  public:
    std::vector<double> values, vectors;

    // Throws std::domain_error for a matrix with numbers that are not finite.
    void operator()(std::vector<double>& matrix, std::size_t n) {
        n_ = n;
        values.assign(n, 0.0), off_.assign(n, 0.0), work_.resize(n);
        vectors.assign(n * n, 0.0);
        for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
        reduce(matrix);
        rotate();
        sort();
    }

  private:
    std::size_t n_ = 0;
    std::vector<double> off_, work_, sorted_;

    static constexpr int kMaxSweeps = 60;  // for one eigenvalue; two are usual

    // Householder: A <- H A H for the reflection H = I - tau v v' that clears column k below its subdiagonal.
    // Row i of `vectors` becomes column i of H_0 H_1 H_2 ...
    void reduce(std::vector<double>& a) {
        const std::size_t n = n_;
        std::vector<double> tau(n, 0.0);
        for (std::size_t k = 0; k + 1 < n; ++k) {
            values[k] = a[k * n + k];
            double norm = 0.0;
            for (std::size_t i = k + 1; i < n; ++i) norm += a[k * n + i] * a[k * n + i];
            norm = std::sqrt(norm);
            double* v = &a[k * n];  // of the upper triangle; entries k + 1 .. n - 1 become the reflection's
            const double first = v[k + 1];
            off_[k] = norm == 0.0 ? 0.0 : (first > 0.0 ? -norm : norm);
            if (norm == 0.0) continue;
            v[k + 1] = first - off_[k];
            tau[k] = -1.0 / (off_[k] * v[k + 1]);
            reflect(a, v, k, tau[k]);
        }
        if (n) values[n - 1] = a[n * n - 1];
        for (std::size_t k = n; k-- > 0;) {  // the last reflection first, each on the rows that later ones concern
            if (tau[k] == 0.0) continue;
            const double* v = &a[k * n];
            for (std::size_t i = k + 1; i < n; ++i) {
                double* row = &vectors[i * n];
                double dot = 0.0;
                for (std::size_t j = k + 1; j < n; ++j) dot += row[j] * v[j];
                dot *= tau[k];
                for (std::size_t j = k + 1; j < n; ++j) row[j] -= dot * v[j];
            }
        }
    }

    // The rows and columns after k of a symmetric matrix, stored whole.
    void reflect(std::vector<double>& a, const double* v, std::size_t k, double tau) {
        const std::size_t n = n_;
        double* p = work_.data();
        std::fill(work_.begin(), work_.end(), 0.0);
        for (std::size_t i = k + 1; i < n; ++i)
            for (std::size_t j = k + 1; j < n; ++j) p[j] += tau * v[i] * a[i * n + j];
        double dot = 0.0;
        for (std::size_t i = k + 1; i < n; ++i) dot += p[i] * v[i];
        for (std::size_t i = k + 1; i < n; ++i) p[i] -= 0.5 * tau * dot * v[i];
        for (std::size_t i = k + 1; i < n; ++i)
            for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    }

    // QL steps with Wilkinson's shift, each a sequence of rotations of two neighbors.
    void rotate() {
        const std::size_t n = n_;
        double norm = 0.0;
        for (std::size_t i = 0; i < n; ++i) norm = std::max(norm, std::fabs(values[i]) + std::fabs(off_[i]));
        const double least = std::numeric_limits<double>::epsilon() * norm;  // off the diagonal: a smaller number is 0
        for (std::size_t l = 0; l < n; ++l) {
            for (int sweep = 0;; ++sweep) {
                std::size_t m = l;
                while (m + 1 < n && std::fabs(off_[m]) > least) ++m;
                if (m == l) break;
                if (sweep == kMaxSweeps || !std::isfinite(off_[l]))
                    throw std::domain_error("a covariance has no eigenvectors");
                const double half = (values[l + 1] - values[l]) / (2.0 * off_[l]), root = std::hypot(half, 1.0);
                double g = values[m] - values[l] + off_[l] / (half + (half >= 0.0 ? root : -root));
                double s = 1.0, c = 1.0, p = 0.0;
                bool split = false;
                for (std::size_t i = m; i-- > l;) {
                    const double f = s * off_[i], b = c * off_[i];
                    double r = std::hypot(f, g);
                    off_[i + 1] = r;
                    if (r == 0.0) {
                        values[i + 1] -= p;
                        off_[m] = 0.0;
                        split = true;
                        break;
                    }
                    s = f / r, c = g / r;
                    g = values[i + 1] - p;
                    r = (values[i] - g) * s + 2.0 * c * b;
                    p = s * r;
                    values[i + 1] = g + p;
                    g = c * r - b;
                    double *x = &vectors[i * n], *y = &vectors[(i + 1) * n];
                    for (std::size_t j = 0; j < n; ++j) {
                        const double before = y[j];
                        y[j] = s * x[j] + c * before;
                        x[j] = c * x[j] - s * before;
                    }
                }
                if (split) continue;
                values[l] -= p;
                off_[l] = g;
                off_[m] = 0.0;
            }
        }
    }

    void sort() {
        std::vector<std::size_t> order(n_);
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t i, std::size_t j) { return values[i] > values[j]; });
        std::vector<double> ordered(n_);
        sorted_.resize(vectors.size());
        for (std::size_t k = 0; k < n_; ++k) {
            ordered[k] = values[order[k]];
            std::copy_n(&vectors[order[k] * n_], n_, &sorted_[k * n_]);
        }
        values.swap(ordered);
        vectors.swap(sorted_);
    }
};

}  // namespace confidently
