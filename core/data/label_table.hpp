// The labels of a text file: one spelling each, numbered by first appearance.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/decimal.hpp"
#include "data/short_word.hpp"
#include "data/utf8.hpp"

namespace confidently {

inline constexpr std::size_t kMaxLabelBytes = 256;
inline constexpr double kLargestWrittenReal = 9007199254740992.0;  // 2^53: above it doubles do not distinguish integers

struct Label {
    std::string text;
    bool number;
};

// "nan", "-inf", "Infinity": never the name of a class
inline bool is_not_finite(std::string_view token) {
    if (token.front() == '-' || token.front() == '+') token.remove_prefix(1);
    std::string lower(token);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return lower == "nan" || lower == "inf" || lower == "infinity";
}

// [sign] digits, written without a plus or leading zeros
inline std::string plain_integer(std::string_view token) {
    const bool negative = token.front() == '-';
    token.remove_prefix(negative || token.front() == '+');
    token.remove_prefix(std::min(token.find_first_not_of('0'), token.size() - 1));
    std::string plain(negative && token != "0" ? "-" : "");
    return plain += token;
}

// The canonical spelling of a label: +1, 01, 1.0 and 1e0 are the integer 1, strings stay as they are. Throws
// std::invalid_argument for an invalid label. The byte behind the token must not continue a number.
inline Label canonical_label(std::string_view token) {
    if (token.empty()) throw std::invalid_argument("has an empty label between commas");
    if (token.size() > kMaxLabelBytes) throw std::invalid_argument("is longer than 256 bytes");
    for (const char c : token)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
            throw std::invalid_argument("has control characters, which labels must not have; is the file binary?");
    if (!is_utf8(token)) throw std::invalid_argument("is not UTF-8 text");
    double value = 0.0;
    if (read_decimal(token.data(), value) != token.data() + token.size()) {
        if (is_not_finite(token)) throw std::invalid_argument("is not a class");
        return {std::string(token), false};
    }
    if (token.find_first_of(".eE") == std::string_view::npos) return {plain_integer(token), true};
    if (std::floor(value) != value || std::fabs(value) > kLargestWrittenReal)
        throw std::invalid_argument(
            "is not a class: labels are integers or strings; for numbers use --regression, in Python targets=True");
    return {std::to_string(static_cast<std::int64_t>(value)), true};
}

class LabelTable {
  public:
    // The allowed labels; empty: any.
    explicit LabelTable(const std::vector<std::string>& allowed = {}) : allowed_(allowed.begin(), allowed.end()) {
        for (const std::string& name : allowed) listed_ += (listed_.empty() ? "" : ", ") + name;
    }

    // The label's number and whether it is new. Throws std::invalid_argument for an invalid label.
    std::pair<std::int32_t, bool> number_of(std::string_view token) {
        if (const auto at = ids_.find(token); at != ids_.end()) return {at->second, false};
        Label label = canonical_label(token);
        if (!allowed_.empty() && !allowed_.contains(label.text))
            throw std::invalid_argument("is not one of the classes (" + listed_ + ")");
        const auto [at, added] = ids_.try_emplace(label.text, static_cast<std::int32_t>(labels_.size()));
        const std::int32_t number = at->second;
        if (ids_.size() < labels_.size() + kMaxSpellings) ids_.try_emplace(std::string(token), number);
        if (added) labels_.push_back(std::move(label));
        return {number, added};
    }

    // The same for a label that is known as it is written; -1 for others.
    std::int32_t known(std::string_view token) {
        if (token.empty() || token.size() > sizeof(std::uint64_t)) return looked_up(token);
        const std::uint64_t word = short_word(token);
        Recent& recent = recent_[word * 0x9e3779b97f4a7c15u >> 60];
        if (recent.word != word || recent.size != token.size()) {
            const std::int32_t number = looked_up(token);
            if (number < 0) return number;
            recent = {word, token.size(), number};
        }
        return recent.number;
    }

    std::size_t size() const { return labels_.size(); }
    const Label& label(std::int32_t number) const { return labels_[static_cast<std::size_t>(number)]; }

    void forget_last() {
        recent_.fill({});
        labels_.pop_back();
        std::erase_if(ids_, [&](const auto& id) { return id.second == static_cast<std::int32_t>(labels_.size()); });
    }

  private:
    static constexpr std::size_t kMaxSpellings = 1024;  // of which a stream may have any number

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
    };
    struct Recent {
        std::uint64_t word = 0;
        std::size_t size = 0;
        std::int32_t number = -1;
    };

    std::int32_t looked_up(std::string_view token) const {
        const auto at = ids_.find(token);
        return at == ids_.end() ? -1 : at->second;
    }

    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>
        ids_;                          // of every label, and of other spellings
    std::array<Recent, 16> recent_{};  // short spellings that were looked up
    std::vector<Label> labels_;        // by number
    std::unordered_set<std::string> allowed_;
    std::string listed_;
};

}  // namespace confidently
