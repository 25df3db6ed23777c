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

    void set(std::int64_t i, double x) const {
        if (undo) undo->note(at + i);
        at[i] = x;
    }
    void add(std::int64_t i, double x) const { set(i, at[i] + x); }
};

// log(count + Smoothing::value), from a table where the count is a small integer.
template <class Smoothing>
double log_count(double count) {
    static const std::vector<double> table = [] {
        std::vector<double> logs(1 << 14);
        for (std::size_t n = 0; n < logs.size(); ++n) logs[n] = std::log(static_cast<double>(n) + Smoothing::value);
        return logs;
    }();
    const auto n = static_cast<std::size_t>(count < static_cast<double>(table.size()) ? count : 0.0);
    return static_cast<double>(n) == count ? table[n] : std::log(count + Smoothing::value);
}

}  // namespace confidently
