// Which columns of a table moved: whether the values of each could have come in any other order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "tasks/alarms.hpp"

namespace confidently {

// The first rows place two edges within each column, near its quartiles. Of the rows after these, some are looked at,
// one drawn of each few, in blocks of 16. If rows could have come in any other order, the number k of a block's values
// above an edge is hypergeometric, given the share q of all values so far that are above it. So bets that the odds are
// twice or half of what they were multiply by 2^k / (1 + q)^16, at most 1 in the mean (the moments are below those of
// the binomial distribution: Hoeffding 1963). Bets begin with every block. A column has moved when its mean bet has
// reached width/level, so that by chance any of all columns does so with a probability of about `level`. Soon after the
// first, all begin anew.
//
// The rows that are looked at are also compared with the first ones: rows of few kinds repeat.
//
// Column c of the rows is column c + 1 here. Column 0 is always zero, as was each column before its first value.
struct MovedColumns {
    static constexpr int first_rows = 32, edges = 2, bets = 2 * edges, block_rows = 16;
    static constexpr int blocks_more = 4;  // after the first column that has moved, for others that move with it
    static constexpr double level = 0.01;
    static constexpr int at_before = edges, at_block = 2 * edges, at_bets = 3 * edges, at_moved = at_bets + bets,
                         at_row = at_moved + 1, per_column = at_row + 1, at_repeated = 9, at_hashes = at_repeated + 1,
                         size = at_hashes + first_rows;

    double* state;      // (size) counters, and hashes of the first rows
    double* by_column;  // (per_column x columns): edges, numbers of values above them before this block and in it,
                        // bets, whether a column has moved since they began, and the last row at which one has
    double* first;      // (first_rows x columns): the first rows
    std::int64_t columns;

    static void begin(double* state) {
        std::fill_n(state, size, 0.0);
        state[2] = 1.0;
    }

    double& rows() const { return state[0]; }       // so far
    double& next() const { return state[1]; }       // to be looked at
    double& group_end() const { return state[2]; }  // of the rows of which that one was drawn
    double& width() const { return state[3]; }      // of the rows so far that were looked at
    double& times() const { return state[4]; }      // that columns have moved
    // since all began
    double& filled() const { return state[5]; }              // of the first rows
    double& compared() const { return state[6]; }            // rows after these
    double& row() const { return state[7]; }                 // after which the first column had moved; 0: none has
    double& waited() const { return state[8]; }              // blocks since then
    double& repeated() const { return state[at_repeated]; }  // of the rows after the first ones, equal to one of these

    // The more columns, the fewer rows are looked at, so that they cost little beside the rest of training.
    static double rows_per_look(double width) {
        return width <= 4.0 ? 2.0 : width <= 16.0 ? 4.0 : width <= 48.0 ? 8.0 : 16.0;
    }

    // Learns n rows, in an order or as they come.
    void learn(const Rows& seen, const std::int64_t* order, std::int64_t n) const {
        RowBuffer buffer;
        std::vector<double> values(static_cast<std::size_t>(columns));
        const double before = rows(), end = before + static_cast<double>(n);
        const auto row_at = [&](double number) {
            const auto at = static_cast<std::int64_t>(number - before);
            return order ? order[at] : at;
        };
        while (next() < end) {
            const double together = next_group(), soon = one_of(group_end(), together);
            if (soon < end) seen.expect(row_at(soon));
            read(seen, row_at(next()), buffer, values.data());
            rows() = next() + 1.0;
            see(values.data());
            next() = soon;
            group_end() += together;
        }
        rows() = end;
    }

  private:
    double* of(int what) const { return by_column + what * columns; }

    static double one_of(double begin, double together) {
        return begin +
               static_cast<double>(static_cast<std::int64_t>(drawn(static_cast<std::uint64_t>(begin)) * together));
    }

    double next_group() const { return times() == 0.0 && filled() < first_rows ? 1.0 : rows_per_look(width()); }

    void read(const Rows& seen, std::int64_t i, RowBuffer& buffer, double* values) const {
        if (seen.stores_zeros()) {  // the columns are all there, in their order
            const Row row = seen.with_zeros(i, false, buffer);
            std::copy_n(row.value, row.size, values + 1);
            std::fill(values + 1 + row.size, values + columns, 0.0);
            values[0] = 0.0;
        } else {
            std::fill_n(values, columns, 0.0);
            const Row row = seen.at(i, false, buffer);
            row.each([&](std::int32_t column, double value) { values[column + 1] = value; });
        }
        std::int64_t last = columns - 1;
        while (static_cast<double>(last) > width() && values[last] == 0.0) --last;
        width() = std::max(width(), static_cast<double>(last));
    }

