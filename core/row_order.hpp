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

    // Sorts columns ascending, each once. column_of(column) is the new number of a column; f(kept, value, again) combines the values of equal
    // columns in the order of the entries. Returns how many entries are left.
    template <class ColumnOf, class F>
    std::int64_t sort(std::int32_t* columns, double* values, std::int64_t n, ColumnOf&& column_of, F&& f) {
        const auto length = static_cast<std::size_t>(n);
        if (length > order_.size()) {
            order_.resize(2 * length);
            sorted_.resize(2 * length);
            values_.resize(2 * length);
        }
        std::uint32_t all = 0, before = 0, descends = 0;
        for (std::size_t k = 0; k < length; ++k) {
            const auto column = static_cast<std::uint32_t>(column_of(columns[k]));
            columns[k] = static_cast<std::int32_t>(column);
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
    template <class ColumnOf>
    std::int64_t sort_and_sum(std::int32_t* columns, double* values, std::int64_t n, ColumnOf&& column_of) {
        return sort(columns, values, n, column_of, [](double& sum, double value, bool again) { sum = again ? sum + value : value; });
    }

    // Which of the entries was sorted into this place; before equal columns were combined.
    std::size_t entry(std::size_t place) const { return static_cast<std::size_t>(order_[place] & 0xffffffff); }

  private:
    // Writes column and entry of every entry to order_, sorted.
    void sort_order(const std::int32_t* columns, std::size_t n, int bits, bool descends) {
        const auto entry = [&](std::size_t k) { return std::uint64_t(static_cast<std::uint32_t>(columns[k])) << 32 | k; };
#if CONFIDENTLY_X86
        const int place_bits = std::bit_width(n);
        if (descends && path_ != Simd::plain && n <= kMostShort && bits + place_bits <= 32) {
            for (std::size_t k = 0; k < n; ++k) short_[k] = static_cast<std::uint32_t>(columns[k]) << place_bits | static_cast<std::uint32_t>(k);
            ShortSort::sort(short_.data(), n);
            const std::uint32_t place = (std::uint32_t(1) << place_bits) - 1;
            for (std::size_t k = 0; k < n; ++k) order_[k] = std::uint64_t(short_[k] >> place_bits) << 32 | (short_[k] & place);
            return;
        }
#endif
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
    alignas(32) std::array<std::uint32_t, kMostShort> short_;
#endif
    std::vector<double> values_;
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
