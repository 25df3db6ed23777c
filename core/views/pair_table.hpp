// The terms of a polynomial of degree two, numbered as rows bring them: features (j, kNoFeature) and products (i, j).
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "prefetch.hpp"

namespace confidently {

inline constexpr std::int32_t kNoFeature = -1, kNoTerm = -1;

// Arrays of a state: both features of every term, and a hash table of the terms with linear probing.
struct PairTable {
    std::int32_t *first, *second;
    std::int64_t* size;
    std::int64_t capacity;
    std::int32_t* slots;   // numbers of terms; kNoTerm: empty
    std::int64_t n_slots;  // a power of two, more than the capacity

    template <class State>
    static PairTable open(const State& state) {
        const auto capacity = static_cast<std::int64_t>(state.size("pairs.first"));
        const auto n_slots = static_cast<std::int64_t>(state.size("pairs.slots"));
        PairTable table{state.template array<std::int32_t>("pairs.first", capacity),
                        state.template array<std::int32_t>("pairs.second", capacity),
                        state.template array<std::int64_t>("pairs.size", 1),
                        capacity,
                        state.template array<std::int32_t>("pairs.slots", n_slots),
                        n_slots};
        if (*table.size < 0 || *table.size > capacity)
            throw std::invalid_argument("pairs.size does not match the terms");
        if (n_slots <= capacity || (n_slots & (n_slots - 1)) != 0)
            throw std::invalid_argument("pairs.slots must be a power of two above the number of terms");
        return table;
    }

    // The number of a term, or kNoTerm.
    std::int32_t find(std::int32_t a, std::int32_t b) const { return slots[slot_of(a, b)]; }

    // Has the processor fetch the slot of a term, which is soon to be looked up.
    void fetch(std::int32_t a, std::int32_t b) const { prefetch(slots + first_slot(a, b)); }

    // Numbers a term unless it has a number; false: there is no room.
    bool add(std::int32_t a, std::int32_t b) const {
        const std::int64_t slot = slot_of(a, b);
        if (slots[slot] != kNoTerm) return true;
        if (*size == capacity) return false;
        first[*size] = a;
        second[*size] = b;
        slots[slot] = static_cast<std::int32_t>((*size)++);
        return true;
    }

    // Leaves the arrays as they were before the terms from the n-th on had numbers, but for how many there are.
    void forget(std::int64_t n) const {
        std::fill(first + n, first + capacity, 0);
        std::fill(second + n, second + capacity, 0);
        for (std::int64_t slot = 0; slot < n_slots; ++slot)
            if (slots[slot] >= n) slots[slot] = kNoTerm;
    }

    // Fills the hash table with the terms.
    void index() const {
        for (std::int64_t slot = 0; slot < n_slots; ++slot) slots[slot] = kNoTerm;
        for (std::int64_t term = 0; term < *size; ++term)
            slots[slot_of(first[term], second[term])] = static_cast<std::int32_t>(term);
    }

  private:
    // The slot of a term, or the empty one where it belongs.
    std::int64_t slot_of(std::int32_t a, std::int32_t b) const {
        std::int64_t slot = first_slot(a, b);
        for (std::int64_t probes = 0; probes < n_slots; ++probes, slot = (slot + 1) & (n_slots - 1)) {
            const std::int32_t term = slots[slot];
            if (term == kNoTerm) return slot;
            if (term < 0 || term >= *size) break;
            if (first[term] == a && second[term] == b) return slot;
        }
        throw std::invalid_argument("pairs.slots does not match the terms");
    }

    std::int64_t first_slot(std::int32_t a, std::int32_t b) const {
        return static_cast<std::int64_t>(hashed(a, b)) & (n_slots - 1);
    }

    static std::uint64_t hashed(std::int32_t a, std::int32_t b) {
        std::uint64_t h =
            (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b);
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
        h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
        return h ^ (h >> 31);
    }
};

}  // namespace confidently
