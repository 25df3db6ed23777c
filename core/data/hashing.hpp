// Features by name: the column of a name, exact or by its hash.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/near_columns_avx2.hpp"
#include "data/short_word.hpp"
#include "prefetch.hpp"
#include "processor.hpp"

namespace confidently {

// MurmurHash3, 32 bits (Appleby; public domain), of a text and of longer ones that begin with it: all whole blocks are
// hashed once.
class Murmur3 {
  public:
    Murmur3(const char* text, std::uint32_t seed) : text_(text), p_(text), h_(seed) {}

    // The hash of the text up to here, which is not before the end of an earlier call.
    CONFIDENTLY_INLINE std::uint32_t upto(const char* end) {
        for (; end - p_ >= 4; p_ += 4) h_ = std::rotl(h_ ^ mixed(four_bytes(p_)), 13) * 5 + 0xe6546b64;
        const auto size = static_cast<std::size_t>(end - text_);
        std::uint32_t h =
            h_ ^ mixed(last_bytes(p_, static_cast<std::size_t>(end - p_), size)) ^ static_cast<std::uint32_t>(size);
        h = (h ^ h >> 16) * 0x85ebca6b;
        h = (h ^ h >> 13) * 0xc2b2ae35;
        return h ^ h >> 16;
    }

  private:
    static std::uint32_t mixed(std::uint32_t k) { return std::rotl(k * 0xcc9e2d51, 15) * 0x1b873593; }

    const char *text_, *p_;
    std::uint32_t h_;
};

inline std::uint32_t murmur3(std::string_view text, std::uint32_t seed) {
    return Murmur3(text.data(), seed).upto(text.data() + text.size());
}

// The common prefix of names: a feature's full name is prefix + name. The prefix is hashed once.
struct Namespace {
    std::string prefix;
    std::uint32_t seed;

    explicit Namespace(std::string text = "")
        : prefix(std::move(text)), seed(prefix.empty() ? 0 : murmur3(prefix, 0)) {}
};

// Columns of features, numbered as they appear. Hashed: names with the same low bits of their hash share a column, and
// the table keeps only those bits. Exact: every name has its own column, and the table keeps the names. Columns may be
// given others, which a stream of several readers has for them: then the next features are numbered from behind all of
// these.
class FeatureTable {
  public:
    static constexpr int kExact = -1;

    explicit FeatureTable(int bits, std::int64_t most)
        : mask_(bits == kExact ? ~0u : mask_of(bits)), exact_(bits == kExact), most_(most), slots_(64 + 1) {}

    bool exact() const { return exact_; }
    std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
    std::uint32_t key(std::int64_t column) const { return keys_[static_cast<std::size_t>(column)]; }

    // How many features were not given a column, and the first of their columns.
    std::size_t n_provisional() const { return keys_.size() - columns_.size(); }
    std::int32_t first_provisional() const { return behind_; }

    std::uint32_t mask() const { return mask_; }  // the bits of a hash that are its key
    std::uint32_t key_of(const Namespace& space, std::string_view name) const {
        return murmur3(name, space.seed) & mask_;
    }

    // Prefetches the slot of a key that is looked up soon: kAhead keys later, its memory has arrived.
    static constexpr std::size_t kAhead = 16;
    void expect(std::uint32_t key) const { prefetch(&slots_[place(key)]); }

    static constexpr std::int64_t kNearRoom = 3;  // more keys than asked for may be read, and columns written

    // The columns of features with these keys, if they are in one of their first two slots, where most are; -1 for
    // others.
    void near(const std::uint32_t* keys, std::int64_t n, std::int32_t* columns, [[maybe_unused]] Simd path) const {
        if (exact_) return void(std::fill_n(columns, n, -1));
#if CONFIDENTLY_X86
        if (path != Simd::plain)
            return near_columns_avx2(slots_.data(), n_slots() - 1, kSpread, kShift, keys, n, columns);
#endif
        for (std::int64_t k = 0; k < n; ++k) columns[k] = near(keys[k]);
    }

    // The column of the feature with this key; -1 if it is unknown.
    std::int32_t find(std::uint32_t key, const Namespace& space, std::string_view name) const {
        for (std::size_t at = place(key); slots_[at].column >= 0; at = next(at))
            if (slots_[at].key == key && (!exact_ || is_named(slots_[at].column, space.prefix, name)))
                return column_in(slots_[at]);
        return -1;
    }

    // The name of a column, if names are kept.
    std::string_view name(std::int64_t column) const {
        const auto k = static_cast<std::size_t>(column);
        return std::string_view(text_).substr(start_[k], start_[k + 1] - start_[k]);
    }

    // The column of the feature with this key, and whether it is new; -1 if there is no room for it.
    std::pair<std::int32_t, bool> column(std::uint32_t key, const Namespace& space, std::string_view name) {
        std::size_t at = place(key);
        for (; slots_[at].column >= 0; at = next(at))
            if (slots_[at].key == key && (!exact_ || is_named(slots_[at].column, space.prefix, name)))
                return {column_in(slots_[at]), false};
        return {add(at, key, space.prefix, name), true};
    }

