// Sorts the entries of a row by column.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "processor.hpp"
#include "sort_short.hpp"

namespace confidently {

class RowOrder {
  public:
    explicit RowOrder(Simd path = usual_simd()) : path_(path) {}

    // Sorts columns ascending, each once; f(kept, value, again) combines the values of equal columns in the order of
    // the entries. Returns how many entries are left.
    template <class F>
    std::int64_t sort(std::int32_t* columns, double* values, std::int64_t n, F&& f) {
        const auto length = static_cast<std::size_t>(n);
#if CONFIDENTLY_X86
        is_short_ = false;
#endif
        if (length > order_.size()) {
            order_.resize(2 * length);
            sorted_.resize(2 * length);
            values_.resize(2 * length);
        }
        std::uint32_t all = 0, before = 0, descends = 0;
        for (std::size_t k = 0; k < length; ++k) {
            const auto column = static_cast<std::uint32_t>(columns[k]);
            all |= column;
            descends |= column < before;
            before = column;
        }
        sort_order(columns, length, std::bit_width(all), descends != 0);
        std::copy_n(values, n, values_.data());
        std::int64_t size = 0;
        for (std::size_t k = 0; k < length; ++k) {
            const auto column = static_cast<std::int32_t>(order_[k] >> 32);
            const double value = values_[static_cast<std::size_t>(order_[k] & 0xffffffff)];
            const bool again = size > 0 && columns[size - 1] == column;
            if (!again) columns[size++] = column;
            f(values[size - 1], value, again);
        }
        return size;
    }

    // The same, with the values of equal columns summed.
    std::int64_t sort_and_sum(std::int32_t* columns, double* values, std::int64_t n) {
#if CONFIDENTLY_X86
        if (path_ != Simd::plain && static_cast<std::size_t>(n) <= kMostShort) {
            const std::int64_t left = sort_short(columns, values, static_cast<std::size_t>(n));
            if (left >= 0) return left;
        }
#endif
        return sort(columns, values, n,
                    [](double& sum, double value, bool again) { sum = again ? sum + value : value; });
    }

    // Merges the sorted entries before the middle with those from it on; all columns differ.
    void merge(std::int32_t* columns, double* values, std::int64_t middle, std::int64_t n) {
        if (middle == 0 || middle == n || columns[middle - 1] < columns[middle]) return;
        const std::int64_t later = n - middle;
        columns_.assign(columns + middle, columns + n);
        if (static_cast<std::size_t>(later) > values_.size()) values_.resize(static_cast<std::size_t>(2 * later));
        std::copy_n(values + middle, later, values_.data());
        for (std::int64_t a = middle - 1, b = later - 1, to = n - 1; b >= 0;
             --to) {  // from the end: nothing is overwritten too early
            const bool early = a >= 0 && columns[a] > columns_[static_cast<std::size_t>(b)];
            columns[to] = early ? columns[a] : columns_[static_cast<std::size_t>(b)];
            values[to] = early ? values[a] : values_[static_cast<std::size_t>(b)];
            a -= early;
            b -= !early;
        }
    }

    // Which of the entries was sorted into this place; before equal columns were combined.
    std::size_t entry(std::size_t place) const {
#if CONFIDENTLY_X86
        if (is_short_) return short_[place] & places();
#endif
        return static_cast<std::size_t>(order_[place] & 0xffffffff);
    }

  private:
#if CONFIDENTLY_X86
    // How many bits the number of an entry takes behind its column: few leave room for larger columns.
    static constexpr int kFewBits = 8, kMostBits = 10;
    static_assert(kMostShort == 1u << kMostBits);

    std::uint32_t places() const { return (1u << place_bits_) - 1; }

