// Several readers share one stream, each reading some pieces of it. Each numbers features and labels by first appearance in its own
// pieces; here these get the numbers of the whole stream. So results do not depend on the number of readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/hashing.hpp"
#include "data/label_table.hpp"
#include "row_order.hpp"
#include "data/rows_out.hpp"

namespace confidently {

// The number in the stream of every feature and label of a reader.
struct Numbers {
    std::vector<std::int32_t> features, labels;
};

class Numbering {
  public:
    explicit Numbering(const ReaderOptions& options)
        : features_(options.bits, options.max_columns), max_columns_(options.max_columns) {}

    FeatureTable& features() { return features_; }

    // Both number what is new to the reader of these rows; what is new to the stream stays announced. Called for the pieces in order.
    void number_features(ParsedRows& rows, Numbers& numbers) {
        const NewFeatures found = std::exchange(rows.new_features, {});
        const Strings& names = found.names;
        for (std::size_t k = 0; k < found.row.size(); ++k) {
            const auto first = static_cast<std::size_t>(names.start[k]), last = static_cast<std::size_t>(names.start[k + 1]);
            const std::string_view name = std::string_view(names.text).substr(first, last - first);
            const auto [column, is_new] = features_.column(found.key[k], kNoPrefix, name);
            if (column < 0) throw_too_many(max_columns_);
            numbers.features.push_back(column);
            if (is_new) rows.new_features.add(found.row[k], found.key[k], "", name);
        }
    }

    void number_labels(ParsedRows& rows, Numbers& numbers) {
        std::erase_if(rows.new_labels, [&](const NewLabel& label) {
            const auto [number, is_new] = labels_.number_of(label.label.text);
            numbers.labels.push_back(number);
            return !is_new;
        });
    }

  private:
    static inline const Namespace kNoPrefix{""};

    FeatureTable features_;
    LabelTable labels_;
    std::int64_t max_columns_;
};

// Gives the rows of a reader the columns of the stream, ascending, each once.
inline void finish_entries(ParsedRows& rows, const Numbers& numbers, bool l2, RowOrder& order) {
    const auto column_of = [&](std::int32_t own) { return numbers.features[static_cast<std::size_t>(own)]; };
    std::int64_t first = 0;
    rows.size = 0;
    for (std::size_t i = 1; i < rows.start.size(); ++i) {
        const std::int64_t n = rows.start[i] - first;
        std::int32_t* columns = rows.columns.get() + first;
        double* values = rows.values.get() + first;
        first = rows.start[i];
        const std::int64_t left = order.sort_and_sum(columns, values, n, column_of);
        if (l2) normalize(values, left);
        if (left > 0) rows.n_columns = std::max<std::int64_t>(rows.n_columns, columns[left - 1] + 1);
        if (rows.columns.get() + rows.size != columns) {
            std::copy_n(columns, left, rows.columns.get() + rows.size);
            std::copy_n(values, left, rows.values.get() + rows.size);
        }
        rows.start[i] = rows.size += left;
    }
}

}  // namespace confidently
