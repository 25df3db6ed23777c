// Vowpal Wabbit's text:
//
//   line      = [label [importance [base]]] ['tag | tag] {|[namespace[:scale]] {space feature}}
//   feature   = name | name:value | :value | name:word
//   label     = one, or several separated by commas; a word that touches the first bar is a tag, not a label
//
// The k-th :value of a namespace, from 0, is the feature named k; name:word is a feature with that whole name and the
// value 1. A base must be 0. Blank lines are skipped. Full names are namespace^name, or just the name. Namespaces that
// are left out are not read.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/decimal.hpp"
#include "data/tokens.hpp"

namespace confidently {

// The bytes that end a name.
struct VwEnds {
    bool of[256]{};

    constexpr VwEnds() {
        for (const char c : {' ', '\t', '\r', '\n', '|', ':'}) of[static_cast<unsigned char>(c)] = true;
    }
};
inline constexpr VwEnds kVwEnds;

// The namespaces to read; "" is the one without a name.
struct VwChoice {
    std::vector<std::string> drop, only;  // only: empty: all

    bool reads(std::string_view name) const {
        const auto is_in = [&](const std::vector<std::string>& names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        return !is_in(drop) && (only.empty() || is_in(only));
    }
};

struct VwNamespace {
    Namespace space;
    bool read;
};

// Namespaces by name, each hashed once. Most rows have the same ones in the same order, so that order is tried first.
class VwNamespaces {
  public:
    explicit VwNamespaces(VwChoice choice) : choice_(std::move(choice)) {}

    void begin_row() { place_ = 0; }

    const VwNamespace& named(std::string_view name) {
        const std::size_t place = place_++;
        if (place < usual_.size() && is_named(*usual_[place], name)) return *usual_[place];
        const VwNamespace& found = looked_up(name);
        if (place < usual_.size())
            usual_[place] = &found;
        else if (place == usual_.size() && place < kMaxNamespaces)
            usual_.push_back(&found);
        return found;
    }

  private:
    static constexpr std::size_t kMaxNamespaces = 4096;  // a stream may have any number of them

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
    };

    static bool is_named(const VwNamespace& found, std::string_view name) {
        return found.space.prefix.size() == name.size() + 1 && found.space.prefix.starts_with(name);
    }

    const VwNamespace& looked_up(std::string_view name) {
        if (const auto at = spaces_.find(name); at != spaces_.end()) return at->second;
        if (spaces_.size() >= kMaxNamespaces) {
            usual_.clear();
            spaces_.clear();
        }
        VwNamespace made{Namespace(std::string(name) + "^"), choice_.reads(name)};
        return spaces_.try_emplace(std::string(name), std::move(made)).first->second;
    }

    VwChoice choice_;
    std::unordered_map<std::string, VwNamespace, Hash, std::equal_to<>> spaces_;
    std::vector<const VwNamespace*> usual_;  // by position in the row
    std::size_t place_ = 0;
};

class VwFormat {
  public:
    static constexpr bool utf8 = true;

    // keep_tag: keep tags, as the first of the kept strings
    VwFormat(bool keep_tag, const VwChoice& choice)
        : keep_tag_(keep_tag), default_{Namespace(), choice.reads("")}, spaces_(choice) {}

    const char* parse_line(const char* p, const char* end, std::int64_t line, RowWriter& rows) {
        const char* first = skip_spaces(p);
        if (*first == '\n') return first;
        rows.begin_row(line);
        spaces_.begin_row();
        const char* bar = first;
        while (*bar != '|' && *bar != '\n') ++bar;
        if (*bar == '\n') fail(token_at(first), "row", "has no | before its features");
        parse_head(first, bar, rows);
        for (p = bar; *p == '|';) p = parse_namespace(p + 1, end, rows);
        rows.end_row();
        return p;
    }

  private:
    static bool ends_name(char c) { return kVwEnds.of[static_cast<unsigned char>(c)]; }
    static bool ends_feature(char c) { return ends_token(c) || c == '|'; }

    static std::string_view feature_at(const char* p) {
        const char* end = p;
        while (!ends_feature(*end)) ++end;
        return between(p, end);
    }

