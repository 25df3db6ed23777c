// Learners over the arrays of a state: the only place where all covariances are compiled for all tasks.
#include <limits>
#include <type_traits>

#include "bindings/learner_settings.hpp"
#include "bindings/state_arrays.hpp"
#include "covariances/table.hpp"

namespace confidently::python {

namespace {

// The weights of a state. Unlike the other arrays they need not be contiguous: with several columns, spare ones may
// follow those of every plane.
template <class Real>
Weights<Real> weights_of(const LearnerSettings& learner, const nb::dict& state, UndoLog* undo) {
    const auto array = entry_as<nb::ndarray<const Real, nb::ndim<3>, nb::device::cpu>>(state, "weights");
    const std::int64_t features = std::int64_t(array.shape(0)), planes = std::int64_t(array.shape(1)),
                       columns = std::int64_t(array.shape(2));
    const std::int64_t spacing = features && planes > 1 ? array.stride(1) : features > 1 ? array.stride(0) : columns;
    require(columns <= 1 || array.stride(2) == 1, "the columns of the weights are not adjacent");
    require(spacing >= columns, "the planes of the weights overlap");
    require(!learner.facts().one_column || spacing == columns, "the weights of two classes have no columns to spare");
    require(features <= 1 || array.stride(0) == planes * spacing, "the weights are not in order");
    require(planes * columns == 0 || spacing <= std::numeric_limits<int>::max() / planes,
            "there are too many columns of weights");
    return {const_cast<Real*>(array.data()),
            features,
            int(planes),
            int(columns),
            int(columns),
            int(spacing),
            learner.intercept,
            learner.average,
            undo ? &undo->of<Real>() : nullptr};
}

// The weights of a state that has some of them, in lists (src/confidently/covariances/sparse.py).
template <class Real>
SparseWeights<Real> sparse_weights_of(const LearnerSettings& learner, const nb::dict& state, UndoLog* undo) {
    using List = typename SparseWeights<Real>::List;
    const auto lists = entry<std::int64_t, 2>(state, "lists");
    require(lists.shape(1) == 2, "lists have a start and a size");
    const auto extent = entry<std::int64_t, 1>(state, "extent");
    require(extent.size() == 2, "the extent is that of places and of columns");
    const auto column = entry<std::int32_t, 1>(state, "column");
    const StateArrays arrays{state};
    SparseWeights<Real> weights{
        reinterpret_cast<List*>(const_cast<std::int64_t*>(lists.data())),
        const_cast<std::int32_t*>(column.data()),
        arrays.array<Real>("mean", column.size()),
        arrays.array<Real>("variance", column.size()),
        learner.average ? arrays.array<Real>("drift", column.size()) : nullptr,
        const_cast<std::int64_t*>(extent.data()),
        std::int64_t(column.size()),
        std::int64_t(lists.shape(0)),
        int(extent.data()[1]),
        learner.intercept,
        undo ? &undo->of<Real>() : nullptr,
        undo ? &undo->lists : nullptr,
    };
    require(*weights.used >= 0 && *weights.used <= weights.room, "the lists use more places than there are");
    require(extent.data()[1] >= 0 && extent.data()[1] <= std::numeric_limits<std::int32_t>::max(),
            "there are too many columns of weights");
    return weights;
}

template <class Real>
std::unique_ptr<AnyLearner> open_sparse(const LearnerSettings& learner, const nb::dict& state, std::int64_t n_columns,
                                        UndoLog* undo) {
    require(!learner.independent, "weights in lists have one scale");
    const SparseWeights<Real> weights = sparse_weights_of<Real>(learner, state, undo);
    require(n_columns + learner.intercept <= weights.n_features,
            "the matrix has more columns than the state has features");
    require_counts(state, learner.facts(), weights.columns, false);
    const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), false};
    const ScaledVariances<Real> variances{scales, learner.min_variance * learner.prior_variance};
    return std::make_unique<LearnerOf<SparseCovariance<Real>, Real>>(
        SparseCovariance<Real>{weights, variances, learner.moments, learner.prior_variance, learner.min_variance});
}

template <class Real, class TableRow>
std::unique_ptr<AnyLearner> open_stored(const LearnerSettings& learner, const nb::dict& state, std::int64_t n_columns,
                                        UndoLog* undo) {
    const Weights<Real> weights = weights_of<Real>(learner, state, undo);
    const bool regression = learner.facts().targets;
    require(weights.planes == TableRow::planes + learner.average, "the weights have the wrong number of planes");
    require(n_columns + learner.intercept <= weights.n_features,
            "the matrix has more columns than the state has features");
    require_counts(state, learner.facts(), weights.columns, learner.independent);
    const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), learner.independent};
    const bool one_column = learner.facts().one_column || (regression && weights.columns == 1 && weights.spacing == 1);
    const CovarianceSettings settings{one_column,
                                      learner.independent,
                                      rescales(learner.rule),
                                      learner.prior_variance,
                                      regression ? 0.0 : learner.min_variance,
                                      learner.moments,
                                      learner.forget,
                                      learner.pending};
    std::unique_ptr<AnyLearner> opened;
    TableRow::template open<Real>(StateArrays{state}, weights, scales, settings,
                                  [&]<class Covariance>(const Covariance& covariance) {
        opened = std::make_unique<LearnerOf<Covariance, Real>>(covariance);
    });
    return opened;
}

template <class Real, class TableRow>
std::unique_ptr<AnyLearner> open_typed(const LearnerSettings& learner, const nb::dict& state, std::int64_t n_columns,
                                       UndoLog* undo) {
    if constexpr (std::is_same_v<TableRow, Sparse>)
        return open_sparse<Real>(learner, state, n_columns, undo);
    else
        return open_stored<Real, TableRow>(learner, state, n_columns, undo);
}

}  // namespace

std::unique_ptr<AnyLearner> LearnerSettings::open(const nb::dict& state, std::int64_t n_columns, UndoLog* undo) const {
    nb::ndarray<nb::ro> weights;
    const char* name = state.contains("weights") ? "weights" : "mean";  // of weights in lists
    require(state.contains(name) && nb::try_cast(state[name], weights, false), "weights is missing");
    const bool single = weights.dtype() == nb::dtype<float>();
    std::unique_ptr<AnyLearner> opened;
    with_covariance(covariance, [&]<class TableRow>(TableRow) {
        opened = single ? open_typed<float, TableRow>(*this, state, n_columns, undo)
                        : open_typed<double, TableRow>(*this, state, n_columns, undo);
    });
    return opened;
}

}  // namespace confidently::python
