// Means of the classes under one covariance, as a member of a stack: linear discriminant analysis, row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"

namespace confidently {

// Rows that the prior of the covariance counts as, per feature, each with a variance of half of a unit vector's share.
inline constexpr double kPriorRows = 5.0;
// Rows at the mean of all that the mean of a class begins with.
inline constexpr double kRowsAtCenter = 3.0;

// Rows x have unit norm. Group 0 are all rows, group k + 1 those of class k: n_k rows with the mean m_k. Within
// classes, S = sum_i (x_i - m_i)(x_i - m_i)' + c/2 I is their scatter, and w_k = S^-1 m_k. With the mean g of all rows
// and the means of classes drawn towards it, g + r_k (m_k - g), r_k = n_k/(n_k + 3), the score of a class is the
// logarithm of its density under the covariance S/(n + c d) over that at g, and of its frequency.
struct ClassMeans {
    double* mean;       // features x groups
    double* weights;    // features x groups: precision * mean
    double* square_of;  // groups: m_k' w_k
    double* rows;       // groups: the weight of their rows
    double* precision;  // features x features: S^-1
    int features, groups;

    int classes() const { return groups - 1; }

    // The scores of all classes; at_center: g' w_k of all groups
    void score(const Row& row, const double* at_center, double* scratch, double* f) const {
        product(row, scratch);
        const double all = rows[0] + classes(), rows_in_all = rows[0] + kPriorRows * features;
        for (int k = 0; k < classes(); ++k) {
            const double n = rows[k + 1], r = n / (n + kRowsAtCenter), g = at_center[k + 1];
            const double linear = scratch[k + 1] - scratch[0] - g + square_of[0];
            const double square = square_of[k + 1] - 2.0 * g + square_of[0];
            f[k] = rows_in_all * (r * linear - 0.5 * r * r * square) + std::log((n + 1.0) / all);
        }
    }

    // g' w_k of all groups
    void center_products(double* out) const {
        std::fill_n(out, groups, 0.0);
        for (int j = 0; j < features; ++j) add(mean[std::size_t(j) * groups], weights + std::size_t(j) * groups, out);
    }

    void learn(const Row& row, int label, double w, std::vector<double>& scratch) const {
        const int group = label + 1;
        scratch.assign(3 * std::size_t(features) + std::size_t(groups), 0.0);
        double *x = scratch.data(), *delta = x + features, *u = delta + features, *a = u + features;
        const double length = norm(row.value, std::size_t(row.size));
        for (std::int32_t i = 0; length > 0.0 && i < row.size; ++i) x[row.column[i]] = row.value[i] / length;
        double within = 0.0;
        for (int j = 0; j < features; ++j) {
            delta[j] = x[j] - mean[std::size_t(j) * groups + group];
            const double* of_j = precision + std::size_t(j) * features;
            if (delta[j] == 0.0) continue;
            for (int i = 0; i < features; ++i) u[i] += delta[j] * of_j[i];
        }
        for (int j = 0; j < features; ++j) within += delta[j] * u[j];
        // S grows by f delta delta'; S^-1 delta shrinks by the factor `left`
        const double f = w * rows[group] / (rows[group] + w), left = 1.0 / (1.0 + f * within);
        if (f > 0.0) {
            for (int j = 0; j < features; ++j) add(delta[j], weights + std::size_t(j) * groups, a);
            for (int k = 0; k < groups; ++k) square_of[k] -= f * left * a[k] * a[k];
            for (int j = 0; j < features; ++j) {
                const double factor = -f * left * u[j];
                double* of_j = precision + std::size_t(j) * features;
                add(factor, a, weights + std::size_t(j) * groups);
                for (int i = 0; i < features; ++i) of_j[i] += factor * u[i];
            }
        }
        // S^-1 x, which the weights of both groups move towards
        for (int j = 0; j < features; ++j) u[j] = left * u[j] + weights[std::size_t(j) * groups + group];
        move(group, w, x, u);
        move(0, w, x, u);
    }

  private:
    void add(double factor, const double* from, double* to) const {
        for (int k = 0; k < groups; ++k) to[k] += factor * from[k];
    }

    // x' w_k of all groups
    void product(const Row& row, double* out) const {
        std::fill_n(out, groups, 0.0);
        const double length = norm(row.value, std::size_t(row.size));
        for (std::int32_t i = 0; length > 0.0 && i < row.size; ++i)
            add(row.value[i] / length, weights + std::size_t(row.column[i]) * groups, out);
    }

    void move(int group, double w, const double* x, const double* precise) const {
        rows[group] += w;
        const double step = w / rows[group];
        double sum = 0.0;
        for (int j = 0; j < features; ++j) {
            double &m = mean[std::size_t(j) * groups + group], &v = weights[std::size_t(j) * groups + group];
            m += step * (x[j] - m);
            v += step * (precise[j] - v);
            sum += m * v;
        }
        square_of[group] = sum;
    }
};

// How far a row is from the nearest class, for MarginVariances, which tell 2^-24 to 2^24 apart: halved by every 8 by
// which the largest score grows, and 2^12 at 0, where the class is as likely as any row.
inline double class_distance(const double* f, int classes) {
    return std::exp2(std::clamp(12.0 - *std::max_element(f, f + classes) / 8.0, -1000.0, 1000.0));
}

}  // namespace confidently
