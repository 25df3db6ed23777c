// The output of readers: CSR rows, labels, weights, and the labels and features that are new in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/label_table.hpp"
#include "memory_pool.hpp"
#include "rows.hpp"

namespace confidently {

// Concatenated strings.
struct Strings {
    std::string text;
    std::vector<std::int64_t> start{0};

    std::size_t size() const { return start.size() - 1; }
    void add(std::string_view prefix, std::string_view s) {
        text.append(prefix).append(s);
        start.push_back(static_cast<std::int64_t>(text.size()));
    }
    void truncate(std::size_t n) {
        start.resize(n + 1);
        text.resize(static_cast<std::size_t>(start[n]));
    }
};

// A label at its first appearance.
struct NewLabel {
    Label label;
    std::int64_t row, line;  // row: within its batch
};

// Features at their first appearance; they take the next columns.
struct NewFeatures {
    std::vector<std::int64_t> row;
    std::vector<std::uint32_t> key;
    Strings names;

    void add(std::int64_t its_row, std::uint32_t its_key, std::string_view prefix, std::string_view name) {
        row.push_back(its_row);
        key.push_back(its_key);
        names.add(prefix, name);
    }
};

// A skipped row, and why.
struct Skipped {
    std::int64_t line;
    std::string what;
};

// A cell that is a category in a column of numbers or dates.
struct OddCell {
    std::string column, text;
    std::int64_t row, *batch;  // batch: of the last such cell of the column
};

struct ParsedRows {
    std::shared_ptr<MemoryPool> pool;  // of values and columns
    Buffer<double> values;
    Buffer<std::int32_t> columns;
    std::int64_t size = 0, capacity = 0, n_columns = 0, first_line = 0;
    std::vector<std::int64_t> start{0}, label_start{0};
    std::vector<std::int32_t> labels;
    std::vector<double> targets;  // instead of labels, which are then all 0
    std::vector<double> weights;  // empty: all 1
    std::vector<NewLabel> new_labels;
    NewFeatures new_features;
    std::int64_t first_new = 0;            // of several readers: the first column that is not the stream's,
    std::vector<std::int64_t> unfinished;  // and the rows with such columns
    std::vector<Strings> kept;             // for each of the kept strings, one per row
    std::int64_t multilabel_row = -1, multilabel_line = -1;  // the first row without exactly one label
    std::int64_t n_skipped = 0;
    std::vector<Skipped> skipped;  // the first of them
    std::vector<OddCell> odd;      // the first one of some columns

    std::int64_t n_rows() const { return static_cast<std::int64_t>(start.size()) - 1; }

    // Makes room for so many more entries at once.
    void room(std::int64_t more) {
        if (size + more <= capacity) return;
        capacity = std::max(size + more, 2 * capacity);
        values = widened(values.get());
        columns = widened(columns.get());
    }

    CONFIDENTLY_INLINE void add(std::int32_t column, double value) {
        if (size == capacity) [[unlikely]]
            room(1);
        columns[size] = column;
        values[size++] = value;
    }

  private:
    template <class T>
    Buffer<T> widened(const T* old) const {
        Buffer<T> wider(pool, static_cast<std::size_t>(capacity));
        std::copy_n(old, size, wider.get());
        return wider;
    }
};

}  // namespace confidently
