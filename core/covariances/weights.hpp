// Per-feature state of the learners: an array of shape (features, planes, columns) that keeps everything known about a
// feature together, so that a visit to a feature costs one cache miss.
//   plane 0      mean of the weights, one column per class (binary: one column)
//   plane 1      diagonal of the covariance, with a diagonal covariance only
//   last plane   sum over the updates of (rows seen before it) x (change of the mean), when averaging
// Row 0 belongs to the intercept where there is one; features follow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "covariances/column_sums.hpp"
#include "covariances/undo.hpp"
#include "rows.hpp"

namespace confidently {

// Training that would make a weight larger than this is an error. Scores of rows with the largest allowed values, and
// sums of weights over rows, then stay far within the range of their type.
template <class Real>
inline constexpr double kLargestWeight = sizeof(Real) == 4 ? 1e32 : 1e110;

// The direction z = x (x) (e_plus - e_minus) of an example; kNone leaves a side out, so that a binary example is
// {0, kNone} or {kNone, 0}.
inline constexpr int kNone = -1;

struct Pair {
    static constexpr double kSigns[2] = {-1.0, 1.0};  // not a branch, which would often be mispredicted
    int plus, minus;

    bool both() const { return plus != kNone && minus != kNone; }
    int column() const { return plus != kNone ? plus : minus; }
    double sign() const { return kSigns[plus != kNone]; }
};

// The margin of an example under the Gaussian: z' mean and z' Sigma z.
struct Margin {
    double mean, variance;
};

template <class Real>
struct Weights {
    Real* base;
    std::int64_t n_features;  // rows of the array, including the intercept's
    int planes;
    int columns;      // of the classes that exist
    int all_columns;  // and of those that begin to exist during the call
    int spacing;      // between two planes: all columns, and spare ones for classes of later calls
    bool intercept, average;
    Undo<Real>* undo = nullptr;  // where changes are noted, if they are

    std::int64_t position(std::int32_t column) const { return static_cast<std::int64_t>(column) + intercept; }
    std::int64_t stride() const { return std::int64_t(planes) * spacing; }
    Real* at(std::int32_t column) const { return base + position(column) * stride(); }

    std::int64_t bytes() const { return n_features * stride() * std::int64_t(sizeof(Real)); }

    // Asks for the numbers of columns that are soon to be read; the columns need not be in range.
    void expect(std::span<const std::int32_t> soon) const {
        const std::int64_t size = stride() * std::int64_t(sizeof(Real));
        const auto first = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(position(0) * size);
        const auto ask = [first](std::int64_t at) {
            prefetch_far(reinterpret_cast<const void*>(first + static_cast<std::uintptr_t>(at)));
        };
        for (const std::int32_t column : soon) ask(column * size);
        for (std::int64_t k = kLine; k < size; k += kLine)
            for (const std::int32_t column : soon) ask(column * size + k);
    }

    double score(const Row& row, Pair p) const {
        double s = 0.0;
        if (p.both())
            row.each([&](std::int32_t j, double x) { s += x * (double(at(j)[p.plus]) - double(at(j)[p.minus])); });
        else
            row.each([&, c = p.column()](std::int32_t j, double x) { s += x * at(j)[c]; });
        return p.both() ? s : p.sign() * s;
    }

    // One score per column, from the mean (plane 0) or the averaging plane.
    void scores(const Row& row, int plane, double* out) const { sums(plane)(row, columns, out); }

    // Of four rows, in the one column.
    void scores_of_four(const Row* rows, double* out) const { sums(0).of_four_rows(rows, out); }

    // Of four rows with the same columns, in all columns of the weights.
    void scores_of_alike(const Row* rows, double* out) const { sums(0).of_four_alike(rows, columns, out); }

    ColumnSums<Real> sums(int plane) const { return {base, position(0), stride(), plane * spacing}; }

    // The scores used for prediction: of the mean, or of its average over the n_seen rows trained on.
    void prediction(const Row& row, std::int64_t n_seen, double* out, double* scratch) const {
        scores(row, 0, out);
        if (!average || n_seen == 0) return;
        scores(row, planes - 1, scratch);
        for (int k = 0; k < columns; ++k) out[k] -= scratch[k] / static_cast<double>(n_seen);
    }

    // f: the state of a feature. age: rows seen before this one. Returns the largest absolute number written.
    double add(Real* f, int column, double change, double age) const {
        const double mean = f[column] + change;
        f[column] = static_cast<Real>(mean);
        if (!average) return std::fabs(mean);
        Real& stored = f[(planes - 1) * spacing + column];
        const double drift = stored + age * change;
        stored = static_cast<Real>(drift);
        return std::max(std::fabs(mean), std::fabs(drift));
    }

    // Notes the numbers of a row's features in all columns, before they change.
    void remember(const Row& row) const {
        if (!undo) return;
        auto* change = undo->extend(static_cast<std::size_t>(row.size + row.intercept) * planes * columns);
        row.each([&](std::int32_t j, double) {
            for (Real *f = at(j), *end = f + stride(); f != end; f += spacing)
                for (int k = 0; k < columns; ++k) *change++ = {f + k, f[k]};
        });
    }

    // Notes the numbers of a row's features in the columns of a pair, before they change.
    void remember(const Row& row, Pair p) const {
        if (!undo) return;
        const int first = p.column(), sides = p.both() ? 2 : 1;
        auto* change = undo->extend(static_cast<std::size_t>(row.size + row.intercept) * planes * sides);
        row.each([&](std::int32_t j, double) {
            for (Real *f = at(j), *end = f + stride(); f != end; f += spacing) {
                *change++ = {f + first, f[first]};
                if (sides == 2) *change++ = {f + p.minus, f[p.minus]};
            }
        });
    }
};

// Calls f with every stored variance of one column, or of all (kNone), those of classes that do not exist yet included.
template <class Real, class F>
void each_variance(const Weights<Real>& weights, int column, F&& f) {
    const int first = column == kNone ? 0 : column, last = column == kNone ? weights.all_columns : column + 1;
    for (std::int64_t j = 0; j < weights.n_features; ++j) {
        Real* variance = weights.base + j * weights.stride() + weights.spacing;
        for (int c = first; c < last; ++c) {
            if (weights.undo) weights.undo->note(variance + c);
            f(variance[c]);
        }
    }
}

}  // namespace confidently
