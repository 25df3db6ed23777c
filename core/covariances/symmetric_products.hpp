// Products of some rows and a symmetric matrix, and what rows take away from one. Sums run in one order, so that the
// bits are the same on every processor, for one row and for many, and with room for more features, which are zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "covariances/lanes.hpp"
#include "prefetch.hpp"

namespace confidently {

inline constexpr int kRowsAtOnce = 4;  // of a product, for which a matrix is read once

template <class Lanes>
struct SymmetricProducts {
    using Real = typename Lanes::Real;
    static constexpr std::int64_t kLane = kLanes<Real>;

    // out = x S, where x and out are rows x n, and S is n x n.
    static void multiply(const Real* x, const Real* s, Real* out, std::int64_t rows, std::int64_t n) {
        std::int64_t done = 0;
        for (; done + kRowsAtOnce <= rows; done += kRowsAtOnce) multiply_rows(x + done * n, s, out + done * n, n);
        for (; done < rows; ++done) multiply_row(x + done * n, s, out + done * n, n);
    }

    // S -= U'U, where the m rows of U are as long as those of S.
    static void subtract_gram(Real* s, const Real* u, std::int64_t m, std::int64_t n) {
        std::int64_t first = 0;
        for (; first + kStrip <= n; first += kStrip) {
            std::int64_t i = first;
            for (; i + 2 <= n; i += 2) subtract_strip<2>(s, u, m, n, i, first);
            if (i < n) subtract_strip<1>(s, u, m, n, i, first);
            for (i = first + kStrip; i < n; ++i)
                for (std::int64_t j = first; j < first + kStrip; ++j) s[j * n + i] = s[i * n + j];
        }
        for (std::int64_t i = first; i < n; ++i)
            for (std::int64_t j = first; j < n; ++j)
                for (std::int64_t k = 0; k < m; ++k) s[i * n + j] = std::fma(-u[k * n + i], u[k * n + j], s[i * n + j]);
    }

    // out -= U'U z, for rows of U that are as long as z; returns z' U'U z.
    static double correct(const Real* u, const Real* z, Real* out, std::int64_t m, std::int64_t n) {
        double lost = 0.0;
        for (std::int64_t k = 0; k < m; ++k, u += n) {
            const Real along = product(u, z, n);
            lost += double(along) * double(along);
            const Lanes by = Lanes::all(-along);
            std::int64_t j = 0;
            for (; j + kLane <= n; j += kLane) Lanes::from(out + j).with(by, Lanes::from(u + j)).put(out + j);
            for (; j < n; ++j) out[j] = std::fma(-along, u[j], out[j]);
        }
        return lost;
    }

  private:
    static constexpr std::int64_t kAhead = 8;  // rows of S to ask for before they are needed
    static constexpr int kStripLanes = 4;
    static constexpr std::int64_t kStrip = kStripLanes * kLane;  // columns, of which all rows of U stay in the cache

    // Rows i, i + 1, ... of the columns from j on.
    template <int rows>
    static void subtract_strip(Real* s, const Real* u, std::int64_t m, std::int64_t n, std::int64_t i, std::int64_t j) {
        Lanes left[rows][kStripLanes];
        for (int r = 0; r < rows; ++r)
            for (int l = 0; l < kStripLanes; ++l) left[r][l] = Lanes::from(s + (i + r) * n + j + l * kLane);
        for (std::int64_t k = 0; k < m; ++k) {
            Lanes part[kStripLanes];
            for (int l = 0; l < kStripLanes; ++l) part[l] = Lanes::from(u + k * n + j + l * kLane);
            for (int r = 0; r < rows; ++r) {
                const Lanes by = Lanes::all(-u[k * n + i + r]);
                for (int l = 0; l < kStripLanes; ++l) left[r][l] = left[r][l].with(by, part[l]);
            }
        }
        for (int r = 0; r < rows; ++r)
            for (int l = 0; l < kStripLanes; ++l) left[r][l].put(s + (i + r) * n + j + l * kLane);
    }

    // In chains of one number in every kStrip of them.
    static Real product(const Real* a, const Real* b, std::int64_t n) {
        Lanes sum[kStripLanes];
        for (Lanes& lanes : sum) lanes = Lanes::all(Real(0));
        const auto add = [&](const Real* x, const Real* y) {
            for (int l = 0; l < kStripLanes; ++l)
                sum[l] = sum[l].with(Lanes::from(x + l * kLane), Lanes::from(y + l * kLane));
        };
        std::int64_t i = 0;
        for (; i + kStrip <= n; i += kStrip) add(a + i, b + i);
        Real rest[2][kStrip] = {};
        std::copy(a + i, a + n, rest[0]), std::copy(b + i, b + n, rest[1]);
        add(rest[0], rest[1]);
        Real chain[kStrip], total = Real(0);
        for (int l = 0; l < kStripLanes; ++l) sum[l].put(chain + l * kLane);
        for (const Real one : chain) total += one;
        return total;
    }

