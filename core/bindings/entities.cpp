// Entities for Python: training them, their scores, and their arrays.
#include <nanobind/stl/optional.h>

#include "entities/entities.hpp"

#include <cmath>
#include <limits>

#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/learner.hpp"

namespace confidently::python {

namespace {

constexpr double kAny = -std::numeric_limits<double>::max();

void require_slots(const Entities& all, const Matrix& matrix, Input<std::int32_t, 1> slots, std::int32_t least) {
    require(std::int64_t(slots.size()) == matrix.rows->n_rows, "there must be a slot for each row");
    for (std::size_t i = 0; i < slots.size(); ++i)
        require(slots.data()[i] >= least && slots.data()[i] < std::int64_t(all.entities.size()), "slots out of range");
    require_columns(matrix);
    for (std::int64_t i = 0; i < matrix.rows->n_rows; ++i)
        require(matrix.rows->in_order(i), "the columns of a row must ascend");
}

void check_numbers(const double* numbers, std::size_t n, double least, const char* what) {
    for (std::size_t i = 0; i < n; ++i) require(std::isfinite(numbers[i]) && numbers[i] >= least, what);
}

// Trains on rows in their order; now: the number of the first.
void learn(Entities& all, Input<std::int32_t, 1> slots, const Matrix& matrix, Input<double, 2> offsets,
           Optional<std::int32_t> labels, Optional<double> targets, Optional<double> weight, std::int64_t now) {
    require_slots(all, matrix, slots, 0);
    const std::size_t n = slots.size();
    require(offsets.shape(0) == n && offsets.shape(1) == all.outputs, "offsets must have a column per output");
    require(labels.has_value() != all.regression && targets.has_value() == all.regression,
            "labels are for classes, and targets for numbers");
    require(labels ? labels->size() == n : targets->size() == n, "labels or targets do not match the rows");
    require(!weight || weight->size() == n, "weights do not match the rows");
    require(now >= 0, "rows are counted from 0");
    check_numbers(offsets.data(), n * all.outputs, kAny, "offsets must be finite");
    if (weight) check_numbers(weight->data(), n, 0.0, "weights must be finite, and not negative");
    if (targets) check_numbers(targets->data(), n, kAny, "targets must be finite");
    if (labels)
        require_below(labels->data(), std::int64_t(n), std::int64_t(std::max<std::size_t>(all.outputs, 2)),
                      "labels out of range");
    const ReleasedLock released(matrix.stored > kManyEntries);
    for (std::size_t i = 0; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0;
        if (!(w > 0.0)) continue;
        all.learn(slots.data()[i], matrix.rows->at(std::int64_t(i), false, all.buffer),
                  offsets.data() + i * all.outputs, labels ? labels->data()[i] : 0,
                  targets ? targets->data() + i : nullptr, w, now + std::int64_t(i));
    }
}

// Mean and variance of the deviation of every output at every prior variance, shape (n, outputs, levels), and |x|^2.
void scores(const Entities& all, Input<std::int32_t, 1> slots, const Matrix& matrix, std::int64_t now,
            Array<double, 3> mean, Array<double, 3> variance, Array<double, 1> squares) {
    require_slots(all, matrix, slots, -1);
    const std::size_t n = slots.size(), cells = all.cells();
    for (const auto& out : {mean, variance})
        require(out.shape(0) == n && out.shape(1) == all.outputs && out.shape(2) == all.levels(),
                "means and variances must have the shape (rows, outputs, levels)");
    require(squares.shape(0) == n, "squares do not match the rows");
    EntityRow row;
    RowBuffer buffer;
    for (std::size_t i = 0; i < n; ++i) {
        row.read(matrix.rows->at(std::int64_t(i), false, buffer));
        all.score(all.known(slots.data()[i], now), row, mean.data() + i * cells, variance.data() + i * cells);
        squares.data()[i] = row.square;
    }
}

// What is known about the prior variances.
Dict levels(const Entities& all) {
    nb::dict found;
    found["evidence"] = array_of(std::vector<double>(all.evidence));
    found["noise"] = array_of(std::vector<double>(all.noise));
    found["losses"] = array_of(std::vector<double>(all.losses));
    return Dict(found);
}

// Everything about entities as arrays, which restore() takes.
Dict state(const Entities& all) {
    std::vector<std::int32_t> size, features;
    std::vector<std::int64_t> last, rows;
    std::vector<float> weights;
    for (const Entity& one : all.entities) {
        size.push_back(std::int32_t(one.features.size())), last.push_back(one.last), rows.push_back(one.rows);
        features.insert(features.end(), one.features.begin(), one.features.end());
        weights.insert(weights.end(), one.weights.begin(), one.weights.end());
    }
    nb::dict found;
    found["size"] = array_of(std::move(size));
    found["last"] = array_of(std::move(last));
    found["rows"] = array_of(std::move(rows));
    found["features"] = array_of(std::move(features));
    found["cells"] = array_of(std::move(weights));
    for (auto [name, array] : levels(all)) found[name] = array;
    return Dict(found);
}

void restore(Entities& all, const Dict& state) {
    const auto size = entry<std::int32_t, 1>(state, "size"), features = entry<std::int32_t, 1>(state, "features");
    const auto last = entry<std::int64_t, 1>(state, "last"), rows = entry<std::int64_t, 1>(state, "rows");
    const auto weights = entry<float, 1>(state, "cells");
    const auto evidence = entry<double, 1>(state, "evidence"), noise = entry<double, 1>(state, "noise");
    const auto losses = entry<double, 1>(state, "losses");
    const std::size_t n = size.size(), cells = 2 * all.cells();
    require(last.size() == n && rows.size() == n, "size, last and rows must have one length");
    require(weights.size() == features.size() * cells, "weights do not match the features");
    require(evidence.size() == all.evidence.size() && noise.size() == all.noise.size() && losses.size() == 3,
            "evidence and noise do not match the prior variances, or losses are not three");
    for (const auto& sums : {evidence, noise, losses})
        check_numbers(sums.data(), sums.size(), kAny, "evidence, noise and losses must be finite");
    std::vector<Entity> entities(n);
    std::size_t from = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t own = size.data()[i];
        require(own >= 0 && std::size_t(own) <= features.size() - from, "sizes do not match the features");
        const std::int32_t *first = features.data() + from, *end = first + own;
        for (const std::int32_t* at = first; at < end; ++at)
            require(*at >= 0 && (at == first || at[-1] < *at), "the features of an entity must ascend");
        entities[i] = {{first, end},
                       {weights.data() + from * cells, weights.data() + (from + std::size_t(own)) * cells},
                       last.data()[i],
                       rows.data()[i]};
        for (std::size_t k = 0; k < entities[i].weights.size(); ++k)
            require(std::isfinite(entities[i].weights[k]) && (k % 2 == 0 || entities[i].weights[k] > 0.0f),
                    "weights must be finite, and variances positive");
        from += std::size_t(own);
    }
    require(from == features.size(), "sizes do not match the features");
    all.entities = std::move(entities);
    all.evidence.assign(evidence.data(), evidence.data() + evidence.size());
    all.noise.assign(noise.data(), noise.data() + noise.size());
    all.losses.assign(losses.data(), losses.data() + losses.size());
}

using OneEntity = nb::typed<nb::tuple, Vector<std::int32_t>, Vector<float>, std::int64_t, std::int64_t>;

// Features and weights of one entity.
OneEntity one(const Entities& all, std::size_t slot) {
    require(slot < all.entities.size(), "slots out of range");
    const Entity& found = all.entities[slot];
    return OneEntity(nb::make_tuple(array_of(std::vector<std::int32_t>(found.features)),
                                    array_of(std::vector<float>(found.weights)), found.last, found.rows));
}

// Keeps these entities, in this order.
void keep(Entities& all, Input<std::int32_t, 1> slots) {
    std::vector<bool> taken(all.entities.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::int32_t slot = slots.data()[i];
        require(slot >= 0 && std::size_t(slot) < taken.size() && !taken[std::size_t(slot)],
                "slots are out of range, or occur twice");
        taken[std::size_t(slot)] = true;
    }
    std::vector<Entity> kept;
    kept.reserve(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        kept.push_back(std::move(all.entities[std::size_t(slots.data()[i])]));
    all.entities = std::move(kept);
}

std::size_t bytes(const Entities& all) {
    std::size_t total = all.entities.capacity() * sizeof(Entity);
    for (const Entity& one : all.entities)
        total += one.features.capacity() * sizeof(std::int32_t) + one.weights.capacity() * sizeof(float);
    return total;
}

}  // namespace

void bind_entities(nb::module_& m) {
    nb::class_<Entities>(m, "Entities")
        .def("__init__",
             [](Entities* self, Input<double, 1> priors, std::size_t outputs, bool regression, std::int64_t max_age) {
        require(priors.size() > 0 && outputs > 0 && max_age > 0, "there must be a prior variance and an output");
        check_numbers(priors.data(), priors.size(), 1e-30, "prior variances must be positive");
        require(!regression || outputs == 1, "numbers have one output");
        const std::size_t levels = priors.size() + 1;
        new (self) Entities{{priors.data(), priors.data() + priors.size()}, outputs, regression, max_age};
        self->evidence.resize(levels), self->noise.resize(2 * levels);
    }, "priors"_a.noconvert(), "outputs"_a, "regression"_a, "max_age"_a)
        .def("__len__", [](const Entities& all) { return all.entities.size(); })
        .def("add", [](Entities& all, std::size_t n) { all.entities.resize(all.entities.size() + n); }, "n"_a)
        .def("keep", &keep, "slots"_a.noconvert())
        .def("learn", &learn, "slots"_a.noconvert(), "matrix"_a, "offsets"_a.noconvert(), "labels"_a.noconvert().none(),
             "targets"_a.noconvert().none(), "weight"_a.noconvert().none(), "now"_a)
        .def("scores", &scores, "slots"_a.noconvert(), "matrix"_a, "now"_a, "mean"_a.noconvert(),
             "variance"_a.noconvert(), "squares"_a.noconvert())
        .def("one", &one, "slot"_a)
        .def("state", &state)
        .def("state_of_levels", &levels)
        .def("restore", &restore, "state"_a)
        .def_prop_ro("last",
                     [](const Entities& all) {
        std::vector<std::int64_t> last;
        for (const Entity& one : all.entities) last.push_back(one.last);
        return array_of(std::move(last));
    }, "number of the last row of each entity")
        .def_prop_ro("bytes", &bytes);
}

}  // namespace confidently::python
