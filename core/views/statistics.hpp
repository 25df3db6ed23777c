// Statistics that a view learns: an array of a state, whose changes are noted so that a call that fails leaves none.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "covariances/undo.hpp"

namespace confidently {

struct Statistics {
    double* at;
    Undo<double>* undo;  // nullptr: nothing is noted

    double operator[](std::int64_t i) const { return at[i]; }

    // Notes n numbers from i on, before they change.
    void note(std::int64_t i, std::int64_t n = 1) const {
        if (undo)
            for (std::int64_t k = i; k < i + n; ++k) undo->note(at + k);
    }
    void set(std::int64_t i, double x) const {
        note(i);
        at[i] = x;
    }
    void add(std::int64_t i, double x) const { set(i, at[i] + x); }
};

// log(count + Smoothing::value), from a table where the count is a small integer.
template <class Smoothing>
class LogCount {
  public:
    LogCount() : table_(logs().data()) {}

    double operator()(double count) const {
        const auto n = static_cast<std::int32_t>(count < kSize ? count : 0.0);
        return static_cast<double>(n) == count ? table_[n] : std::log(count + Smoothing::value);
    }

  private:
    static constexpr std::int32_t kSize = 1 << 14;
    const double* table_;

    static const std::vector<double>& logs() {
        static const std::vector<double> found = [] {
            std::vector<double> logs(kSize);
            for (std::int32_t n = 0; n < kSize; ++n) logs[static_cast<std::size_t>(n)] = std::log(n + Smoothing::value);
            return logs;
        }();
        return found;
    }
};

}  // namespace confidently