    // Makes room for so many columns in all.
    void reserve(std::size_t n) {
        keys_.reserve(n);
        if (2 * n > n_slots()) resize(std::bit_ceil(2 * n));
    }

    // Adds a known feature, in the order of columns; its whole name counts if names are kept.
    void restore(std::uint32_t key, std::string_view name) {
        std::size_t at = place(key);
        while (slots_[at].column >= 0) at = next(at);
        add(at, key, "", name);
    }

    // Gives all features that were not given a column before these, in their order.
    void renumber(const std::vector<std::int32_t>& columns) {
        if (columns.empty()) return;
        if (!exact_)
            for (std::size_t k = 0; k < columns.size(); ++k) {
                const std::uint32_t key = keys_[columns_.size() + k];
                std::size_t at = place(key);
                while (slots_[at].key != key) at = next(at);
                slots_[at].column = columns[k];
            }
        columns_.insert(columns_.end(), columns.begin(), columns.end());
        behind_ = std::max(behind_, *std::max_element(columns.begin(), columns.end()) + 1);
    }

    // Forgets the features from the n-th on, which were not given other columns.
    void truncate(std::int64_t n) {
        while (size() > n) {
            const std::int32_t last = in_slot(keys_.size() - 1);
            std::size_t at = place(keys_.back());
            while (slots_[at].column != last) at = next(at);
            slots_[at].column = -1;  // later columns are gone already, so no search has to pass this slot
            keys_.pop_back();
            if (exact_) {
                text_.resize(start_[start_.size() - 2]);
                start_.pop_back();
            }
        }
    }

  private:
    static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
    static constexpr int kShift = 20;

    struct Slot {
        std::uint32_t key = 0;
        std::int32_t column = -1;
    };
    static_assert(sizeof(Slot) == 8);

    // The same of one, without a branch, because which slot it is cannot be predicted.
    std::int32_t near(std::uint32_t key) const {
        const std::size_t at = place(key);
        const Slot &first = slots_[at], &second = slots_[next(at)];
        const std::int32_t column = second.key == key ? second.column : -1;
        return first.key == key ? first.column : column;
    }

    std::size_t n_slots() const { return slots_.size() - 1; }

    // The column of the k-th feature.
    std::int32_t column_of_number(std::size_t k) const {
        return k < columns_.size() ? columns_[k] : behind_ + static_cast<std::int32_t>(k - columns_.size());
    }

    // What is in its slot: its column, or the number by which its name is found.
    std::int32_t in_slot(std::size_t k) const { return exact_ ? static_cast<std::int32_t>(k) : column_of_number(k); }

    std::int32_t column_in(const Slot& slot) const {
        return exact_ ? column_of_number(static_cast<std::size_t>(slot.column)) : slot.column;
    }

    static std::uint32_t mask_of(int bits) { return static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1); }

    // Spreads the low bits of a hash again: they may be all that is left of it.
    std::size_t place(std::uint32_t key) const {
        return static_cast<std::size_t>(key * kSpread >> kShift) & (n_slots() - 1);
    }

    std::size_t next(std::size_t at) const { return (at + 1) & (n_slots() - 1); }

    bool is_named(std::int32_t column, std::string_view prefix, std::string_view name) const {
        const std::string_view whole = this->name(column);
        return whole.size() == prefix.size() + name.size() && whole.ends_with(name) && whole.starts_with(prefix);
    }

    std::int32_t add(std::size_t at, std::uint32_t key, std::string_view prefix, std::string_view name) {
        if (size() >= most_) return -1;
        const std::int32_t column = column_of_number(keys_.size());
        slots_[at] = {key, in_slot(keys_.size())};
        keys_.push_back(key);
        if (exact_) {
            text_.append(prefix).append(name);
            start_.push_back(text_.size());
        }
        if (keys_.size() * 2 > n_slots()) resize(n_slots() * 2);
        return column;
    }

    void resize(std::size_t n) {
        slots_.assign(n + 1, {});
        for (std::size_t k = 0; k < keys_.size(); ++k) {
            if (k + kAhead < keys_.size()) expect(keys_[k + kAhead]);
            std::size_t at = place(keys_[k]);
            while (slots_[at].column >= 0) at = next(at);
            slots_[at] = {keys_[k], in_slot(k)};
        }
    }

    std::uint32_t mask_;
    bool exact_;
    std::int64_t most_;
    std::vector<Slot> slots_;            // open addressing, linear probing, at most half full; one more is empty
    std::vector<std::uint32_t> keys_;    // by number of the feature, which is its column unless it was given another
    std::vector<std::int32_t> columns_;  // those that were given
    std::int32_t behind_ = 0;            // the first column behind them
    std::string text_;                   // exact: all names, concatenated
    std::vector<std::size_t> start_{0};
};

}  // namespace confidently
