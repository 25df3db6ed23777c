// A team of threads that shares out the items of loops.
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

// Which thread does which item is left to chance: what an item yields must not depend on it.
class Team {
public:
    explicit Team(int threads) {
        try {
            for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { help(i); });
        } catch (const std::system_error&) {
            // the system gives no more threads: a smaller team does the same
        }
    }

    ~Team() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        wake_.notify_all();
        for (std::thread& helper : helpers_) helper.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return static_cast<int>(helpers_.size()) + 1; }

    // work(item, thread) for every item; the first exception of any is thrown here, after all have stopped
    void run(std::int64_t items, const std::function<void(std::int64_t, int)>& work) {
        if (helpers_.empty() || items < 2) {
            for (std::int64_t i = 0; i < items; ++i) work(i, 0);
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            work_ = &work;
            items_ = items;
            next_ = 0;
            busy_ = static_cast<int>(helpers_.size());
            ++round_;
        }
        wake_.notify_all();
        take(0);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::int64_t, int)>* work_ = nullptr;
    std::atomic<std::int64_t> next_ = 0;
    std::int64_t items_ = 0;
    int busy_ = 0, round_ = 0;
    bool over_ = false;
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

    void help(int thread) {
        for (int seen = 0;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return over_ || round_ != seen; });
                if (over_) return;
                seen = round_;
            }
            take(thread);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }
};

}  // namespace confidently
