// The covariances that train row by row: the only list of them. A row of the table is a struct with
//   name            what Python calls it
//   planes          planes of the weights it needs: 1 for the mean, 2 for the mean and a variance (averaging adds one)
//   forgets         whether it supports CovarianceSettings::forget
//   open<Real>(state, weights, scales, settings, f)
//                   calls f(covariance) with the covariance over a state's arrays. state.array<T>(name, sizes...) is
//                   one of them, checked to have that shape. The covariance only points into the arrays, so that it may
//                   be kept.
// The covariance itself has
//   weights                             the means, as Weights<Real> or SparseWeights<Real>
//   one_column                          whether it serves one column of weights only
//   score(row, pair) -> Margin          the margin's mean and variance, or a struct derived from Margin that also
//                                       carries what update() needs
//   variance(row, pair)                 the variance alone
//   update(row, pair, margin, step, age) -> double   the largest absolute weight that it has written
//   forget(w)                           where it forgets: called after every row
//   score_columns(), update_columns()   where it serves tasks that move all columns at once (columns.hpp)
#pragma once

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "covariances/dense.hpp"
#include "covariances/diagonal.hpp"
#include "covariances/identity.hpp"
#include "covariances/low_rank.hpp"
#include "covariances/sparse.hpp"

namespace confidently {

using Covariances = std::tuple<Identity, Diagonal, Full, Shared, LowRank, Sparse>;

// Calls f(row) with the table's row of this number.
template <class F>
void with_covariance(std::size_t number, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((number == I && (f(std::tuple_element_t<I, Covariances>()), true)) || ...);
    }(std::make_index_sequence<std::tuple_size_v<Covariances>>{});
}

inline std::vector<std::string> covariance_names() {
    return std::apply([](auto... row) { return std::vector<std::string>{row.name...}; }, Covariances());
}

inline std::size_t covariance_number(const std::string& name) {
    const std::vector<std::string> names = covariance_names();
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return i;
    throw std::invalid_argument("unknown covariance " + name);
}

}  // namespace confidently
