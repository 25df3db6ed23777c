// The scores of members of a stack for a single row, calibrated, or numbers: there, calls take longer than what they
// compute.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings/bound_learner.hpp"
#include "covariances/gram.hpp"
#include "covariances/table.hpp"
#include "views/table.hpp"

namespace confidently::python {

namespace {

using Step = std::tuple<std::string, bool, std::int64_t>;  // name of a view, unit norm, limit of "pairs"
using Member = std::tuple<const LearnerSettings*, Dict>;

// A row as some views make it, one after the other.
class SeenRow {
  public:
    SeenRow(const std::vector<Step>& steps, const Dict& state, const Rows& given) : rows_(&given) {
        const StateArrays arrays{state};
        for (const auto& [name, unit_norm, limit] : steps)
            with_view(name, [&](auto of) {
                using View = typename decltype(of)::type;
                View view = View::open(arrays, nullptr);
                if constexpr (requires { view.unit_norm; }) view.unit_norm = unit_norm;
                if constexpr (requires { view.limit; }) view.limit = limit;
                require(rows_->n_columns <= View::n_features(arrays),
                        "the matrix has more columns than the view has features");
                made_ = made(view, *rows_, 0, nullptr, 0, 1, nullptr);
                const auto n = static_cast<std::int32_t>(made_.value.size());
                own_.emplace(Row{made_.column.data(), made_.value.data(), n, false}, n ? made_.column.back() + 1 : 0);
                rows_ = &*own_;
            });
    }

    const Rows& rows() const { return *rows_; }

  private:
    const Rows* rows_;
    MadeRows made_;
    std::optional<OneRow> own_;
};

// x' Sigma x of one matrix over the features, some of whose updates are pending.
template <class Real>
double variance_of(const Dict& state, const Row& row, std::size_t d) {
    const auto sigma = entry<Real, 3>(state, "covariance"), pending = entry<Real, 3>(state, "pending");
    const auto pending_rows = entry<std::int64_t, 1>(state, "pending_rows");
    require(pending_rows.size() == 1, "there must be one number of pending rows");
    const std::int64_t waiting = pending_rows.data()[0];
    require(sigma.shape(0) == 1 && sigma.shape(1) == d && sigma.shape(2) == d && pending.shape(0) == 1 &&
                pending.shape(2) == d && waiting >= 0 && waiting <= std::int64_t(pending.shape(1)),
            "the matrices do not fit the weights");
    std::vector<Real> x(d);
    row.each([&](std::int32_t j, double value) { x[std::size_t(j + row.intercept)] = static_cast<Real>(value); });
    const auto along = [&](const Real* other) { return dot(other, x.data(), int(d)); };
    double variance = 0.0;
    for (std::size_t i = 0; i < d; ++i)
        if (x[i] != Real(0)) variance += double(x[i]) * along(sigma.data() + i * d);
    for (std::int64_t u = 0; u < waiting; ++u) {
        const double lost = along(pending.data() + std::size_t(u) * d);
        variance -= lost * lost;
    }
    return std::max(variance * data<double>(state, "scale")[0], 0.0);
}

// Scores on the scale of log-odds, before the correction.
void calibrate(const TaskFacts& task, const double* calibration, int columns, double* scores) {
    if (task.one_column || task.lists) {
        for (int k = 0; k < columns; ++k) scores[k] = Line::at(calibration + k * LabelCalibration::size, scores[k]);
        return;
    }
    for (int k = 0; k < columns; ++k) scores[k] = std::clamp(scores[k], -kLargest, kLargest);
    const double largest = *std::max_element(scores, scores + columns);
    for (int k = 0; k < columns; ++k) scores[k] = (scores[k] - largest) * calibration[0];
}

// For members that see rows alike; numbers: theirs in the stack. Returns false if the row has columns beyond the
// weights. A member with a large matrix is given as one without variances, which are then those of the matrix.
bool score_row(const std::vector<Step>& views, const std::vector<Member>& members, const Matrix& matrix,
               const std::vector<std::size_t>& numbers, Array<double, 3> out) {
    require(matrix.rows->n_rows == 1 && out.shape(1) == 1, "there must be one row");
    require(!members.empty() && numbers.size() == members.size(), "every member needs a number");
    require_columns(matrix);
    const SeenRow seen(views, std::get<1>(members[0]), *matrix.rows);
    for (std::size_t m = 0; m < members.size(); ++m) {
        const auto& [settings, state] = members[m];
        const TaskFacts& task = settings->facts();
        require(!task.threshold, "scores relative to a threshold are not moderated");
        const auto learner = settings->open(state, 0, nullptr);
        if (seen.rows().n_columns + learner->intercept > learner->n_features) return false;
        const int columns = learner->columns;
        require(numbers[m] < out.shape(0) && out.shape(2) == std::size_t(columns), "the scores do not fit the columns");
        double* scores = out.data() + numbers[m] * std::size_t(columns);
        const std::int64_t n_seen = data<std::int64_t>(state, "counters")[0];
        std::vector<double> plain(static_cast<std::size_t>(columns));
        double* calibration = data<double>(state, "calibration");
        RowBuffer buffer;
        const Row row = seen.rows().at(0, learner->intercept, buffer);
        if (task.targets) {
            learner->prediction(row, n_seen, scores, plain.data());
            for (int k = 0; k < columns; ++k)
                scores[k] += TargetStatistics{calibration + k * TargetStatistics::size}.mean();
            continue;
        }
        if (state.contains("pending") && settings->covariance == covariance_number("identity")) {
            learner->prediction(row, n_seen, scores, plain.data());
            const auto d = std::size_t(learner->n_features);
            const bool single = nb::cast<nb::ndarray<nb::ro>>(state["weights"]).dtype() == nb::dtype<float>();
            const double v = single ? variance_of<float>(state, row, d) : variance_of<double>(state, row, d);
            const double shrink = moderation(columns > 1 ? 2.0 * v : v, settings->prior_variance);
            for (int k = 0; k < columns; ++k) scores[k] *= shrink;
        } else {
            learner->moderated({seen.rows(), 0.0, HUGE_VAL}, n_seen, settings->prior_variance, task.several,
                               settings->independent, plain.data(), scores);
        }
        calibrate(task, calibration, columns, scores);
    }
    return true;
}

}  // namespace

void bind_stack_row(nb::module_& m) {
    m.def("score_row", &score_row, "views"_a, "members"_a, "matrix"_a, "numbers"_a, "out"_a.noconvert());
}

}  // namespace confidently::python
