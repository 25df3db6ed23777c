// Memory for the rows and the text of pieces of a stream, and for logs, which is used again: the system clears and maps
// the pages of fresh memory, which takes as long as to parse what is written there.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace confidently {

class MemoryPool {
  public:
    using Memory = std::unique_ptr<std::byte[]>;

    // Keeps up to so many pieces of every power of two of bytes, up to the largest.
    explicit MemoryPool(std::size_t most = 8, std::size_t largest = std::size_t(1) << 25)
        : most_(most), largest_(largest) {
        for (std::vector<Memory>& kept : kept_) kept.reserve(most_);  // so that give cannot fail
    }

    // At least so many bytes, with any content; size becomes their number.
    Memory take(std::size_t& size) {
        size = std::bit_ceil(size);  // so that what was given fits what is taken
        {
            const std::lock_guard lock(mutex_);
            std::vector<Memory>& kept = kept_[level(size)];
            if (!kept.empty()) {
                Memory found = std::move(kept.back());  // the last one given is the most likely to be in the cache
                kept.pop_back();
                return found;
            }
        }
        return Memory(new std::byte[size]);  // make_unique would write zeros
    }

    void give(Memory memory, std::size_t size) noexcept {
        if (size > largest_) return;
        const std::lock_guard lock(mutex_);
        std::vector<Memory>& kept = kept_[level(size)];
        if (kept.size() < most_) kept.push_back(std::move(memory));
    }

  private:
    static std::size_t level(std::size_t size) { return static_cast<std::size_t>(std::countr_zero(size)); }

    const std::size_t most_, largest_;
    std::mutex mutex_;
    std::vector<Memory> kept_[8 * sizeof(std::size_t)];  // by the logarithm of the size
};

// An array of plain numbers or characters from a pool, to which it returns from whatever thread; without a pool it is
// freed.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    Buffer(std::shared_ptr<MemoryPool> pool, std::size_t n) : pool_(std::move(pool)), bytes_(n * sizeof(T)) {
        memory_ = pool_ ? pool_->take(bytes_) : MemoryPool::Memory(new std::byte[bytes_]);
    }
    Buffer(Buffer&& other) noexcept
        : pool_(std::move(other.pool_)), memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Buffer() {
        if (pool_ && memory_) pool_->give(std::move(memory_), bytes_);
    }

    T* get() const { return reinterpret_cast<T*>(memory_.get()); }
    template <class I>
    T& operator[](I i) const {
        return get()[i];
    }
    std::size_t capacity() const { return bytes_ / sizeof(T); }

  private:
    std::shared_ptr<MemoryPool> pool_;
    MemoryPool::Memory memory_;
    std::size_t bytes_ = 0;
};

}  // namespace confidently
