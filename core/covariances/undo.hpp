// The numbers that a call has replaced, so that one that fails leaves no change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "memory_pool.hpp"
#include "processor.hpp"

namespace confidently {

template <class Real>
class Undo {
  public:
    struct Change {
        Real* number;
        Real before;
    };

    Undo() = default;
    explicit Undo(std::size_t first_block) : first_block_(first_block) {}
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;

    // Room for so many more changes, which the caller fills in.
    Change* extend(std::size_t more) {
        if (current_ == blocks_.size() || blocks_[current_].size - blocks_[current_].used < more) next_block(more);
        Block& block = blocks_[current_];
        Change* added = block.changes.get() + block.used;
        block.used += more;
        return added;
    }

    void note(Real* number) { *extend(1) = {number, *number}; }

    // Notes numbers that are adjacent, unless those from there on have been noted before.
    void note_all(Real* first, std::size_t n) {
        for (const Copy& copy : copies_)
            if (copy.first == first) return;
        copies_.push_back({first, std::vector<Real>(first, first + n)});
    }

    void clear() {
        for (Block& block : blocks_) block.used = 0;
        current_ = 0;
        copies_.clear();
    }

    void roll_back() {
        for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
            for (std::size_t i = block->used; i-- > 0;) *block->changes[i].number = block->changes[i].before;
        for (const Copy& copy : copies_) std::copy(copy.before.begin(), copy.before.end(), copy.first);
        clear();
    }

  private:
    // Blocks are neither copied nor zeroed as the log grows.
    struct Block {
        Buffer<Change> changes;
        std::size_t size, used;
    };
    struct Copy {
        Real* first;
        std::vector<Real> before;
    };
    static constexpr std::size_t kFirstBlock = 4096;

    CONFIDENTLY_SELDOM void next_block(std::size_t more) {
        while (current_ < blocks_.size() && blocks_[current_].size - blocks_[current_].used < more) ++current_;
        if (current_ < blocks_.size()) return;
        const std::size_t size = std::max(more, blocks_.empty() ? first_block_ : 2 * blocks_.back().size);
        blocks_.push_back({Buffer<Change>(memory(), size), size, 0});
    }

    // Of the blocks of all logs: a stream has a log per batch, and to map fresh memory for each takes longer than to
    // fill it.
    static const std::shared_ptr<MemoryPool>& memory() {
        static const auto pool = std::make_shared<MemoryPool>(2, std::size_t(1) << 23);
        return pool;
    }

    std::vector<Block> blocks_;
    std::vector<Copy> copies_;
    std::size_t current_ = 0, first_block_ = kFirstBlock;
};

}  // namespace confidently