    // Reads what comes before the first bar.
    void parse_head(const char* p, const char* bar, RowWriter& rows) const {
        constexpr std::size_t max_words = 3;
        std::array<std::string_view, max_words> words;
        std::size_t n_words = 0;
        for (p = skip_spaces(p); p != bar; p = skip_spaces(p)) {
            const std::string_view word = feature_at(p);
            p += word.size();
            const bool marked = word.front() == '\'';
            if (p == bar || (marked && skip_spaces(p) == bar)) {
                if (keep_tag_) rows.keep(0, word.substr(marked));
            } else if (rows.options.labels != LabelCount::ignored) {
                if (marked) fail(word, "tag", "is not the last word before the |");
                if (n_words == max_words)
                    fail(word, "word", "is one too many; expected at most label, importance, base and tag");
                words[n_words++] = word;
            }
        }
        if (n_words > 0) parse_labels(words[0], rows);
        if (n_words > 1) rows.weight(words[1], words[1]);
        if (n_words > 2) check_base(words[2]);
    }

    static void parse_labels(std::string_view word, RowWriter& rows) {
        if (word.find(':') != std::string_view::npos)
            fail(word, "label",
                 "has a colon: costs and actions (cost-sensitive, contextual bandit) are not supported; "
                 "a label is an integer or a string, or several separated by commas");
        read_labels(word, rows);
    }

    static void check_base(std::string_view word) {
        double base = 1.0;
        if (read_decimal(word.data(), base) != word.data() + word.size() || base != 0.0)
            fail(word, "base", "is not 0; learning cannot start from given predictions");
    }

    const char* parse_namespace(const char* p, const char* last, RowWriter& rows) {
        if (ends_feature(*p))
            return default_.read ? parse_features(p, last, default_.space, 1.0, rows) : end_of_namespace(p);
        const char* end = p;
        while (!ends_name(*end)) ++end;
        if (end == p) fail(feature_at(p), "namespace", "has no name before the colon");
        const std::string_view space = between(p, end);
        const VwNamespace& found = spaces_.named(space);
        if (!found.read) return end_of_namespace(end);
        double scale = 1.0;
        if (*end == ':') end = parse_scale(p, end + 1, scale, rows);
        return parse_features(end, last, found.space, scale, rows);
    }

    static const char* end_of_namespace(const char* p) {
        while (*p != '|' && *p != '\n') ++p;
        return p;
    }

    static const char* parse_scale(const char* space, const char* text, double& scale, const RowWriter& rows) {
        const char* end = read_decimal(text, scale);
        if (end && ends_feature(*end) && std::fabs(scale) <= rows.options.largest) return end;
        const std::string_view token = feature_at(space);
        check_value(token, between(text, token.data() + token.size()), rows, "namespace");
        return token.data() + token.size();
    }

    const char* parse_features(const char* p, const char* last, const Namespace& space, double scale, RowWriter& rows) {
        std::uint64_t n_unnamed = 0;
        for (p = skip_spaces(p); *p != '|' && *p != '\n'; p = skip_spaces(p)) {
            const char* end = p;
            while (!ends_name(*end)) ++end;
            std::string_view name = between(p, end);
            double value = 1.0;
            if (*end == ':') {
                const char* text = end + 1;
                end = last - text > kShortDecimal ? read_short_decimal(text, value) : nullptr;
                if (!end || !ends_feature(*end)) end = parse_value(p, text, value, name, rows);
                if (name.empty()) name = number_name(n_unnamed++, rows);
            }
            value *= scale;
            if (!(std::fabs(value) <= rows.options.largest)) rows.check(value, between(p, end));
            if (value != 0.0) rows.add_one_of_many(space, name, value);
            p = end;
        }
        return p;
    }

    // Reads the value of the feature at p; returns its end. If the value is a word, the whole token is the name.
    static const char* parse_value(const char* p, const char* text, double& value, std::string_view& name,
                                   const RowWriter& rows) {
        const char* end = read_decimal(text, value);
        if (end && ends_feature(*end)) return end;
        name = feature_at(p);
        end = name.data() + name.size();
        const bool numeric =
            text == end || is_digit(*text) || std::string_view("+-.:").find(*text) != std::string_view::npos;
        if (numeric || is_not_finite(between(text, end))) check_value(name, between(text, end), rows, "feature");
        value = 1.0;
        return end;
    }

    std::string_view number_name(std::uint64_t number, RowWriter& rows) {
        rows.flush();  // the last such name is no longer needed
        return between(digits_.data(), std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr);
    }

    bool keep_tag_;
    const VwNamespace default_;
    VwNamespaces spaces_;
    std::array<char, 20> digits_;
};

}  // namespace confidently