    // values: of the columns; they are not needed afterwards
    void see(double* values) const {
        if (filled() < first_rows) {
            std::copy_n(values, columns, first + static_cast<std::int64_t>(filled()) * columns);
            if ((filled() += 1.0) == first_rows) place_edges();
            return;
        }
        double* hashes = state + at_hashes;
        if (std::find(hashes, hashes + first_rows, hash(values)) < hashes + first_rows) repeated() += 1.0;
        count_above(columns, values, by_column, of(at_block));
        if (std::int64_t(compared() += 1.0) % block_rows == 0) settle(values);
    }
    static void count_above(std::int64_t n, const double* __restrict values, const double* __restrict edge,
                            double* __restrict above) {
        for (std::int64_t c = 0; c < n; ++c)
            for (int e = 0; e < edges; ++e) above[e * n + c] += values[c] > edge[e * n + c] ? 1.0 : 0.0;
    }

    // Edges divide the first rows near the quartiles. Where many values are equal, they are beside these, and where all
    // are, on both sides.
    void place_edges() const {
        std::array<double, first_rows> values;
        for (std::int64_t c = 0; c < columns; ++c) {
            for (int i = 0; i < first_rows; ++i) values[i] = first[i * columns + c];
            std::sort(values.begin(), values.end());
            const double least = values.front(), largest = values.back(), low = values[first_rows / 4],
                         high = values[3 * first_rows / 4];
            of(0)[c] = low == least && least < largest ? low : below(low);
            of(1)[c] = high == largest && least < largest ? below(high) : high;
        }
        std::fill_n(of(at_before), (at_row - at_before) * columns, 0.0);
        for (int i = 0; i < first_rows; ++i) state[at_hashes + i] = hash(first + i * columns);
    }

    // A number that is hardly ever that of another row; columns that are zero do not matter.
    double hash(const double* values) const {
        std::uint64_t found = 0;
        for (std::int64_t c = 0; c < columns; ++c)
            if (values[c] != 0.0) found += mixed(std::bit_cast<std::uint64_t>(values[c]) + mixed(std::uint64_t(c)));
        return static_cast<double>(found >> 12);
    }
    static double below(double value) { return std::nextafter(value, -std::numeric_limits<double>::infinity()); }

    void settle(double* sums) const {
        std::fill_n(sums, columns, 0.0);
        for (int e = 0; e < edges; ++e)
            settle(columns, compared(), of(at_before + e), of(at_block + e), of(at_bets + e), of(at_bets + edges + e),
                   sums);
        const double enough = bets / level * std::max(width(), 1.0);
        bool any = false;
        for (std::int64_t c = 0; c < columns; ++c) {
            if (sums[c] >= enough) of(at_moved)[c] = 1.0;
            any |= of(at_moved)[c] > 0.0;
        }
        if (any) wait();
    }
    // The bets on one edge, which are added to the sums.
    static void settle(std::int64_t n, double rows, double* __restrict before, double* __restrict block,
                       double* __restrict up, double* __restrict down, double* __restrict sums) {
        const double turn = rows / block_rows, begun = 1.0 / (turn * (turn + 1.0)), part = 1.0 / rows;
        for (std::int64_t c = 0; c < n; ++c) {
            before[c] += block[c];
            const double share = before[c] * part;
            up[c] = (up[c] + begun) * power(block[c], 1.0 + share);
            down[c] = (down[c] + begun) * power(block_rows - block[c], 2.0 - share);
            sums[c] += up[c] + down[c];
            block[c] = 0.0;
        }
    }

    // 2^k / mean^16, without branches and tables, so that compilers make vectors of it
    static double power(double k, double mean) {
        constexpr double unit = 0x1p52, bias = 1023.0;  // of a number with 52 bits after the point
        const double mean2 = mean * mean, mean4 = mean2 * mean2, mean8 = mean4 * mean4;
        static_assert(block_rows == 16);
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(k + (unit + bias)) << 52) / (mean8 * mean8);
    }

    void wait() const {
        if (row() == 0.0)
            row() = rows();
        else
            waited() += 1.0;
        if (waited() < blocks_more) return;
        for (std::int64_t c = 0; c < columns; ++c)
            if (of(at_moved)[c] > 0.0) of(at_row)[c] = row();
        times() += 1.0;
        for (double* one : {&filled(), &compared(), &row(), &waited(), &repeated()}) *one = 0.0;
    }
};

}  // namespace confidently
