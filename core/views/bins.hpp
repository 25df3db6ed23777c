// Indicators of the bins in which values are, between quantiles of the first values of their column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "views/first_values.hpp"
#include "views/made_rows.hpp"

namespace confidently {

struct Bins {
    static constexpr const char* name = "bins";
    static constexpr bool takes_zeros = true;

    FirstValues first;
    std::int64_t n;                     // bins of a column
    std::vector<std::int32_t> start;    // by column: the first one made of it
    std::vector<std::int32_t> missing;  // columns that are missing where they are absent
    bool unit_norm = true;

    template <class State>
    static Bins open(const State& state, Undo<double>* undo) {
        const auto n = static_cast<std::int64_t>(state.size("bins.knots", 1)) + 1;
        Bins view{FirstValues(state, name, n - 1, undo), n, {}, {}};
        std::int64_t next = 0;
        const std::int64_t columns = n_features(state);
        for (std::int32_t j = 0; j < columns; ++j) {
            const std::int8_t kind = view.first.kind[j];
            view.start.push_back(static_cast<std::int32_t>(next));
            next += kind == Kind::plain ? 1 : kind == Kind::missing ? n + 1 : n;
            if (kind == Kind::missing) view.missing.push_back(j);
        }
        return view;
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return FirstValues::n_features(state, name);
    }

    // A number is in the bin from an edge, excluded, to the next, included. A column has no bins before its first
    // value, nor a bin for 0 while it is 0 where it is absent and 0 at all quantiles: it does not matter since when it
    // is known.
    void see(const Row& bare, MadeRows& out) {
        const Row row = first.filled(bare);
        auto next = missing.begin();
        const auto add_missing = [&] {
            if (first.seen(*next) > 0) out.add(at(*next) + static_cast<std::int32_t>(n), 1.0);
            ++next;
        };
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::int32_t j = row.column[i];
            while (next != missing.end() && *next < j) add_missing();
            next += next != missing.end() && *next == j;
            if (first.kind[j] == Kind::plain)
                out.add(at(j), row.value[i]);
            else if (first.seen(j) > 0 && !is_absent(j, row.value[i]))
                out.add(at(j) + static_cast<std::int32_t>(count_below(first.knots(j), n - 1, row.value[i])), 1.0);
        }
        while (next != missing.end()) add_missing();
        if (unit_norm)
            out.end_row_of_unit_norm();
        else
            out.end_row();
    }

    void learn(const Row& row, double) { first.learn(row, *this); }
    void renew() { first.renew(*this); }

    // Makes the edges of sorted values.
    void operator()(const std::vector<double>& sorted, double* edges) const {
        std::vector<Value> distinct;
        for (std::size_t i = 0; i < sorted.size(); ++i)
            if (i == 0 || sorted[i] != sorted[i - 1]) distinct.push_back({sorted[i], static_cast<std::int64_t>(i)});
        if (static_cast<std::int64_t>(distinct.size()) <= n)
            one_for_each(distinct, static_cast<std::int64_t>(sorted.size()), edges);
        else
            by_quantiles(sorted, edges);
    }

  private:
    struct Value {
        double x;
        std::int64_t below;  // how many values are
    };

    std::int32_t at(std::int32_t j) const { return start[static_cast<std::size_t>(j)]; }

    bool is_absent(std::int32_t j, double x) const {
        const double* edges = first.knots(j);
        return x == 0.0 && first.kind[j] == Kind::zero && edges[0] == 0.0 && edges[n - 2] == 0.0;
    }

    // One bin for each value, the one of its quantile or one near it. Larger values have the last bin, if it is free.
    void one_for_each(const std::vector<Value>& distinct, std::int64_t all, double* edges) const {
        const auto m = static_cast<std::int64_t>(distinct.size());
        std::int64_t bin = 0;
        for (std::int64_t i = 1; i < m; ++i) {
            const Value &low = distinct[static_cast<std::size_t>(i - 1)], &high = distinct[static_cast<std::size_t>(i)];
            const std::int64_t next = std::max(bin + 1, std::min(n * high.below / all, n - m + i));
            std::fill(edges + bin, edges + next, between(low.x, high.x));
            bin = next;
        }
        std::fill(edges + bin, edges + n - 1, distinct.back().x);
    }

    // Where several edges are one value, it has a bin of its own: unless an edge is between it and the value before,
    // the first of them is moved there.
    void by_quantiles(const std::vector<double>& sorted, double* edges) const {
        for (std::int64_t i = 1; i < n; ++i) edges[i - 1] = quantile(sorted, i, n);
        for (std::int64_t i = 0, last = 0; i < n - 1; i = last + 1) {
            for (last = i; last + 1 < n - 1 && edges[last + 1] == edges[i];) ++last;
            const auto value = std::lower_bound(sorted.begin(), sorted.end(), edges[i]);
            if (last == i || value == sorted.begin()) continue;
            if (i == 0 || edges[i - 1] < *(value - 1)) edges[i] = between(*(value - 1), *value);
        }
    }

    // A number from the lower one on and below the higher one.
    static double between(double low, double high) {
        const double middle = 0.5 * low + 0.5 * high;
        return middle < high ? middle : low;
    }
};

}  // namespace confidently
