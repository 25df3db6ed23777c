// The rows of a stream, concatenated from its batches, and what must hold for every batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/rows_out.hpp"

namespace fuzz {

using namespace confidently;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                      \
        }                                                                                      \
    } while (false)

struct Rows {
    std::vector<double> values, weights, targets;
    std::vector<std::int32_t> columns, labels;
    std::vector<std::int64_t> start{0}, label_start{0}, new_label_row, new_feature_row;
    std::vector<std::uint32_t> keys;
    std::string names, label_names;
    std::vector<std::string> kept;
    std::int64_t n_skipped = 0, n_columns = 0;
    std::string error;

    bool operator==(const Rows&) const = default;
};

inline void check_features(const ParsedRows& rows) {
    std::int64_t widest = 0;
    for (std::size_t r = 0; r + 1 < rows.start.size(); ++r) {
        CHECK(rows.start[r] <= rows.start[r + 1]);
        for (std::int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k) {
            CHECK(std::isfinite(rows.values[k]));
            CHECK(rows.columns[k] >= 0 && (k == rows.start[r] || rows.columns[k - 1] < rows.columns[k]));
            widest = std::max<std::int64_t>(widest, rows.columns[k] + 1);
        }
    }
    CHECK(widest == rows.n_columns);
    CHECK(rows.new_features.row.size() == rows.new_features.key.size());
    CHECK(rows.new_features.row.size() == rows.new_features.names.size());
    std::int64_t before = 0;
    for (const std::int64_t row : rows.new_features.row) {
        CHECK(before <= row && row < rows.n_rows());
        before = row;
    }
}

inline void check_labels(const ParsedRows& rows, LabelCount count) {
    CHECK(rows.label_start.size() == rows.start.size());
    CHECK(rows.label_start.back() == static_cast<std::int64_t>(rows.labels.size()));
    for (std::size_t r = 0; r + 1 < rows.start.size(); ++r) {
        const auto n_labels = rows.label_start[r + 1] - rows.label_start[r];
        CHECK(n_labels >= 0);
        CHECK(!is_single(count) || n_labels == 1);
        CHECK(count != LabelCount::ignored || n_labels == 0);
        CHECK(count != LabelCount::any || n_labels == 1 ||
              (0 <= rows.multilabel_row && rows.multilabel_row <= static_cast<std::int64_t>(r)));
    }
    CHECK(static_cast<std::int64_t>(rows.targets.size()) == (count == LabelCount::target ? rows.n_rows() : 0));
    for (const double y : rows.targets) CHECK(std::fabs(y) <= kMaxTarget);
    CHECK(count != LabelCount::target || rows.new_labels.empty());
    std::int64_t before = 0;
    for (const NewLabel& label : rows.new_labels) {
        CHECK(before <= label.row && label.row < rows.n_rows() && !label.label.text.empty());
        before = label.row;
    }
}

inline void check(const ParsedRows& rows, const ReaderOptions& options) {
    CHECK(rows.start.front() == 0 && rows.start.back() == rows.size);
    CHECK(rows.weights.empty() || static_cast<std::int64_t>(rows.weights.size()) == rows.n_rows());
    CHECK(rows.kept.size() == options.n_kept);
    for (const Strings& column : rows.kept) CHECK(static_cast<std::int64_t>(column.size()) == rows.n_rows());
    for (const double w : rows.weights) CHECK(w >= 0.0 && w <= 1e9);
    CHECK(rows.n_skipped == 0 || options.skip_errors);
    check_labels(rows, options.labels);
    check_features(rows);
}

inline void append(Rows& all, const ParsedRows& rows) {
    const std::int64_t first = static_cast<std::int64_t>(all.start.size()) - 1;
    all.values.insert(all.values.end(), rows.values.get(), rows.values.get() + rows.size);
    all.columns.insert(all.columns.end(), rows.columns.get(), rows.columns.get() + rows.size);
    all.targets.insert(all.targets.end(), rows.targets.begin(), rows.targets.end());
    const std::int64_t size = all.start.back(), n_labels = all.label_start.back();
    for (std::size_t i = 1; i < rows.start.size(); ++i) {
        all.start.push_back(size + rows.start[i]);
        all.label_start.push_back(n_labels + rows.label_start[i]);
        all.weights.push_back(rows.weights.empty() ? 1.0 : rows.weights[i - 1]);
    }
    all.labels.insert(all.labels.end(), rows.labels.begin(), rows.labels.end());
    for (const NewLabel& label : rows.new_labels) {
        all.new_label_row.push_back(first + label.row);
        all.label_names += label.label.text + (label.label.number ? "\n#" : "\n");
    }
    for (const std::int64_t row : rows.new_features.row) all.new_feature_row.push_back(first + row);
    all.keys.insert(all.keys.end(), rows.new_features.key.begin(), rows.new_features.key.end());
    all.names += rows.new_features.names.text;
    all.kept.resize(rows.kept.size());
    for (std::size_t k = 0; k < rows.kept.size(); ++k) all.kept[k] += rows.kept[k].text;
    all.n_skipped += rows.n_skipped;
    all.n_columns = std::max(all.n_columns, rows.n_columns);
}

}  // namespace fuzz
