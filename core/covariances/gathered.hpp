// Scores of those columns of weights that a row gives one; all others score 0.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace confidently {

// The best-scoring column and the best of the others, of equal ones the first.
struct BestTwo {
    struct Column {
        double score;
        int column = -1;

        bool before(const Column& other) const {
            return column >= 0 &&
                   (other.column < 0 || score > other.score || (score == other.score && column < other.column));
        }
    };
    Column first{}, second{};

    void add(double score, int column) {
        const Column next{score, column};
        if (next.before(first)) {
            second = first;
            first = next;
        } else if (next.before(second)) {
            second = next;
        }
    }
};

class Gathered {
  public:
    // Begins a row of so many columns.
    void begin(int columns) {
        for (std::int32_t i = 0; i < met_; ++i) sum_[static_cast<std::size_t>(column_[i])] = kUnmet;
        const auto n = static_cast<std::size_t>(columns);
        if (sum_.size() < n) sum_.resize(n, kUnmet), column_.resize(n + 1);
        columns_ = columns;
        met_ = 0;
    }

    // Adds to the scores of columns. Without a branch, which would often be mispredicted.
    template <class Real>
    void add(const std::int32_t* column, const Real* mean, std::int64_t n, double x) {
        double* const sum = sum_.data();
        std::int32_t* const met = column_.data();
        std::int32_t known = met_;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int32_t k = column[i];
            met[known] = k;
            known += is_unmet(sum[k]);
            sum[k] += x * double(mean[i]) + 0.0;  // not -0
        }
        met_ = known;
    }

    // Counts a column among those that were met.
    void meet(std::int32_t column) {
        double& sum = sum_[static_cast<std::size_t>(column)];
        if (!is_unmet(sum)) return;
        sum = 0.0;
        column_[static_cast<std::size_t>(met_++)] = column;
    }

    double score(std::int32_t column) const { return sum_[static_cast<std::size_t>(column)]; }

    // in the order in which they were met
    std::span<const std::int32_t> columns() const { return {column_.data(), static_cast<std::size_t>(met_)}; }
    int all() const { return columns_; }
    int others() const { return columns_ - met_; }

    // What within() has found: how many scores, the place of a column's among them, and the sum of all others.
    struct Within {
        std::int32_t n, place;
        double left_out;
    };

    // Lists the scores of columns that were met which are at least `least`, and that of one that was met.
    Within within(double least, std::int32_t own, std::vector<double>& found) const {
        found.resize(static_cast<std::size_t>(met_) + 1);
        double *const list = found.data(), left_out[2] = {};  // two sums, since an addition waits for the one before
        std::int32_t n = 0, place = 0;
        const auto look = [&](std::int32_t i, double& sum) {  // without a branch
            const std::int32_t column = column_[static_cast<std::size_t>(i)];
            const double s = score(column);
            const bool is_own = column == own, is_within = s >= least || is_own;
            list[n] = s;
            place = is_own ? n : place;
            n += is_within;
            sum += is_within ? 0.0 : s;
        };
        for (std::int32_t i = 0; i + 1 < met_; i += 2) look(i, left_out[0]), look(i + 1, left_out[1]);
        if (met_ % 2) look(met_ - 1, left_out[0]);
        found.resize(static_cast<std::size_t>(n));
        return {n, place, left_out[0] + left_out[1]};
    }

    BestTwo best_two() const {
        BestTwo best;
        for (const std::int32_t column : columns())
            if (const double s = score(column); !(s < best.second.score) || best.second.column < 0) best.add(s, column);
        // of the others, which score 0, the first two may be among the best
        for (int column = 0, found = 0; column < columns_ && found < 2 && !(best.second.score > 0.0); ++column)
            if (is_unmet(score(column))) best.add(0.0, column), ++found;
        return best;
    }

  private:
    static constexpr double kUnmet = -0.0;  // which no sum becomes, and to which adding is adding to 0

    static bool is_unmet(double sum) {
        return std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(kUnmet);
    }

    int columns_ = 0;
    std::int32_t met_ = 0;
    std::vector<double> sum_;
    std::vector<std::int32_t> column_;  // those that were met, and a place for one more
};

}  // namespace confidently
