// Bandits for Python: the propensities of Thompson sampling, and the weights of many arms.
#include <nanobind/stl/pair.h>

#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "bandits/best_arm.hpp"
#include "bandits/dense_arms.hpp"
#include "bandits/sparse_arms.hpp"
#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/learner.hpp"
#include "data/json_object.hpp"

namespace confidently::python {

namespace {

constexpr std::size_t kNodesPerArm = 100;  // at least, of a quadrature

void best_arm(Input<double, 2> mean, Input<double, 2> deviation, Array<double, 2> out) {
    const std::size_t rows = mean.shape(0), arms = mean.shape(1);
    require(arms >= 1, "there must be an arm");
    require(deviation.shape(0) == rows && deviation.shape(1) == arms && out.shape(0) == rows && out.shape(1) == arms,
            "means, deviations and probabilities must have one shape");
    for (std::size_t i = 0; i < rows * arms; ++i)
        require(std::isfinite(mean.data()[i]) && std::isfinite(deviation.data()[i]) && deviation.data()[i] >= 0.0,
                "means and deviations must be finite, and deviations not negative");
    const ReleasedLock released(rows * arms * kNodesPerArm > std::size_t(kManyEntries));
    BestArm best;
    for (std::size_t i = 0; i < rows; ++i)
        best.probabilities(mean.data() + i * arms, deviation.data() + i * arms, arms, out.data() + i * arms);
}

// The probabilities of arms as a JSON object. ends: where each key of the arms ends, which has its quotes and a colon.
nb::bytes json_probabilities(const nb::bytes& keys, Input<std::int64_t, 1> ends, Input<double, 1> probabilities) {
    const std::size_t n = ends.size();
    require(probabilities.size() == n, "there must be a probability for each key");
    for (std::size_t k = 0; k < n; ++k) {
        require(ends.data()[k] >= (k ? ends.data()[k - 1] : 0) && ends.data()[k] <= std::int64_t(keys.size()),
                "keys must end one after the other");
        require(std::isfinite(probabilities.data()[k]), "probabilities must be finite");
    }
    std::string text;
    {
        const ReleasedLock released(n > std::size_t(kManyEntries));
        text = json_object(keys.c_str(), ends.data(), probabilities.data(), n);
    }
    return nb::bytes(text.data(), text.size());
}

// The weights of the arms over the arrays of a state, and one row.
struct OpenArms {
    SparseArms arms;
    std::span<const std::int32_t> columns;
    const double* values;

