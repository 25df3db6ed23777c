// Columns of the names that streams of dicts repeat.
//
// Python keeps the hash of a string in the string, and a dict has had it computed for each of its keys. So a name is
// found by that hash, without reading or hashing its text again, and then compared with the name that has this place;
// it need not be the same object as before. Short names are kept in the entry itself, so that a name costs one cache
// line besides its own; longer ones lie one behind the other in a text of their own. No Python object is kept alive. A
// name has one of two neighboring places; a third one with these places displaces the first. Names longer than kLongest
// bytes, keys that are no plain strings, and names that the caller does not have remembered are looked up elsewhere.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "data/hashing.hpp"

namespace confidently::python {

class NameMemo {
  public:
    // The column of a name, a plain string that is a key of a dict; -1: it is not remembered.
    std::int32_t find(PyObject* name) const {
        const Py_hash_t hash = hash_of(name);
        const Pair& pair = pairs_[static_cast<std::size_t>(hash) & mask_];
        const Entry& entry = pair.entries[pair.entries[0].hash != hash];
        return entry.hash == hash && is(entry, name) ? entry.column : -1;
    }

    // Prefetches what find() reads.
    void expect(PyObject* name) const { prefetch(&pairs_[static_cast<std::size_t>(hash_of(name)) & mask_]); }

    void remember(PyObject* name, std::int32_t column) {
        const Py_hash_t hash = hash_of(name);
        const std::size_t size = size_of(name);
        if (hash == kNoHash || size > kLongest) return;
        if (text_.size() > kMostText) forget();
        if (used_ > pairs_.size() && pairs_.size() < kMost) grow();
        Entry entry{hash, column, tag(name), {}};
        const char* text = static_cast<const char*>(PyUnicode_DATA(name));
        if (size <= kShort) {
            std::memcpy(entry.text, text, size);
        } else {
            const std::uint64_t start = text_.size();
            std::memcpy(entry.text, &start, sizeof start);
            text_.append(text, size);
        }
        put(entry);
        columns_ = std::max(columns_, column + 1);
    }

    // Forgets the columns from n on, and maybe others.
    void forget(std::int64_t n = 0) {
        if (columns_ <= n) return;
        pairs_.assign(pairs_.size(), {});
        text_.clear();
        used_ = 0;
        columns_ = 0;
    }

    // Of a plain string that is a key of a dict, which has made sure that it is known.
    static Py_hash_t hash_of(PyObject* name) { return reinterpret_cast<PyASCIIObject*>(name)->hash; }

  private:
    static constexpr std::size_t kLeast = 1 << 8, kMost = 1 << 16;  // pairs, of 64 bytes
    static constexpr std::size_t kMostText = 4 << 20, kLongest = 256, kShort = 16;
    static constexpr Py_hash_t kNoHash = -1;  // no string has it

    struct Entry {
        Py_hash_t hash = kNoHash;
        std::int32_t column = -1;
        std::uint32_t tag = 0;   // length and bytes per character
        char text[kShort] = {};  // of a longer name: where it starts in text_
    };
    struct alignas(64) Pair {  // a cache line
        Entry entries[2];
    };

    static std::size_t size_of(PyObject* name) {
        return static_cast<std::size_t>(PyUnicode_GET_LENGTH(name)) * PyUnicode_KIND(name);
    }
    static std::uint32_t tag(PyObject* name) {
        return static_cast<std::uint32_t>(PyUnicode_GET_LENGTH(name)) << 3 | PyUnicode_KIND(name);
    }

    bool is(const Entry& entry, PyObject* name) const {
        if (entry.tag != tag(name)) return false;
        const std::size_t size = size_of(name);
        const char* text = static_cast<const char*>(PyUnicode_DATA(name));
        if (size > kShort) {
            std::uint64_t start;
            std::memcpy(&start, entry.text, sizeof start);
            return size <= kLongest && std::memcmp(text_.data() + start, text, size) == 0;
        }
        if (size >= 8) return same<std::uint64_t>(entry.text, text, size);
        if (size >= 4) return same<std::uint32_t>(entry.text, text, size);
        if (size >= 2) return same<std::uint16_t>(entry.text, text, size);
        return size == 0 || entry.text[0] == text[0];
    }

    // Compares by the first and the last bytes, which may overlap.
    template <class T>
    static bool same(const char* a, const char* b, std::size_t size) {
        return number<T>(a) == number<T>(b) && number<T>(a + size - sizeof(T)) == number<T>(b + size - sizeof(T));
    }
    template <class T>
    static T number(const char* p) {
        T found;
        std::memcpy(&found, p, sizeof found);
        return found;
    }

    void put(const Entry& entry) {
        Entry* pair = pairs_[static_cast<std::size_t>(entry.hash) & mask_].entries;
        Entry& place = pair[pair[0].hash != kNoHash && pair[1].hash == kNoHash];
        used_ += place.hash == kNoHash;
        place = entry;
    }

    void grow() {
        const std::vector<Pair> old = std::exchange(pairs_, std::vector<Pair>(2 * pairs_.size()));
        mask_ = pairs_.size() - 1;
        used_ = 0;
        for (const Pair& pair : old)
            for (const Entry& entry : pair.entries)
                if (entry.hash != kNoHash) put(entry);
    }

    std::vector<Pair> pairs_{kLeast};
    std::size_t mask_ = kLeast - 1, used_ = 0;
    std::string text_;
    std::int32_t columns_ = 0;  // above every column remembered
};

}  // namespace confidently::python
