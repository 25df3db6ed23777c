// Scores of trees that were grown on the rows before (core/views/growing.hpp), which are kept until then. Python says
// when they grow (src/confidently/views/trees.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "rows.hpp"
#include "views/columns.hpp"
#include "views/made_rows.hpp"

namespace confidently {

struct Trees {
    static constexpr const char* name = "trees";
    static constexpr bool takes_zeros = true;
    static constexpr double kLargest = 30.0;  // absolute value of a score

    std::int64_t outputs, width, nodes, all;  // scores of a row; columns that are looked at; nodes; trees
    const std::int8_t* kind;                  // by column
    // by node: its column, negative: it is a leaf; its threshold; what a leaf adds; where it goes to the right, and
    // whether missing values do not. To the left follows the next node.
    const std::int32_t* column;
    const float *threshold, *value;
    const std::int32_t* right;
    const std::int8_t* missing_left;
    const std::int32_t *root, *output;  // by tree: its first node; the score to which it adds
    const double* base;                 // by score
    double* counts;                     // of rows that are kept; since trees grew; on which they did; lists of labels
    float* rows;                        // of these
    double *target, *weight;
    std::int64_t capacity, targets;
    std::vector<float> x;
    std::vector<double> sum;

    template <class State>
    static Trees open(const State& state, Undo<double>*) {
        const auto sized = [&](const char* name, std::size_t axis = 0) {
            return static_cast<std::int64_t>(state.size(name, axis));
        };
        const std::int64_t n = n_features(state), outputs = sized("trees.base"), nodes = sized("trees.column");
        const std::int64_t all = sized("trees.root"), capacity = sized("trees.rows"), width = sized("trees.rows", 1);
        const std::int64_t targets = sized("trees.target", 1);
        if (width > n) throw std::invalid_argument("trees.rows does not match trees.kind");
        return {outputs,
                width,
                nodes,
                all,
                state.template array<std::int8_t>("trees.kind", n),
                state.template array<std::int32_t>("trees.column", nodes),
                state.template array<float>("trees.threshold", nodes),
                state.template array<float>("trees.value", nodes),
                state.template array<std::int32_t>("trees.right", nodes),
                state.template array<std::int8_t>("trees.missing_left", nodes),
                state.template array<std::int32_t>("trees.root", all),
                state.template array<std::int32_t>("trees.output", all),
                state.template array<double>("trees.base", outputs),
                state.template array<double>("trees.counts", 4),
                state.template array<float>("trees.rows", capacity, width),
                state.template array<double>("trees.target", capacity, targets),
                state.template array<double>("trees.weight", capacity),
                capacity,
                targets,
                std::vector<float>(static_cast<std::size_t>(width)),
                std::vector<double>(static_cast<std::size_t>(outputs))};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("trees.kind"));
    }

    void see(const Row& row, MadeRows& out) {
        if (all > 0) {
            fill(row, x.data());
            std::copy_n(base, outputs, sum.begin());
            for (std::int64_t t = 0; t < all; ++t) {
                if (output[t] < 0 || output[t] >= outputs)
                    throw std::invalid_argument("trees.output does not match trees.base");
                sum[static_cast<std::size_t>(output[t])] += value[leaf(root[t])];
            }
            for (std::int64_t k = 0; k < outputs; ++k)
                out.add(static_cast<std::int32_t>(k),
                        std::clamp(sum[static_cast<std::size_t>(k)], -kLargest, kLargest));
        }
        out.end_row();
    }

    // Keeps a row of weight w with its numbers, its class, or for each label whether it has it.
    void learn(const Row& row, const double* numbers, const std::int32_t* label, const std::int32_t* label_end,
               double w) {
        const auto at = static_cast<std::int64_t>(counts[0]);
        if (at < 0 || at >= capacity) throw std::invalid_argument("there is no room for the rows that trees grow on");
        fill(row, rows + at * width);
        for (std::int64_t k = 0; k < targets; ++k)
            target[at * targets + k] = numbers           ? numbers[k]
                                       : counts[3] > 0.0 ? double(std::find(label, label_end, k) != label_end)
                                                         : double(*label);
        weight[at] = w;
        counts[0] += 1.0;
        counts[1] += 1.0;
    }

  private:
    void fill(const Row& row, float* to) const {
        constexpr double largest = 1e38;  // a file marks what is missing by a larger one
        for (std::int64_t j = 0; j < width; ++j)
            to[j] = kind[j] == Kind::missing ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
        for (std::int32_t i = 0; i < row.size && row.column[i] < width; ++i)  // columns ascend
            to[row.column[i]] = static_cast<float>(std::clamp(row.value[i], -largest, largest));
    }

    std::int64_t leaf(std::int64_t node) const {
        while (true) {
            if (node < 0 || node >= nodes) throw std::invalid_argument("trees.right does not match trees.column");
            const std::int32_t j = column[node];
            if (j < 0) return node;
            if (j >= width) throw std::invalid_argument("trees.column does not match trees.rows");
            const float own = x[static_cast<std::size_t>(j)];
            const bool left = std::isnan(own) ? missing_left[node] != 0 : own <= threshold[node];
            const std::int64_t next = left ? node + 1 : right[node];
            if (next <= node) throw std::invalid_argument("trees.right must ascend");
            node = next;
        }
    }
};

}  // namespace confidently
