// A learner's settings, and from them the geometry over a state's arrays.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "covariances/dense.hpp"
#include "covariances/diagonal.hpp"
#include "covariances/forgetting.hpp"
#include "covariances/identity.hpp"
#include "covariances/packed.hpp"
#include "bindings/learner.hpp"

namespace confidently::python {

enum class Covariance { identity, diagonal, full, shared };

// A learner's settings. The state it works on is a dict of NumPy arrays that belongs to Python (src/confidently/covariances/state.py).
struct LearnerSettings {
    AnyRule rule;
    Covariance covariance;
    Task task;
    bool intercept, average;
    double prior_variance, min_variance, forget;

    bool independent() const { return task == Task::one_vs_rest; }

    // calls f(geometry, type) with the geometry over the state's arrays
    template <class F>
    void with_geometry(const nb::dict& state, std::int64_t n_columns, F&& f) const {
        if (nb::cast<nb::ndarray<nb::ro>>(state["weights"]).dtype() == nb::dtype<float>())
            with_type<float>(state, n_columns, f);
        else
            with_type<double>(state, n_columns, f);
    }

    template <class Real, class F>
    void with_type(const nb::dict& state, std::int64_t n_columns, F&& f) const {
        const auto array = entry<Real, 3>(state, "weights");
        const Weights<Real> w{const_cast<Real*>(array.data()), std::int64_t(array.shape(0)), int(array.shape(1)), int(array.shape(2)),
                              intercept, average};
        require(w.planes == 1 + (covariance == Covariance::diagonal) + average, "weights have the wrong number of planes");
        require(n_columns + intercept <= w.n_features, "more columns than the state has features");
        require_counts(state, task, w.columns);
        const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), independent()};
        const double least = min_variance * prior_variance;
        switch (covariance) {
            case Covariance::identity: return f(IdentityGeometry<Real>{w, prior_variance}, Real());
            case Covariance::diagonal:
                if (forget > 0.0) return with_fading(state, w, {scales, least}, f);
                if (packable(state)) return f(PackedGeometry<Real>{w, least}, Real());
                return f(DiagonalGeometry<Real>{w, {scales, least}}, Real());
            case Covariance::full:
            case Covariance::shared: return with_matrices(state, w, scales, f);
        }
    }

    template <class Real, class F>
    void with_fading(const nb::dict& state, const Weights<Real>& w, const ScaledVariances<Real>& scaled, F&& f) const {
        require(entry<double, 1>(state, "kept").size() == std::size_t(independent() ? w.columns : 1), "kept does not fit the weights");
        f(DiagonalGeometry<Real, FadingVariances<Real>>{w, {scaled, prior_variance, min_variance, forget, data<double>(state, "kept")}},
          Real());
    }

    // calls f with the geometry over the state's covariances. Those in single precision are widened for the length of
    // the call: rounded after every row they would lose three digits in a few thousand.
    template <class Real, class F>
    void with_matrices(const nb::dict& state, const Weights<Real>& w, const Scales& scales, F&& f) const {
        const Sharing sharing = independent() ? Sharing::independent
                                : covariance == Covariance::shared ? Sharing::shared : Sharing::joint;
        const auto matrices = entry<Real, 3>(state, "covariance");
        const std::int64_t size = w.n_features * (sharing == Sharing::joint ? w.columns : 1);
        require(matrices.shape(0) == std::size_t(independent() ? w.columns : 1) &&
                    std::int64_t(matrices.shape(1)) == size && std::int64_t(matrices.shape(2)) == size,
                "covariance does not fit the weights");
        require(*data<std::int64_t>(state, "pending_rows") == 0, "what is pending must be taken off first");
        DenseGeometry<Real> geometry{w, scales, {nullptr, size}, sharing,
                                     std::max(min_variance, kDenseNoise<Real>) * prior_variance};
        Real* stored = const_cast<Real*>(matrices.data());
        if constexpr (std::is_same_v<Real, double>) {
            geometry.sigma.base = stored;
            f(geometry, Real());
        } else {
            std::vector<double> wide(stored, stored + matrices.size());
            geometry.sigma.base = wide.data();
            f(geometry, Real());
            std::transform(wide.begin(), wide.end(), stored, [](double s) { return static_cast<Real>(s); });
        }
    }

    bool packable(const nb::dict& state) const {
        const bool stretches = std::holds_alternative<CELLIP>(rule) || std::holds_alternative<IELLIP>(rule);
        return task == Task::binary && !average && !stretches && *data<double>(state, "scale") == 1.0;
    }

    template <class Geometry, class F>
    void with_task(const Geometry&, F&& f) const {
        if constexpr (Geometry::binary_only) return f(Binary());
        python::with_task(task, f);
    }
};

}  // namespace confidently::python
