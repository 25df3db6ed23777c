// Weights of which only those are stored that rows have moved: every feature has a list of the columns of its weights,
// with their means and variances. All others are at the prior, a mean of 0. A row visits the lists of its features, so
// neither time nor memory depends on the number of columns times that of features.
//
// Lists lie in arrays that all features share. One that is full moves behind all others, to a place twice as large.
// There is spare room for what the next row needs, or else it must not be learned.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "covariances/gathered.hpp"
#include "covariances/undo.hpp"
#include "covariances/weights.hpp"
#include "prefetch.hpp"
#include "rows.hpp"

namespace confidently {

template <class Real>
struct SparseWeights {
    struct List {
        std::int64_t start, size;
    };
    // Where a list has a column, counted from its start; -1: nowhere.
    struct Found {
        std::int64_t plus = -1, minus = -1;
    };

    List* lists;           // one per feature, the intercept's first if there is one
    std::int32_t* column;  // of every entry
    Real *mean, *variance;
    Real*
        drift;  // when averaging, the sum over the updates of (rows seen before it) x (change of the mean); or nullptr
    std::int64_t* used;  // places that lists have or had
    std::int64_t room;   // and all places
    std::int64_t n_features;
    int columns;  // of the classes that exist
    bool intercept;
    Undo<Real>* undo = nullptr;  // where changes are noted, if they are
    Undo<std::int64_t>* undo_lists = nullptr;

    static std::int64_t capacity(std::int64_t size) {
        return size > 1 ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size))) : 2 * size;
    }

    List& list(std::int32_t feature) const { return lists[std::int64_t(feature) + intercept]; }

    // The places that lists need at most for what one row adds, beyond those they have.
    std::int64_t needed(const Row& row) const {
        std::int64_t needed = 0;
        row.each([&](std::int32_t j, double) {
            const std::int64_t size = list(j).size, next = capacity(size + kColumnsPerRow);
            if (next > capacity(size)) needed += next;
        });
        return needed;
    }
    std::int64_t spare() const { return room - *used; }

    std::int64_t bytes() const { return *used * std::int64_t(sizeof(std::int32_t) + 2 * sizeof(Real)); }

    // Asks for the places of lists that are soon to be read.
    void expect(std::span<const std::int32_t> soon) const {
        for (const std::int32_t feature : soon) prefetch(&list(feature));
    }

    // Scores of the columns that have weights on a row's features. Each is a sum in the order of the features.
    void gather(const Row& row, Gathered& gathered) const {
        row.each([&](std::int32_t j, double) { expect_entries(list(j)); });
        gathered.begin(columns);
        row.each([&](std::int32_t j, double x) {
            const auto [start, size] = list(j);
            gathered.add(column + start, mean + start, size, x);
        });
    }

    // The scores of all columns used for prediction: of the mean, or of its average over the n_seen rows trained on.
    void prediction(const Row& row, std::int64_t n_seen, double* out, double* scratch) const {
        scores(row, mean, out);
        if (!drift || n_seen == 0) return;
        scores(row, drift, scratch);
        for (int k = 0; k < columns; ++k) out[k] -= scratch[k] / static_cast<double>(n_seen);
    }

    Found find(const List& list, Pair p) const {
        constexpr std::int64_t together = 16;  // compared without a branch
        Found found;
        const std::int32_t* own = column + list.start;
        const auto look = [&](std::int64_t i) {
            if (own[i] == p.plus) found.plus = i;
            if (own[i] == p.minus) found.minus = i;
        };
        std::int64_t i = 0, missing = (p.plus != kNone) + (p.minus != kNone);
        for (; i + together <= list.size && missing > 0; i += together) {
            int hits = 0;
            for (std::int64_t k = i; k < i + together; ++k) hits += int(own[k] == p.plus) + int(own[k] == p.minus);
            for (std::int64_t k = i; hits > 0 && k < i + together; ++k) look(k);
            missing -= hits;
        }
        for (; i < list.size && missing > 0; ++i) look(i);
        return found;
    }

    // Asks for the numbers that were found.
    void expect_entry(const List& list, Found found) const {
        for (const std::int64_t at : {found.plus, found.minus})
            if (at >= 0) prefetch(mean + list.start + at), prefetch(variance + list.start + at);
    }

    // The place of a column's entry, which is added at the prior unless it was found.
    std::int64_t place(List& list, std::int64_t found, int of_column, Real prior) const {
        if (found >= 0) return list.start + found;
        if (undo_lists) undo_lists->note(&list.start), undo_lists->note(&list.size);
        if (list.size == capacity(list.size)) move(list);
        const std::int64_t at = list.start + list.size++;
        column[at] = of_column, mean[at] = Real(0), variance[at] = prior;
        if (drift) drift[at] = Real(0);
        return at;
    }

    void note(std::int64_t at) const {
        if (!undo) return;
        undo->note(mean + at), undo->note(variance + at);
        if (drift) undo->note(drift + at);
    }

    // Returns the largest absolute number written.
    double add(std::int64_t at, double change, double age) const {
        const double moved = mean[at] + change;
        mean[at] = static_cast<Real>(moved);
        if (!drift) return std::fabs(moved);
        const double drifted = drift[at] + age * change;
        drift[at] = static_cast<Real>(drifted);
        return std::max(std::fabs(moved), std::fabs(drifted));
    }

    // Calls f with every stored variance.
    template <class F>
    void each_variance(F&& f) const {
        for (std::int64_t i = 0; i < *used; ++i) {
            if (undo) undo->note(variance + i);
            f(variance[i]);
        }
    }

  private:
    static constexpr std::int64_t kColumnsPerRow = 2;
    static constexpr std::int64_t kLine = 64, kLinesAhead = 4;  // the processor itself asks for what follows these

    // Asks for the beginning of a list.
    void expect_entries(const List& list) const {
        const auto ask = [&](const void* first, std::int64_t size) {
            const char* line = static_cast<const char*>(first);
            for (std::int64_t k = 0; k < std::min(size, kLinesAhead * kLine); k += kLine) prefetch_far(line + k);
        };
        ask(column + list.start, list.size * std::int64_t(sizeof *column));
        ask(mean + list.start, list.size * std::int64_t(sizeof *mean));
    }

    void scores(const Row& row, const Real* of, double* out) const {
        std::fill_n(out, columns, 0.0);
        row.each([&](std::int32_t j, double x) {
            const auto [start, size] = list(j);
            for (std::int64_t i = start; i < start + size; ++i) out[column[i]] += x * double(of[i]);
        });
    }

    void move(List& list) const {
        const std::int64_t to = *used;
        *used += capacity(list.size + 1);
        std::copy_n(column + list.start, list.size, column + to);
        std::copy_n(mean + list.start, list.size, mean + to);
        std::copy_n(variance + list.start, list.size, variance + to);
        if (drift) std::copy_n(drift + list.start, list.size, drift + to);
        list.start = to;
    }
};

}  // namespace confidently
