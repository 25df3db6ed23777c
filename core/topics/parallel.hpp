// A team of threads for the items of a loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace confidently {

// Which thread processes an item is random, so the result of an item must not depend on the thread.
class Team {
  public:
    explicit Team(int threads) {
        try {
            for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
        } catch (const std::system_error&) {
            // the system has no more threads: a smaller team computes the same
        }
    }

    ~Team() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Calls work(item, thread) for every item. The first exception is rethrown here, after all threads have stopped.
    void run(std::int64_t items, const std::function<void(std::int64_t, int)>& work) {
        if (threads_.empty() || items < 2) {
            for (std::int64_t i = 0; i < items; ++i) work(i, 0);
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            work_ = &work;
            items_ = items;
            next_ = 0;
            busy_ = static_cast<int>(threads_.size());
            ++round_;
        }
        wake_.notify_all();
        take(0);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::int64_t, int)>* work_ = nullptr;
    std::atomic<std::int64_t> next_ = 0;
    std::int64_t items_ = 0;
    int busy_ = 0, round_ = 0;
    bool stopping_ = false;
    std::exception_ptr failure_;

    void take(int thread) {
        try {
            for (std::int64_t i = next_++; i < items_; i = next_++) (*work_)(i, thread);
        } catch (...) {
            next_ = items_;
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    void serve(int thread) {
        for (int seen = 0;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
                if (stopping_) return;
                seen = round_;
            }
            take(thread);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }
};

}  // namespace confidently
