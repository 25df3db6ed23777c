// Categories as statistics of their rows: by how much the rows before with the same value differ from all, shrunk by
// how much values of the category differ at all. Numbers and the first values of categories are kept; other columns are
// left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "rows.hpp"
#include "views/made_rows.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Categories {
    static constexpr const char* name = "categories";
    static constexpr bool takes_zeros = true;
    static constexpr double kDoubt = 10.0;      // rows without agreement that a category begins with
    static constexpr double kLeastPrior = 0.5;  // of rows like all others that are added to those with a value

    std::int64_t outputs;          // statistics of a category
    std::int64_t all, size;        // categories; columns
    const std::int32_t* place;     // by feature: its column; negative: it has none
    const std::int32_t* category;  // by feature: that of which it is a value; negative: of none
    const std::int32_t* first;     // by category: the column of its first statistic
    Statistics rows, count,
        sums;  // weight, sums and sums of squares of the outputs of all rows; weight, sums by feature
    Statistics repeats, agreement;      // by category: rows with a value that had come before, and sums of products
    mutable std::vector<double> found;  // statistics of a row, by category
    mutable std::vector<std::int32_t> present;  // categories of a row
    std::vector<double> output;                 // of a row

    template <class State>
    static Categories open(const State& state, Undo<double>* undo) {
        const std::int64_t n = n_features(state), all = static_cast<std::int64_t>(state.size("categories.first"));
        const auto outputs = static_cast<std::int64_t>(state.size("categories.sums", 1));
        const std::int64_t size = state.template array<std::int64_t>("categories.size", 1)[0];
        const Categories view{outputs,
                              all,
                              size,
                              state.template array<std::int32_t>("categories.place", n),
                              state.template array<std::int32_t>("categories.category", n),
                              state.template array<std::int32_t>("categories.first", all),
                              {state.template array<double>("categories.rows", 2 * outputs + 1), undo},
                              {state.template array<double>("categories.count", n), undo},
                              {state.template array<double>("categories.sums", n, outputs), undo},
                              {state.template array<double>("categories.repeats", all), undo},
                              {state.template array<double>("categories.agreement", all, outputs), undo},
                              std::vector<double>(static_cast<std::size_t>(all * outputs)),
                              {},
                              std::vector<double>(static_cast<std::size_t>(outputs))};
        state.template array<std::int64_t>("categories.key", all);  // one by category
        for (std::int64_t c = 0; c < all; ++c)
            if (view.first[c] < 0 || view.first[c] > size - outputs)
                throw std::invalid_argument("categories.first does not match categories.size");
        return view;
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("categories.place"));
    }

    void see(const Row& row, MadeRows& out) const {
        present.clear();
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::int32_t j = row.column[i], c = category[j];
            if (place[j] >= size || c >= all)  // checked here, since a row costs what its own features do
                throw std::invalid_argument("categories.place and categories.category do not match the others");
            if (place[j] >= 0 && (c < 0 || row.value[i] != 0.0)) out.put(place[j], row.value[i]);
            if (c < 0 || row.value[i] == 0.0) continue;
            present.push_back(c);
            for (std::int64_t k = 0; k < outputs; ++k) at(c, k) += statistic(j, k);
        }
        for (const std::int32_t c : present)
            for (std::int64_t k = 0; k < outputs; ++k) {
                out.add(first[c] + static_cast<std::int32_t>(k), at(c, k));
                at(c, k) = 0.0;
            }
        out.sort_row();
        out.end_row();
    }

    // Counts a row in, with its outputs: numbers, or 1 for its classes. Of two classes, only the second has an output.
    void learn(const Row& row, const double* target, const std::int32_t* label, const std::int32_t* label_end,
               double w) {
        for (std::int64_t k = 0; k < outputs; ++k)
            output[static_cast<std::size_t>(k)] =
                target ? target[k] : double(std::find(label, label_end, k + (outputs == 1)) != label_end);
        for (std::int32_t i = 0; i < row.size; ++i) {
            const std::int32_t j = row.column[i], c = category[j];
            if (c < 0 || row.value[i] == 0.0) continue;
            if (count[j] > 0.0) repeats.add(c, w);
            for (std::int64_t k = 0; k < outputs; ++k) {
                const double y = output[static_cast<std::size_t>(k)];
                if (count[j] > 0.0)
                    agreement.add(c * outputs + k, w * (y - mean(k)) * (sums[j * outputs + k] / count[j] - mean(k)));
                sums.add(j * outputs + k, w * y);
            }
            count.add(j, w);
        }
        rows.add(0, w);
        for (std::int64_t k = 0; k < outputs; ++k) {
            const double y = output[static_cast<std::size_t>(k)];
            rows.add(1 + k, w * y);
            rows.add(1 + outputs + k, w * y * y);
        }
    }

  private:
    double& at(std::int32_t c, std::int64_t k) const { return found[static_cast<std::size_t>(c * outputs + k)]; }

    double mean(std::int64_t k) const { return rows[1 + k] / rows[0]; }

    // The mean of a value is shrunk by the ratio of the variances within values and between them. The latter is the
    // mean product of deviations of two rows with the same value.
    double statistic(std::int32_t j, std::int64_t k) const {
        const double n = count[j], all = rows[0], sum = sums[j * outputs + k];
        if (n == 0.0 || all == 0.0) return 0.0;
        const std::int32_t c = category[j];
        const double variance = rows[1 + outputs + k] / all - mean(k) * mean(k);
        const double between = agreement[c * outputs + k] / (repeats[c] + kDoubt);
        if (!(between > 0.0) || !(variance > 0.0)) return 0.0;
        const double prior = std::max((variance - between) / between, kLeastPrior);
        return (sum - n * mean(k)) / (n + prior) / std::sqrt(variance);
    }
};

}  // namespace confidently
