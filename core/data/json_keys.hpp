// The keys of JSON rows: the use of each, found by its path once and remembered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/cells.hpp"
#include "data/dates.hpp"
#include "data/hashing.hpp"
#include "data/number_formats.hpp"
#include "data/rows_out.hpp"

namespace confidently::json {

// Keys by path: "a.b" is the key b of the object at a.
struct KeyOptions {
    std::string label, weight;  // "": none
    std::vector<std::string> drop, category, text, keep;
    std::vector<std::string> only;  // keys that are read, with those below them; empty: all
    std::vector<std::string> dates;
    std::string date_format;              // "": ISO 8601
    std::vector<std::string> units;       // keys of numbers in strings, with units,
    std::vector<std::string> unit_names;  // and their units, if they are known
    NumberFormat numbers;                 // of those
    std::vector<std::string> cells;  // keys of the columns of numbers of a table, whose strings are read as its cells,
    std::vector<std::string> mixed;  // those of them in which numbers in other forms are categories,
    NumberFormat of_cells;           // and the form of their numbers
};

enum class Role { feature, category, text, date, number, label, weight, drop };

struct Key {
    std::string path;
    std::string_view name;  // the last part of the path
    Role role;
    bool opaque;                            // dropped, and no key below has a use
    std::ptrdiff_t keep = -1;               // its position among the kept strings
    std::uint64_t object = 0;               // the last object that had it
    Key *first = nullptr, *next = nullptr;  // the first key of the last object here, and the key that followed this one
    std::vector<Key*> elements;             // of a list here, by position
    std::unique_ptr<Namespace> names;       // of its categories, or of its n-grams
    std::unique_ptr<DateFeatures> dates;    // of Role::date
    std::string unit;                       // of Role::number, once it is known
    std::unique_ptr<CellColumn> cell;       // of a key whose strings are cells

    const Namespace& space() {
        if (!names) names = std::make_unique<Namespace>(path + (role == Role::text ? ':' : '='));
        return *names;
    }
};

class Keys {
  public:
    explicit Keys(KeyOptions options) : options_(std::move(options)) { forget(); }

    Key& root() { return keys_.front(); }

    // Called between rows: keys that differ from row to row must not fill the memory.
    void begin_row() {
        if (keys_.size() > kMaxRemembered) forget();
    }

    // The key of an object at parent. at: its position in the text, for messages.
    Key& child(Key& parent, std::string_view name, const char* at) {
        if (const auto found = children_.find({&parent, name}); found != children_.end()) return *found->second;
        Key& key = add(parent, name, at);
        children_.emplace(Child{&parent, key.name}, &key);
        return key;
    }

    // The key of an element of the list at parent.
    Key& element(Key& parent, std::size_t place, const char* at) {
        while (parent.elements.size() <= place) {
            Key& key = add(parent, std::to_string(parent.elements.size()), at);
            parent.elements.push_back(&key);
        }
        return *parent.elements[place];
    }

  private:
    static bool is_among(const std::vector<std::string>& names, const std::string& path) {
        return std::find(names.begin(), names.end(), path) != names.end();
    }

    static constexpr std::size_t kMaxRemembered = std::size_t(1) << 17;
    static constexpr std::size_t kMaxKeysPerRow = std::size_t(1) << 20;
    static constexpr std::size_t kMaxPathBytes = 1024;

    struct Child {
        const Key* parent;
        std::string_view name;
        bool operator==(const Child&) const = default;
    };
    struct ChildHash {
        std::size_t operator()(const Child& c) const {
            return std::hash<std::string_view>()(c.name) ^ std::hash<const Key*>()(c.parent) * 0x9e3779b97f4a7c15u;
        }
    };

    void forget() {
        children_.clear();
        keys_.clear();
        keys_.emplace_back();
        keys_.front().role = Role::feature;
        keys_.front().opaque = false;
    }

