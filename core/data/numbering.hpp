// Several readers share one stream, each reading some pieces of it. Features and labels that are new to a reader have
// numbers of its own, behind all that it knows; here they get the numbers of the whole stream, by first appearance in
// it. So results do not depend on the number of readers.
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

// The numbers in the stream of a reader's labels, and of the features that are new in its present rows.
struct Numbers {
    std::vector<std::int32_t> features, labels;
};

class Numbering {
  public:
    explicit Numbering(const ReaderOptions& options)
        : features_(options.bits, options.max_columns), max_columns_(options.max_columns) {}

    FeatureTable& features() { return features_; }

    // Both number what is new to the reader of these rows; what is new to the stream stays announced. Called for the
    // pieces in order.
    void number_features(ParsedRows& rows, Numbers& numbers) {
        const NewFeatures found = std::exchange(rows.new_features, {});
        const Strings& names = found.names;
        for (std::size_t k = 0; k < found.row.size(); ++k) {
            if (k + FeatureTable::kAhead < found.row.size()) features_.expect(found.key[k + FeatureTable::kAhead]);
            const auto first = static_cast<std::size_t>(names.start[k]),
                       last = static_cast<std::size_t>(names.start[k + 1]);
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

// Finishes the rows with features that were new to their reader, now that these have columns in the stream. They are
// the last of their row, behind those with columns known before.
inline void finish_entries(ParsedRows& rows, const std::vector<std::int32_t>& new_columns, bool l2, RowOrder& order) {
    for (const std::int64_t i : rows.unfinished) {
        const std::int64_t first = rows.start[static_cast<std::size_t>(i)],
                           n = rows.start[static_cast<std::size_t>(i) + 1] - first;
        std::int32_t* columns = rows.columns.get() + first;
        double* values = rows.values.get() + first;
        std::int64_t known = n;
        for (; known > 0 && columns[known - 1] >= rows.first_new; --known)
            columns[known - 1] = new_columns[static_cast<std::size_t>(columns[known - 1] - rows.first_new)];
        order.sort_and_sum(columns + known, values + known, n - known);  // there are no equal columns any more
        order.merge(columns, values, known, n);
        if (l2) normalize(values, n);
        rows.n_columns = std::max<std::int64_t>(rows.n_columns, columns[n - 1] + 1);
    }
}

}  // namespace confidently
