// Products of matrices by the BLAS that SciPy brings, called without the interpreter lock: on strips of columns, which
// threads may compute side by side, since no strip reads what another one writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace confidently {

// Functions of Fortran, whose matrices are columns after columns: to them ours are transposed.
template <class Real>
struct Blas {
    void (*gemm)(char*, char*, int*, int*, int*, Real*, Real*, int*, Real*, int*, Real*, Real*, int*);
    void (*syrk)(char*, char*, int*, int*, Real*, Real*, int*, Real*, Real*, int*);

    // c = add c + sign (a b), where a is m x k, b is k x n, and rows of the three begin every so many numbers
    void multiply(Real sign, const Real* a, int a_row, const Real* b, int b_row, Real add, Real* c, int c_row, int m,
                  int n, int k) const {
        char as_it_is[] = "N";
        gemm(as_it_is, as_it_is, &n, &m, &k, &sign, const_cast<Real*>(b), &b_row, const_cast<Real*>(a), &a_row, &add, c,
             &c_row);
    }

    // c = a b', where a is m x k, b is n x k
    void multiply_transposed(const Real* a, const Real* b, Real* c, int m, int n, int k) const {
        char as_it_is[] = "N", transposed[] = "T";
        Real one = Real(1), zero = Real(0);
        gemm(transposed, as_it_is, &n, &m, &k, &one, const_cast<Real*>(b), &k, const_cast<Real*>(a), &k, &zero, c, &n);
    }

    // c += a' b', where a is k x m, b is n x k, and rows of a begin every so many numbers
    void add_transposed(const Real* a, int a_row, const Real* b, Real* c, int m, int n, int k) const {
        char transposed[] = "T";
        Real one = Real(1);
        gemm(transposed, transposed, &n, &m, &k, &one, const_cast<Real*>(b), &k, const_cast<Real*>(a), &a_row, &one, c,
             &n);
    }

    // The columns from .. to - 1 of S += left' right, where S is n x n, and the two k x n.
    void add_product(Real* s, int n, const Real* left, const Real* right, int k, int from, int to) const {
        char as_it_is[] = "N", transposed[] = "T";
        Real one = Real(1);
        int width = to - from;
        gemm(as_it_is, transposed, &width, &n, &k, &one, const_cast<Real*>(right) + from, &n, const_cast<Real*>(left),
             &n, &one, s + from, &n);
    }

    // The columns from .. to - 1 of S += sign rows' rows, and the same below the diagonal: n x n S stays symmetric to
    // the last bit. rows: k x n.
    void add_gram(Real* s, int n, const Real* rows, int k, Real sign, int from, int to) const {
        char as_it_is[] = "N", transposed[] = "T", lower[] = "L";
        Real one = Real(1);
        int width = to - from;
        Real *left = const_cast<Real*>(rows), *right = left + from;
        if (from) gemm(as_it_is, transposed, &width, &from, &k, &sign, right, &n, left, &n, &one, s + from, &n);
        syrk(lower, as_it_is, &width, &k, &sign, right, &n, &one, s + std::int64_t(from) * n + from, &n);
        mirror(s, n, from, to);
    }

  private:
    // Copies what lies above the diagonal in some columns to the same rows below, in squares that stay in the cache.
    static void mirror(Real* s, std::int64_t n, std::int64_t from, std::int64_t to) {
        constexpr std::int64_t square = 32;
        for (std::int64_t a = from; a < to; a += square)
            for (std::int64_t b = 0, end = std::min(a + square, to); b < end; b += square)
                if (a + square <= to && b + square <= a)
                    mirror_square<square>(s + b * n + a, s + a * n + b, n);
                else
                    for (std::int64_t i = a; i < end; ++i)
                        for (std::int64_t j = b, last = std::min(b + square, i); j < last; ++j)
                            s[i * n + j] = s[j * n + i];
    }

    // Tiles of four by four numbers are transposed in registers.
    template <int square>
    static void mirror_square(const Real* from, Real* to, std::int64_t n) {
        for (int i = 0; i < square; i += 4)
            for (int j = 0; j < square; j += 4) {
                Real tile[4][4];
                for (int r = 0; r < 4; ++r)
                    for (int c = 0; c < 4; ++c) tile[c][r] = from[(j + r) * n + i + c];
                for (int c = 0; c < 4; ++c) std::copy_n(tile[c], 4, to + (i + c) * n + j);
            }
    }
};

// The updates of one covariance after a block: with Q = (I + L)^-1 (G[plus] - G[minus]), the weights change by Q'
// mean', and the covariance loses the Gram matrix of the rows size Q.
template <class Real>
struct BlockUpdate {
    const std::int64_t *plus, *minus;  // rows of G; minus: nullptr for none
    const Real *lower, *mean, *size;   // L: n x n, strictly lower; m x n; n
    int n, m;

    // Computes columns from .. to - 1 of size Q (n x d), and adds Q' mean' to the same rows of weights (d x m).
    // Triangles are solved by the inverses of the squares on their diagonal: a product is faster than a substitution.
    void compute(const Blas<Real>& blas, const Real* g, int d, Real* q, Real* weights, int from, int to,
                 std::vector<Real>& scratch) const {
        constexpr int square = 64;
        const int width = to - from;
        scratch.resize(std::max(scratch.size(), std::size_t(square) * (width + square)));
        Real *right = scratch.data(), *inverse = right + std::size_t(square) * width;
        for (int first = 0; first < n; first += square) {
            const int k = std::min(square, n - first);
            const Real* left = lower + std::int64_t(first) * n;
            for (int u = 0; u < k; ++u) take(g, d, first + u, from, width, right + std::int64_t(u) * width);
            if (first) blas.multiply(-1, left, n, q + from, d, 1, right, width, k, width, first);
            invert(left + first, k, inverse);
            blas.multiply(1, inverse, k, right, width, 0, q + std::int64_t(first) * d + from, d, k, width, k);
        }
        if (m) blas.add_transposed(q + from, d, mean, weights + std::int64_t(from) * m, width, m, n);
        for (int u = 0; u < n; ++u)
            for (Real* at = q + std::int64_t(u) * d + from; at < q + std::int64_t(u) * d + to; ++at) *at *= size[u];
    }

  private:
    void take(const Real* g, std::int64_t d, int u, int from, int width, Real* out) const {
        const Real* p = g + plus[u] * d + from;
        std::copy_n(p, width, out);
        if (!minus) return;
        const Real* m = g + minus[u] * d + from;
        for (int j = 0; j < width; ++j) out[j] -= m[j];
    }

    // (I + L)^-1 of a k x k square of the triangle
    void invert(const Real* square, std::int64_t k, Real* out) const {
        std::fill(out, out + k * k, Real(0));
        for (std::int64_t i = 0; i < k; ++i) {
            Real* row = out + i * k;
            for (std::int64_t u = 0; u < i; ++u) {
                const Real by = square[i * n + u];
                const Real* above = out + u * k;
                for (std::int64_t j = 0; j <= u; ++j) row[j] -= by * above[j];
            }
            row[i] = Real(1);
        }
    }
};

}  // namespace confidently