    // sort_and_sum for columns that leave room for the number of the entry in 32 bits; -1, and nothing is done, for
    // others.
    std::int64_t sort_short(std::int32_t* columns, double* values, std::size_t n) {
        place_bits_ = n <= 1u << kFewBits ? kFewBits : kMostBits;
        const int equal = sort_columns(columns, n);
        if (equal < 0) return -1;
        is_short_ = true;
        if (n > values_.size()) values_.resize(kMostShort);
        double* before = values_.data();
        std::copy_n(values, n, before);
        for (std::size_t k = 0; k < n; ++k) values[k] = before[short_[k] & places()];
        return equal ? summed(columns, values, n) : static_cast<std::int64_t>(n);
    }

    // Sorts the columns and short_; returns whether some are equal, or -1 if they leave no room.
    int sort_columns(std::int32_t* columns, std::size_t n) {
        std::uint32_t all = 0, equal = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const auto column = static_cast<std::uint32_t>(columns[k]);
            short_[k] = column << place_bits_ | static_cast<std::uint32_t>(k);
            all |= column;
        }
        if (all >> (32 - place_bits_)) return -1;
        ShortSort::sort(short_.data(), n);
        for (std::size_t k = 0; k < n; ++k) columns[k] = static_cast<std::int32_t>(short_[k] >> place_bits_);
        for (std::size_t k = 1; k < n; ++k) equal |= columns[k - 1] == columns[k];
        return equal != 0;
    }

    // Sums the values of equal columns, which are neighbors.
    static std::int64_t summed(std::int32_t* columns, double* values, std::size_t n) {
        std::size_t size = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const bool again = size > 0 && columns[size - 1] == columns[k];
            if (again) {
                values[size - 1] += values[k];
            } else {
                columns[size] = columns[k];
                values[size++] = values[k];
            }
        }
        return static_cast<std::int64_t>(size);
    }

#endif
    // Writes column and entry of every entry to order_, sorted.
    void sort_order(const std::int32_t* columns, std::size_t n, int bits, bool descends) {
        const auto entry = [&](std::size_t k) {
            return std::uint64_t(static_cast<std::uint32_t>(columns[k])) << 32 | k;
        };
        for (std::size_t k = 0; k < n; ++k) order_[k] = entry(k);
        if (descends) sort_by_digits(n, bits);
    }

    // Sorts stably by some bits of the columns at a time, without comparisons to mispredict.
    void sort_by_digits(std::size_t n, int bits) {
        constexpr std::size_t few = 24;    // entries that are sorted faster by comparing
        constexpr std::size_t many = 256;  // entries for which a pass over 256 counters is cheap
        if (n < few) return std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n));
        const int digit = n < many ? 6 : 8;
        const std::uint64_t mask = (1u << digit) - 1;
        for (int shift = 32; shift < 32 + bits; shift += digit) {
            std::array<std::uint32_t, 257> place;
            std::fill_n(place.begin(), mask + 2, 0);
            for (std::size_t k = 0; k < n; ++k) ++place[(order_[k] >> shift & mask) + 1];
            for (std::size_t k = 1; k <= mask; ++k) place[k] += place[k - 1];
            for (std::size_t k = 0; k < n; ++k) sorted_[place[order_[k] >> shift & mask]++] = order_[k];
            order_.swap(sorted_);
        }
    }

    Simd path_;
    std::vector<std::uint64_t> order_, sorted_;  // column, entry
#if CONFIDENTLY_X86
    int place_bits_ = kFewBits;
    bool is_short_ = false;  // whether the last entries were sorted in short_
    alignas(32) std::array<std::uint32_t, kMostShort> short_;
#endif
    std::vector<double> values_;
    std::vector<std::int32_t> columns_;  // of the entries that are merged with those before them
};

// Scales a row to unit L2 norm.
inline void normalize(double* values, std::int64_t n) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < n; ++k) sum += values[k] * values[k];
    if (!(sum > 0.0)) return;
    const double length = std::sqrt(sum);
    for (std::int64_t k = 0; k < n; ++k) values[k] /= length;
}

}  // namespace confidently
