// Means of the classes under one covariance, as a member of a stack: linear discriminant analysis, row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"

namespace confidently {

// Rows that the prior of the covariance counts as, per feature, each with a variance of half of a unit vector's share.
inline constexpr double kPriorRows = 5.0;
// The mean squared distance of the means of classes from that of all rows begins as that of so many rows, d/5.
inline constexpr double kRowsOfDistance = 10.0, kFirstDistance = 0.2;
// Rows at the mean of all with which the mean of a class begins, at most.
inline constexpr double kMostAtCenter = 100.0;

// Factor of the logarithm of the classes' frequencies.
inline constexpr double kFrequency = 0.1;

// Rows x have unit norm. Group 0 are all rows, group k + 1 those of class k: n_k rows with the mean m_k. Within
// classes, S = sum_i (x_i - m_i)(x_i - m_i)' + c/2 I is their scatter, and w_k = S^-1 m_k. With the mean g of all rows
// and the means of classes drawn towards it, g + r_k (m_k - g), r_k = n_k/(n_k + a), the score of a class is the
// logarithm of its density under the covariance S/(n + c d) over that at g, and .1 that of its frequency. A class
// without rows has the least score of those that have some. a is d over the mean squared distance of the means from g:
// by how much the observed one exceeds d/n_k, which the noise of n_k rows is expected to add.
//
// A row is unlike all classes if no class is probable, or if a class yet to come would explain it better. The means of
// classes have the covariance 1/a of that within classes around g, and 1/(n_k + a) around the drawn mean of class k. So
// the density of class k has 1 + 1/(n_k + a) times the covariance within classes, that of a new one 1 + 1/a times.
struct ClassMeans {
    // A row of unit norm, its difference to the mean of a group, S^-1 times that, and their product
    struct Difference {
        std::vector<double> x, delta, u;
        double square;
        int group;
    };

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
        const double drawn = rows_at_center(at_center);
        double least = 0.0;
        for (int k = 0; k < classes(); ++k) {
            const double n = rows[k + 1], r = n / (n + drawn);
            if (!(n > 0.0)) continue;
            const double along = r * linear(k + 1, scratch, at_center), square_of_r = r * r * square(k + 1, at_center);
            f[k] = rows_in_all * (along - 0.5 * square_of_r) + kFrequency * std::log((n + 1.0) / all);
            least = std::min(least, f[k]);
        }
        for (int k = 0; k < classes(); ++k)
            if (!(rows[k + 1] > 0.0)) f[k] = least;
    }

    // (x - g)' S^-1 (m - g) and (m - g)' S^-1 (m - g) of a group with the mean m
    double linear(int group, const double* products, const double* at_center) const {
        return products[group] - products[0] - at_center[group] + square_of[0];
    }
    double square(int group, const double* at_center) const {
        return square_of[group] - 2.0 * at_center[group] + square_of[0];
    }

    // The rows at the mean of all that the mean of a class is drawn by.
    double rows_at_center(const double* at_center) const {
        const double factor = rows[0] + kPriorRows * features;
        double sum = kRowsOfDistance * kFirstDistance * features;
        for (int k = 1; k < groups; ++k)
            if (rows[k] > 0.0) sum += rows[k] * factor * square(k, at_center) - features;
        const double distance = sum / (rows[0] + kRowsOfDistance);
        return features / std::max(distance, features / kMostAtCenter);
    }

    // Minus the logarithm of p max_k e_k, the largest of the e_k = (n_k + 1)/(n + K) B_k^slope and its part p in their
    // sum, over the classes with rows; 0 without any. B_k is the density of class k over that of a new class. products:
    // x' w_k of all groups, as score() leaves them.
    double novelty(const Difference& row, const double* at_center, const double* products, double slope) const {
        const double all = rows[0] + classes(), rows_in_all = rows[0] + kPriorRows * features;
        const double drawn = rows_at_center(at_center), wide = 1.0 + 1.0 / drawn;
        const double to_center =
            row.square + 2.0 * linear(row.group, products, at_center) - square(row.group, at_center);
        double most = -std::numeric_limits<double>::infinity(), sum = 0.0;
        for (int k = 1; k < groups; ++k) {
            const double n = rows[k], r = n / (n + drawn), own = 1.0 + 1.0 / (n + drawn);
            if (!(n > 0.0)) continue;
            const double to_class = to_center - 2.0 * r * linear(k, products, at_center) + r * r * square(k, at_center);
            const double excess = rows_in_all * (to_center / wide - to_class / own) + features * std::log(wide / own);
            const double e = std::log((n + 1.0) / all) + 0.5 * slope * excess;
            sum = e > most ? sum * std::exp(most - e) + 1.0 : sum + std::exp(e - most);
            most = std::max(most, e);
        }
        return sum > 0.0 ? std::log(sum) - most : 0.0;
    }

    // g' w_k of all groups
    void center_products(double* out) const {
        std::fill_n(out, groups, 0.0);
        for (int j = 0; j < features; ++j) add(mean[std::size_t(j) * groups], weights + std::size_t(j) * groups, out);
    }

    // What learning a row of a group, and its novelty, need
    void difference(const Row& row, int group, Difference& found) const {
        found.x.assign(std::size_t(features), 0.0);
        found.delta.resize(std::size_t(features));
        found.u.assign(std::size_t(features), 0.0);
        found.square = 0.0;
        found.group = group;
        const double length = norm(row.value, std::size_t(row.size));
        for (std::int32_t i = 0; length > 0.0 && i < row.size; ++i) found.x[row.column[i]] = row.value[i] / length;
        double *delta = found.delta.data(), *u = found.u.data();
        for (int j = 0; j < features; ++j) {
            delta[j] = found.x[j] - mean[std::size_t(j) * groups + group];
            const double* of_j = precision + std::size_t(j) * features;
            if (delta[j] == 0.0) continue;
            for (int i = 0; i < features; ++i) u[i] += delta[j] * of_j[i];
        }
        for (int j = 0; j < features; ++j) found.square += delta[j] * u[j];
    }

    // row: the difference to the mean of its class; its parts are overwritten
    void learn(Difference& row, double w, std::vector<double>& scratch) const {
        const int group = row.group;
        scratch.assign(std::size_t(groups), 0.0);
        double *x = row.x.data(), *delta = row.delta.data(), *u = row.u.data(), *a = scratch.data();
        // S grows by f delta delta'; S^-1 delta shrinks by the factor `left`
        const double f = w * rows[group] / (rows[group] + w), left = 1.0 / (1.0 + f * row.square);
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

// How unlike all classes a row is, for MarginVariances, which tell 2^-24 to 2^24 apart.
inline double unlikeness(double novelty) { return std::exp2(std::clamp(novelty, -1000.0, 1000.0)); }

}  // namespace confidently
