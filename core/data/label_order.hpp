// How often the labels of consecutive rows differ, which shows whether rows are sorted by label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace confidently {

struct LabelOrder {
    std::int64_t rows = 0, changes = 0;
    std::vector<std::int64_t> counts;  // of each label

    // Adds the labels, numbers from 0, of the next rows.
    void add(const std::int32_t* labels, std::size_t n) {
        if (n == 0) return;
        const auto most = static_cast<std::size_t>(*std::max_element(labels, labels + n));
        if (most >= counts.size()) counts.resize(most + 1);
        for (std::size_t i = 0; i < n; ++i) {
            changes += labels[i] != last_ && rows + static_cast<std::int64_t>(i) > 0;
            last_ = labels[i];
            ++counts[static_cast<std::size_t>(last_)];
        }
        rows += static_cast<std::int64_t>(n);
    }

  private:
    std::int32_t last_ = 0;
};

// Whether all labels are numbers from 0 to n_classes - 1.
inline bool are_within(const std::int32_t* labels, std::size_t n, std::int64_t n_classes) {
    std::uint32_t largest = 0;  // a negative label is larger than every class
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<std::uint32_t>(labels[i]));
    return n == 0 || largest < n_classes;
}

}  // namespace confidently
