// The first values of every numeric column, and the knots that a view makes of them: quantiles of a kind. The knots of
// a column are renewed when it has had 1, 2, 4, ..., 512 and 1,000 values, and never after; nor while the number of
// rows is negative.
//
// A state has the values of the columns that are not complete, one column after the other. They are copied for a call,
// which may add to them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rows.hpp"
#include "views/columns.hpp"
#include "views/statistics.hpp"

namespace confidently {

// How many of n ascending numbers are below x; n is at least 1.
inline std::int64_t count_below(const double* numbers, std::int64_t n, double x) {
    const double* from = numbers;
    for (; n > 1; n -= n / 2) from += n / 2 * (from[n / 2 - 1] < x);  // without a branch, which would be random
    return from - numbers + (*from < x);
}

// The quantile i/n of sorted numbers, by linear interpolation between neighbors.
inline double quantile(const std::vector<double>& sorted, std::int64_t i, std::int64_t n) {
    const std::int64_t place = (static_cast<std::int64_t>(sorted.size()) - 1) * i;
    const double low = sorted[static_cast<std::size_t>(place / n)];
    if (place % n == 0) return low;
    const double high = sorted[static_cast<std::size_t>(place / n + 1)];
    return std::min(high, low + (high - low) * (static_cast<double>(place % n) / static_cast<double>(n)));
}

class FirstValues {
  public:
    static constexpr std::int64_t kFirst = 1000;  // values of a column

    // view: the first part of the arrays' names; width: knots of a column
    template <class State>
    FirstValues(const State& state, const std::string& view, std::int64_t width, Undo<double>* undo)
        : kind(state.template array<std::int8_t>((view + ".kind").c_str(), n_features(state, view))),
          sample_name(view + ".sample"), width_(width), filled_(kind, n_features(state, view)) {
        const std::int64_t n = n_features(state, view);
        std::int32_t numbers = 0;
        number_.reserve(static_cast<std::size_t>(n));
        for (std::int64_t j = 0; j < n; ++j) number_.push_back(kind[j] == Kind::plain ? -1 : numbers++);
        rows_ = {state.template array<double>((view + ".rows").c_str(), 1), undo};
        count_ = {state.template array<double>((view + ".counts").c_str(), numbers), undo};
        knots_ = {state.template array<double>((view + ".knots").c_str(), numbers, width), undo};
        take_samples(state, numbers);
    }

    template <class State>
    static std::int64_t n_features(const State& state, const std::string& view) {
        return static_cast<std::int64_t>(state.size((view + ".kind").c_str()));
    }

    const std::int8_t* kind;  // by column
    std::string sample_name;

    // The row with the columns that are absent and therefore 0; valid until the next call.
    Row filled(const Row& row) { return filled_(row); }

    // How many values of a numeric column its knots are of: 0 if it has had none.
    std::int64_t seen(std::int32_t j) const {
        const auto n = static_cast<std::uint64_t>(count_[number_[static_cast<std::size_t>(j)]]);
        return static_cast<std::int64_t>(n == kFirst ? n : std::bit_floor(n));
    }

    const double* knots(std::int32_t j) const { return knots_.at + number_[static_cast<std::size_t>(j)] * width_; }

    // Counts the values of a row in; make(sorted, knots) makes the knots of sorted values.
    template <class Make>
    void learn(const Row& bare, Make&& make) {
        if (rows_[0] < 0.0) return;  // knots are kept
        if (rows_[0] < kFirst)
            rows_.add(0, 1.0);
        else if (incomplete_ == 0)
            return;
        const Row row = filled(bare);
        for (std::int32_t i = 0; i < row.size; ++i)
            if (const std::int32_t k = number_[static_cast<std::size_t>(row.column[i])]; k >= 0 && count_[k] < kFirst)
                add(k, row.value[i], make);
    }

    // Makes the knots of all values so far.
    template <class Make>
    void renew(Make&& make) {
        for (std::size_t k = 0; k < values_.size(); ++k)
            if (!values_[k].empty()) set_knots(static_cast<std::int32_t>(k), make);
    }

    // Whether the values of columns that are not complete have changed, and these.
    bool has_changed() const { return changed_; }
    std::vector<double> sample() const {
        std::vector<double> all;
        for (const std::vector<double>& values : values_) all.insert(all.end(), values.begin(), values.end());
        return all;
    }

  private:
    std::int64_t width_;
    FilledRows filled_;
    std::vector<std::int32_t> number_;         // by column: its number among the numeric ones; -1: it is none
    Statistics rows_, count_, knots_;          // rows so far, at most kFirst; by numeric column
    std::vector<std::vector<double>> values_;  // by numeric column; none of a complete one
    std::vector<double> sorted_;
    std::int64_t incomplete_ = 0;
    bool changed_ = false;

    template <class State>
    void take_samples(const State& state, std::int32_t numbers) {
        const auto size = static_cast<std::int64_t>(state.size(sample_name.c_str()));
        const double* from = state.template array<double>(sample_name.c_str(), size);
        std::int64_t left = size;
        for (std::int32_t k = 0; k < numbers; ++k) {
            const double n = count_[k];
            const bool is_count = n >= 0.0 && n <= kFirst && n == std::floor(n);
            const std::int64_t kept = is_count && n < kFirst ? static_cast<std::int64_t>(n) : 0;
            if (!is_count || kept > left) throw std::invalid_argument(sample_name + " does not match the counts");
            values_.emplace_back(from, from + kept);
            incomplete_ += n < kFirst;
            from += kept;
            left -= kept;
        }
        if (left > 0) throw std::invalid_argument(sample_name + " does not match the counts");
    }

    template <class Make>
    void add(std::int32_t k, double x, Make&& make) {
        std::vector<double>& values = values_[static_cast<std::size_t>(k)];
        values.push_back(x);
        count_.add(k, 1.0);
        changed_ = true;
        const std::size_t n = values.size();
        if (n != kFirst && !std::has_single_bit(n)) return;
        set_knots(k, make);
        if (n < kFirst) return;
        values = {};
        --incomplete_;
    }

    template <class Make>
    void set_knots(std::int32_t k, Make&& make) {
        sorted_ = values_[static_cast<std::size_t>(k)];
        std::sort(sorted_.begin(), sorted_.end());
        knots_.note(k * width_, width_);
        make(std::as_const(sorted_), knots_.at + k * width_);
    }
};

}  // namespace confidently
