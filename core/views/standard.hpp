// Standardized columns: (x - mean)/standard deviation, with running moments of every numeric column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "processor.hpp"
#include "rows.hpp"
#include "views/columns.hpp"
#include "views/made_rows.hpp"
#include "views/standard_avx2.hpp"
#include "views/statistics.hpp"

namespace confidently {

struct Standard {
    static constexpr const char* name = "standard";
    static constexpr bool takes_zeros = true;
    static constexpr double kLargest = 1e3;       // absolute value of a standardized value
    static constexpr double kLargestAlone = 5.0;  // the same where rows are not scaled, which bounds a row's influence

    const std::int8_t* kind;
    Statistics rows, count, mean, squares;  // weight of all rows; by column: weight, mean, sum of squared deviations
    FilledRows filled;
    bool unit_norm = true;

    template <class State>
    static Standard open(const State& state, Undo<double>* undo) {
        const std::int64_t n = n_features(state);
        const auto statistics = [&](const char* name, std::int64_t size) {
            return Statistics{state.template array<double>(name, size), undo};
        };
        const std::int8_t* kind = state.template array<std::int8_t>("standard.kind", n);
        return {kind,
                statistics("standard.rows", 1),
                statistics("standard.count", n),
                statistics("standard.mean", n),
                statistics("standard.squares", n),
                FilledRows(kind, n)};
    }

    template <class State>
    static std::int64_t n_features(const State& state) {
        return static_cast<std::int64_t>(state.size("standard.kind"));
    }

    void see(const Row& row, MadeRows& out) { pass<false>(row, 0.0, out); }

    // Counts a row of weight w in, after it was seen.
    void see_and_learn(const Row& row, double w, MadeRows& out) {
        rows.add(0, w);
        pass<true>(row, w, out);
    }

  private:
    template <bool learns>
    void pass(const Row& bare, double w, MadeRows& out) {
        const Row row = filled(bare);
#if CONFIDENTLY_X86
        if (usual_simd() >= Simd::avx2)
            each_avx2<learns>(row, w, out);
        else
#endif
            for (std::int32_t i = 0; i < row.size; ++i) one<learns>(row, i, w, out);
        if (unit_norm)
            out.end_row_of_unit_norm();
        else
            out.end_row();
    }

    // Sees the i-th entry of a row, and then counts it in if the view learns.
    template <bool learns>
    void one(const Row& row, std::int32_t i, double w, MadeRows& out) {
        const std::int32_t j = row.column[i];
        const double x = row.value[i];
        if (kind[j] == Kind::plain) return out.add(j, x);
        out.add(j, standardized(j, x));
        if (learns) count_in(j, x, w);
    }

#if CONFIDENTLY_X86
    template <bool learns>
    CONFIDENTLY_AVX2 void each_avx2(const Row& row, double w, MadeRows& out) {
        const FourStandard standardized{count, mean, squares, largest()};
        std::int32_t i = 0;
        for (; i + 4 <= row.size; i += 4) {
            const std::int32_t j = row.column[i];
            if (are_neighbors(row.column + i) && kind[j] != Kind::plain && kind[j + 1] != Kind::plain &&
                kind[j + 2] != Kind::plain && kind[j + 3] != Kind::plain)
                out.add_four(j, standardized.template operator()<learns>(j, _mm256_loadu_pd(row.value + i), w));
            else
                for (std::int32_t k = i; k < i + 4; ++k) one<learns>(row, k, w, out);
        }
        for (; i < row.size; ++i) one<learns>(row, i, w, out);
    }
#endif

    double largest() const { return unit_norm ? kLargest : kLargestAlone; }

    // Without a value so far there is no unit; while all were equal, the sign is all that is known.
    double standardized(std::int32_t j, double x) const {
        const double d = x - mean[j];
        if (count[j] == 0.0 || d == 0.0) return 0.0;
        const double deviation = std::sqrt(squares[j] / count[j]);
        if (deviation == 0.0) return d > 0.0 ? 1.0 : -1.0;
        return std::clamp(d / deviation, -largest(), largest());
    }

    void count_in(std::int32_t j, double x, double w) {
        const double d = x - mean[j];
        count.add(j, w);
        mean.add(j, w / count[j] * d);
        squares.add(j, w * d * (x - mean[j]));
    }
};

}  // namespace confidently