    // Columns of S from top to bottom, of which sums stay in registers.
    static void multiply_rows(const Real* x, const Real* s, Real* out, std::int64_t n) {
        std::int64_t j = multiply_columns<3>(x, s, out, n, 0);
        j = multiply_columns<1>(x, s, out, n, j);
        for (; j < n; ++j)
            for (int r = 0; r < kRowsAtOnce; ++r) {
                Real sum = Real(0);
                for (std::int64_t i = 0; i < n; ++i) sum = std::fma(x[r * n + i], s[j * n + i], sum);
                out[r * n + j] = sum;
            }
    }

    // Columns from j on, so many lanes at a time; returns the first that are too few.
    template <int lanes>
    static std::int64_t multiply_columns(const Real* x, const Real* s, Real* out, std::int64_t n, std::int64_t j) {
        for (; j + lanes * kLane <= n; j += lanes * kLane) {
            Lanes sum[kRowsAtOnce][lanes];
            for (int r = 0; r < kRowsAtOnce; ++r)
                for (int l = 0; l < lanes; ++l) sum[r][l] = Lanes::all(Real(0));
            for (std::int64_t i = 0; i < n; ++i) {
                const Real* row = s + i * n + j;
                prefetch(row + kAhead * n), prefetch(row + kAhead * n + lanes * kLane);
                Lanes part[lanes];
                for (int l = 0; l < lanes; ++l) part[l] = Lanes::from(row + l * kLane);
                for (int r = 0; r < kRowsAtOnce; ++r) {
                    const Lanes by = Lanes::all(x[r * n + i]);
                    for (int l = 0; l < lanes; ++l) sum[r][l] = sum[r][l].with(by, part[l]);
                }
            }
            for (int r = 0; r < kRowsAtOnce; ++r)
                for (int l = 0; l < lanes; ++l) sum[r][l].put(out + r * n + j + l * kLane);
        }
        return j;
    }

    // Rows of S from left to right, four of those whose x is not 0 at a time.
    static void multiply_row(const Real* x, const Real* s, Real* out, std::int64_t n) {
        std::fill_n(out, n, Real(0));
        for (std::int64_t i = 0; i < n;) {
            const Real* row[4] = {s, s, s, s};
            Lanes by[4] = {Lanes::all(0), Lanes::all(0), Lanes::all(0), Lanes::all(0)};
            Real one[4] = {};
            for (int found = 0; i < n && found < 4; ++i)
                if (x[i] != Real(0)) row[found] = s + i * n, one[found] = x[i], by[found] = Lanes::all(x[i]), ++found;
            std::int64_t j = 0;
            for (; j + kLane <= n; j += kLane) {
                Lanes to = Lanes::from(out + j);
                for (int k = 0; k < 4; ++k) to = to.with(by[k], Lanes::from(row[k] + j));
                to.put(out + j);
            }
            for (; j < n; ++j)
                for (int k = 0; k < 4; ++k) out[j] = std::fma(one[k], row[k][j], out[j]);
        }
    }
};

#if CONFIDENTLY_X86
template <class Real>
CONFIDENTLY_AVX2 __attribute__((flatten, noinline)) void multiply_avx2(const Real* x, const Real* s, Real* out,
                                                                       std::int64_t rows, std::int64_t n) {
    SymmetricProducts<Avx2Lanes<Real>>::multiply(x, s, out, rows, n);
}

template <class Real>
CONFIDENTLY_AVX2 __attribute__((flatten, noinline)) void subtract_gram_avx2(Real* s, const Real* u, std::int64_t m,
                                                                            std::int64_t n) {
    SymmetricProducts<Avx2Lanes<Real>>::subtract_gram(s, u, m, n);
}

template <class Real>
CONFIDENTLY_AVX2 __attribute__((flatten, noinline)) double correct_avx2(const Real* u, const Real* z, Real* out,
                                                                        std::int64_t m, std::int64_t n) {
    return SymmetricProducts<Avx2Lanes<Real>>::correct(u, z, out, m, n);
}
#endif

template <class Real>
double correct(const Real* u, const Real* z, Real* out, std::int64_t m, std::int64_t n) {
#if CONFIDENTLY_X86
    if (usual_simd() != Simd::plain) return correct_avx2(u, z, out, m, n);
#endif
    return SymmetricProducts<PlainLanes<Real>>::correct(u, z, out, m, n);
}

template <class Real>
void multiply_symmetric(const Real* x, const Real* s, Real* out, std::int64_t rows, std::int64_t n) {
#if CONFIDENTLY_X86
    if (usual_simd() != Simd::plain) return multiply_avx2(x, s, out, rows, n);
#endif
    SymmetricProducts<PlainLanes<Real>>::multiply(x, s, out, rows, n);
}

template <class Real>
void subtract_gram(Real* s, const Real* u, std::int64_t m, std::int64_t n) {
#if CONFIDENTLY_X86
    if (usual_simd() != Simd::plain) return subtract_gram_avx2(s, u, m, n);
#endif
    SymmetricProducts<PlainLanes<Real>>::subtract_gram(s, u, m, n);
}

}  // namespace confidently