    Key& add(const Key& parent, std::string_view name, const char* at) {
        const std::string prefix = &parent == &keys_.front() ? "" : parent.path + '.';
        if (prefix.size() + name.size() > kMaxPathBytes)
            throw RowError{
                at, "the key is longer than " + std::to_string(kMaxPathBytes) + " bytes, including the keys around it"};
        if (keys_.size() > kMaxRemembered + kMaxKeysPerRow)
            throw RowError{at, "the row has more than " + std::to_string(kMaxKeysPerRow) + " keys and list elements"};
        Key& key = keys_.emplace_back();
        key.path = prefix;
        key.path += name;
        key.name = std::string_view(key.path).substr(prefix.size());
        key.role = role_of(key.path, parent.role);
        key.opaque = key.role == Role::drop && !asked_below(key.path + '.');
        if (const auto kept = std::find(options_.keep.begin(), options_.keep.end(), key.path);
            kept != options_.keep.end())
            key.keep = kept - options_.keep.begin();
        if (key.role == Role::date)
            key.dates = std::make_unique<DateFeatures>(key.path, parts_of(key.path), options_.date_format);
        const auto unit = std::find(options_.units.begin(), options_.units.end(), key.path) - options_.units.begin();
        if (unit < std::ssize(options_.unit_names))
            key.unit = options_.unit_names[static_cast<std::size_t>(unit)];
        else if (key.role == Role::number)
            key.unit = parent.unit;
        if (key.role == Role::feature && is_among(options_.cells, key.path)) {
            NumberFormat numbers = options_.of_cells;
            numbers.strict = !is_among(options_.mixed, key.path);
            key.cell = std::make_unique<CellColumn>(
                ColumnUse{.name = key.path, .use = Use::number, .kept = {}, .numbers = numbers});
        }
        return key;
    }

    // The features of a key of dates may be named as if they were keys below it.
    DateFeatures::PartUses parts_of(const std::string& path) const {
        DateFeatures::PartUses uses;
        for (std::size_t k = 0; k < uses.size(); ++k) {
            const Role role = role_of(path + DateFeatures::kNames[k], Role::feature);
            uses[k] = role == Role::drop       ? DateFeatures::PartUse::none
                      : role == Role::category ? DateFeatures::PartUse::category
                                               : DateFeatures::PartUse::number;
        }
        return uses;
    }

    // A key without a use of its own has that of the key around it.
    Role role_of(const std::string& path, Role around) const {
        const auto is_in = [&](const std::vector<std::string>& paths) {
            return std::find(paths.begin(), paths.end(), path) != paths.end();
        };
        if (path == options_.label) return Role::label;
        if (!options_.weight.empty() && path == options_.weight) return Role::weight;
        const bool has_dates = is_in(options_.dates);
        if (is_in(options_.drop) || !(is_wanted(path) || (has_dates && is_part_wanted(path)))) return Role::drop;
        if (is_in(options_.text)) return Role::text;
        if (is_in(options_.category)) return Role::category;
        if (has_dates) return Role::date;
        if (is_in(options_.units)) return Role::number;
        return is_in(options_.only) ? Role::feature : around;
    }

    bool is_wanted(const std::string& path) const {
        const auto has = [&](const std::string& key) {
            return path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.');
        };
        return options_.only.empty() || std::any_of(options_.only.begin(), options_.only.end(), has);
    }

    bool is_part_wanted(const std::string& path) const {
        return std::any_of(std::begin(DateFeatures::kNames), std::end(DateFeatures::kNames),
                           [&](const char* part) { return is_wanted(path + part); });
    }

    bool asked_below(const std::string& prefix) const {
        const auto is_below = [&](const std::string& path) { return path.starts_with(prefix); };
        const auto any = [&](const std::vector<std::string>& paths) {
            return std::any_of(paths.begin(), paths.end(), is_below);
        };
        return is_below(options_.label) || is_below(options_.weight) || any(options_.category) || any(options_.text) ||
               any(options_.units) || any(options_.keep) || any(options_.only);
    }

    KeyOptions options_;
    std::deque<Key> keys_;  // which do not move
    std::unordered_map<Child, Key*, ChildHash> children_;
};

}  // namespace confidently::json
