// Products of features: a row x of unit norm becomes [x_i; x_i^2; sqrt2 x_i x_j], scaled to unit norm. The product of
// two such rows is (x'z + (x'z)^2)/2. Without unit norm, x and the result are not scaled. Features whose value is 0 are
// in no term.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/pair_table.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Pairs {
    static constexpr const char* name = "pairs";
    static constexpr std::int32_t kMaxPaired = 1000;  // features of a row

    PairTable table;
    const std::int32_t* group;   // by feature: the number of its column or namespace; negative: it is in no product
    const std::int8_t* crossed;  // by two groups: whether the view has their products
    std::int64_t n_groups;
    bool unit_norm = true;
    std::int64_t limit = -1;  // terms up to which products get numbers; negative: rows are not made for predictions

    template <class State>
    static Pairs open(const State& state, Undo<double>*) {
        const auto n_groups = static_cast<std::int64_t>(state.size("pairs.crossed"));
        const std::int64_t n = n_features(state);
        return {PairTable::open(state), state.template array<std::int32_t>("pairs.group", n),
                state.template array<std::int8_t>("pairs.crossed", n_groups, n_groups), n_groups};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("pairs.group"));
    }

    // Whether all terms of a row have numbers, which they get as long as there is room if `add`. No product is numbered
    // from `limit` terms on, nor missed.
    bool meet(const Row& row, bool add) const {
        const auto numbered = [&](std::int32_t a, std::int32_t b) {
            return add ? table.add(a, b) : table.find(a, b) != kNoTerm;
        };
        bool all = true;
        for (std::int32_t i = 0; i < row.size; ++i)
            all = all && (row.value[i] == 0.0 || numbered(row.column[i], kNoFeature));
        each_product(row, [&](std::int32_t i, std::int32_t k) {
            all = all && (*table.size >= limit || numbered(row.column[i], row.column[k]));
        });
        return all;
    }

    // Terms without a number are left out, but count in the row's length, as they do once they have one. For a
    // prediction, those that training on the row would number become one more column, behind all others, of their
    // length: their weights are at the prior, so that they only add to the variance of the score.
    void see(const Row& row, MadeRows& out) const {
        const double length = unit_norm ? norm(row.value, static_cast<std::size_t>(row.size)) : 1.0;
        if (length == 0.0) return out.end_row();
        double left_out = 0.0, unseen = 0.0;  // a sum of squares; the root of one, since products may be large
        std::int64_t numbered = *table.size;
        const auto add = [&](std::int32_t a, std::int32_t b, double x) {
            if (const std::int32_t term = table.find(a, b); term != kNoTerm)
                out.add(term, x);
            else if (b == kNoFeature ? limit >= 0 : numbered < limit)
                ++numbered, unseen = std::hypot(unseen, x);
            else
                left_out += x * x;
        };
        for (std::int32_t i = 0; i < row.size; ++i)
            if (row.value[i] != 0.0) add(row.column[i], kNoFeature, row.value[i] / length);
        each_product(row, [&](std::int32_t i, std::int32_t k) {
            add(row.column[i], row.column[k],
                (i == k ? 1.0 : kSqrtTwo) * (row.value[i] / length) * (row.value[k] / length));
        });
        if (unseen > 0.0) out.add(static_cast<std::int32_t>(*table.size), unseen);
        out.sort_row();  // terms are numbered as rows bring them
        if (unit_norm)
            out.end_row_of_unit_norm(left_out);
        else
            out.end_row();
    }

  private:
    static constexpr double kSqrtTwo = 1.4142135623730951;

    template <class F>
    void each_product(const Row& row, F&& f) const {
        std::int32_t paired = 0;
        for (std::int32_t i = 0; i < row.size; ++i) paired += group_of(row, i) >= 0;
        if (paired > kMaxPaired)
            throw std::invalid_argument("a row has " + std::to_string(paired) + " features to pair, at most " +
                                        std::to_string(kMaxPaired) + " are allowed; pair chosen columns only");
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::int32_t a = group_of(row, i);
            if (a < 0) continue;
            // The table is larger than the caches, so the slots of the next feature's products are fetched early.
            for (std::int32_t k = i + 1; k < row.size; ++k) table.fetch(row.column[i + 1], row.column[k]);
            for (std::int32_t k = i; k < row.size; ++k)
                if (const std::int32_t b = group_of(row, k); b >= 0 && crossed[a * n_groups + b]) f(i, k);
        }
    }

    // The group of the i-th entry of a row; negative: it is in no product.
    std::int32_t group_of(const Row& row, std::int32_t i) const {
        const std::int32_t found = row.value[i] == 0.0 ? -1 : group[row.column[i]];
        if (found >= n_groups) throw std::invalid_argument("pairs.group does not match pairs.crossed");
        return found;
    }
};

}  // namespace confidently
