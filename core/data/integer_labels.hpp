// The distinct numbers among labels that are integers in a small range, and the position among them of every label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace confidently {

struct IntegerLabels {
    std::vector<std::int64_t> distinct;  // ascending
    std::vector<std::int32_t> position;  // of each label among them
};

// Nothing if the labels are so far apart that a table of all integers between them would be larger than they are.
inline std::optional<IntegerLabels> integer_labels(const std::int64_t* labels, std::size_t n) {
    constexpr std::uint64_t kSmall = 1024;  // entries of a table that costs nothing
    IntegerLabels found;
    if (n == 0) return found;
    std::int64_t low = labels[0], high = labels[0];
    for (std::size_t i = 0; i < n; ++i) low = std::min(low, labels[i]), high = std::max(high, labels[i]);
    const std::uint64_t extent = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (extent >= std::max(static_cast<std::uint64_t>(n), kSmall)) return std::nullopt;
    const auto place = [low](std::int64_t label) { return static_cast<std::size_t>(label - low); };
    std::vector<std::int32_t> position(static_cast<std::size_t>(extent) + 1);
    for (std::size_t i = 0; i < n; ++i) position[place(labels[i])] = 1;
    for (std::size_t k = 0; k < position.size(); ++k) {
        if (!position[k]) continue;
        position[k] = static_cast<std::int32_t>(found.distinct.size());
        found.distinct.push_back(low + static_cast<std::int64_t>(k));
    }
    found.position.resize(n);
    for (std::size_t i = 0; i < n; ++i) found.position[i] = position[place(labels[i])];
    return found;
}

}  // namespace confidently