    OpenArms(const nb::dict& state, double prior_variance, double least_variance, Input<std::int32_t, 1> columns_of_row,
             Input<double, 1> values_of_row)
        : columns(columns_of_row.data(), columns_of_row.size()), values(values_of_row.data()) {
        const auto start = entry<std::int64_t, 1>(state, "start");
        const auto size = entry<std::int32_t, 1>(state, "size");
        const auto room = entry<std::int32_t, 1>(state, "room");
        const auto arm = entry<std::int32_t, 1>(state, "arm");
        const auto weights = entry<double, 2>(state, "entries");
        const std::size_t features = start.size();
        require(size.size() == features && room.size() == features, "start, size and room must have one length");
        require(weights.shape(0) == arm.size() && weights.shape(1) == 2, "weights do not match the arms");
        require(values_of_row.size() == columns.size(), "values do not match the columns");
        require(prior_variance > 0.0 && least_variance > 0.0, "variances must be positive");
        require_below(columns.data(), std::int64_t(columns.size()), std::int64_t(features), "columns out of range");
        for (const std::int32_t j : columns)
            require(start.data()[j] >= 0 && size.data()[j] >= 0 && room.data()[j] >= size.data()[j] &&
                        start.data()[j] <= std::int64_t(arm.size()) - room.data()[j],
                    "the list of a feature lies outside of the entries");
        // Written to by update only, which checks that they are writable.
        arms = {start.data(),
                const_cast<std::int32_t*>(size.data()),
                const_cast<std::int32_t*>(arm.data()),
                const_cast<double*>(weights.data()),
                prior_variance,
                least_variance};
    }
};

void arm_scores(const Dict& state, double prior_variance, double least_variance, Input<std::int32_t, 1> columns,
                Input<double, 1> values, Array<double, 2> out) {
    const OpenArms open(state, prior_variance, least_variance, columns, values);
    require(out.shape(0) == 2, "there must be a row of means and a row of variances");
    const auto n = std::int64_t(out.shape(1));
    for (const std::int32_t j : open.columns)
        require_below(open.arms.arm + open.arms.start[j], open.arms.size[j], n, "arms out of range");
    nb::gil_scoped_release release;
    open.arms.score(open.columns, open.values, n, out.data(), out.data() + n);
}

std::pair<double, double> arm_score(const Dict& state, double prior_variance, double least_variance,
                                    Input<std::int32_t, 1> columns, Input<double, 1> values, std::int32_t arm) {
    const OpenArms open(state, prior_variance, least_variance, columns, values);
    const SparseArms::Score score = open.arms.score_one(arm, open.columns, open.values);
    return {score.mean, score.variance};
}

void arm_update(const Dict& state, double prior_variance, double least_variance, Input<std::int32_t, 1> columns,
                Input<double, 1> values, std::int32_t arm, double alpha, double zeta, bool moments) {
    require_writable(state);
    OpenArms open(state, prior_variance, least_variance, columns, values);
    const auto room = entry<std::int32_t, 1>(state, "room");
    require(std::isfinite(alpha) && zeta >= 0.0 && arm >= 0, "a step is finite, and its precision not negative");
    std::int32_t before = -1;
    for (const std::int32_t j : open.columns) {
        require(open.arms.size[j] < room.data()[j], "the list of a feature has no room for the arm");
        require(j > before, "columns must ascend");
        before = j;
    }
    open.arms.update(arm, open.columns, open.values, alpha, zeta, moments);
}

// Writes mean and variance of the score of arms for one row; those of an arm below 0 are at the prior.
void dense_arm_scores(const Dict& state, double prior_variance, Input<std::int32_t, 1> columns, Input<double, 1> values,
                      Input<std::int32_t, 1> arms, Array<double, 2> out) {
    const auto mean = entry<double, 2>(state, "mean");
    const auto covariance = entry<double, 3>(state, "covariance");
    const std::size_t n = mean.shape(1);
    require(covariance.shape(0) == mean.shape(0) && covariance.shape(1) == n && covariance.shape(2) == n,
            "there must be a covariance of the weights of each arm");
    require(values.size() == columns.size(), "values do not match the columns");
    require(out.shape(0) == 2 && out.shape(1) == arms.size(), "there must be two numbers for each arm");
    require_below(columns.data(), std::int64_t(columns.size()), std::int64_t(n), "columns out of range");
    for (std::size_t k = 0; k < arms.size(); ++k)
        require(arms.data()[k] < std::int64_t(mean.shape(0)), "arms out of range");
    const ReleasedLock released(std::int64_t(arms.size() * columns.size() * columns.size()) > kManyEntries);
    const std::span<const std::int32_t> known{columns.data(), columns.size()};
    double square = 0.0;
    for (std::size_t j = 0; j < values.size(); ++j) square += values.data()[j] * values.data()[j];
    double *const means = out.data(), *const variances = means + arms.size();
    for (std::size_t k = 0; k < arms.size(); ++k) {
        const std::int64_t arm = arms.data()[k];
        std::tie(means[k], variances[k]) =
            arm < 0 ? std::pair{0.0, prior_variance * square}
                    : dense_score(mean.data() + arm * std::int64_t(n), covariance.data() + arm * std::int64_t(n * n),
                                  std::int64_t(n), known, values.data());
    }
}

// Trains arms on rows and their rewards, in this order. Returns whether all weights stayed in range.
bool learn_dense_arms(const Rule& rule, const Dict& state, double prior_variance, double min_variance,
                      Input<double, 2> rows, Input<std::int32_t, 1> arms, Input<double, 1> rewards) {
    require_writable(state);
    const auto mean = entry<double, 2>(state, "mean");
    const auto covariance = entry<double, 3>(state, "covariance");
    const std::size_t n = mean.shape(1);
    require(covariance.shape(0) == mean.shape(0) && covariance.shape(1) == n && covariance.shape(2) == n,
            "there must be a covariance of the weights of each arm");
    require(rows.shape(1) == n && arms.size() == rows.shape(0) && rewards.size() == rows.shape(0),
            "there must be an arm and a reward for each row of weights");
    require_below(arms.data(), std::int64_t(arms.size()), std::int64_t(mean.shape(0)), "arms out of range");
    const ReleasedLock released(std::int64_t(arms.size() * n * n) > kManyEntries);
    // Rules with a target leave every variance positive.
    const double floor = dense_floor<double>(has_target(rule.any) ? 0.0 : min_variance) * prior_variance;
    DenseArms known(const_cast<double*>(mean.data()), {const_cast<double*>(covariance.data()), std::int64_t(n)}, floor);
    bool in_range = true;
    for (std::size_t i = 0; i < arms.size() && in_range; ++i)
        in_range = known.learn(rule.any, arms.data()[i], rows.data() + i * n, rewards.data()[i]);
    return in_range;
}

}  // namespace

void bind_bandits(nb::module_& m) {
    m.def("best_arm", &best_arm, "mean"_a.noconvert(), "deviation"_a.noconvert(), "out"_a.noconvert());
    m.def("json_probabilities", &json_probabilities, "keys"_a, "ends"_a.noconvert(), "probabilities"_a.noconvert());
    m.def("arm_scores", &arm_scores, "state"_a, "prior_variance"_a, "least_variance"_a, "columns"_a.noconvert(),
          "values"_a.noconvert(), "out"_a.noconvert());
    m.def("arm_score", &arm_score, "state"_a, "prior_variance"_a, "least_variance"_a, "columns"_a.noconvert(),
          "values"_a.noconvert(), "arm"_a);
    m.def("arm_update", &arm_update, "state"_a, "prior_variance"_a, "least_variance"_a, "columns"_a.noconvert(),
          "values"_a.noconvert(), "arm"_a, "alpha"_a, "zeta"_a, "moments"_a);
    m.def("dense_arm_scores", &dense_arm_scores, "state"_a, "prior_variance"_a, "columns"_a.noconvert(),
          "values"_a.noconvert(), "arms"_a.noconvert(), "out"_a.noconvert());
    m.def("learn_dense_arms", &learn_dense_arms, "rule"_a, "state"_a, "prior_variance"_a, "min_variance"_a,
          "rows"_a.noconvert(), "arms"_a.noconvert(), "rewards"_a.noconvert());
}

}  // namespace confidently::python
