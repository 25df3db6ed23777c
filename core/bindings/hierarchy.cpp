// The exact posterior of entities for Python: training, expectations, and its arrays.
#include <nanobind/stl/optional.h>

#include "entities/hierarchy.hpp"

#include <cmath>

#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/learner.hpp"

namespace confidently::python {

namespace {

bool finite(const double* numbers, std::size_t n, double least = -std::numeric_limits<double>::max()) {
    return std::all_of(numbers, numbers + n, [&](double one) { return std::isfinite(one) && one >= least; });
}

void check(const Hierarchy& all, const Matrix& matrix, Input<std::int32_t, 1> slots, std::int32_t least,
           const Optional<std::int8_t>& missing, std::size_t first = 0) {
    require(std::int64_t(slots.size()) == matrix.rows->n_rows, "there must be a slot for each row");
    for (std::size_t i = first; i < slots.size(); ++i)
        require(slots.data()[i] >= least && slots.data()[i] < std::int64_t(all.size()), "slots out of range");
    require_columns(matrix);
    for (std::int64_t i = 0; i < matrix.rows->n_rows; ++i)
        require(matrix.rows->in_order(i), "the columns of a row must ascend");
    const auto columns = std::size_t(std::max<std::int64_t>(matrix.rows->n_columns, std::int64_t(all.d) - 1));
    require(!missing || missing->size() >= columns, "there must be a kind of every column");
}

// Trains on the rows from first on in their order; row 0 has the number now. Returns before which row it stopped: one
// that has too many columns, or that comes after entities were forgotten.
std::size_t learn(Hierarchy& all, Input<std::int32_t, 1> slots, const Matrix& matrix, Optional<std::int8_t> missing,
                  Input<double, 1> targets, Optional<double> weight, std::size_t first, std::int64_t now) {
    check(all, matrix, slots, 0, missing, first);
    const std::size_t n = slots.size();
    require(targets.size() == n && (!weight || weight->size() == n), "targets or weights do not match the rows");
    require(now >= 0, "rows are counted from 0");
    require(finite(targets.data(), n), "targets must be finite");
    require(!weight || finite(weight->data(), n, 0.0), "weights must be finite, and not negative");
    const ReleasedLock released(matrix.stored > kManyEntries);
    RowBuffer buffer;
    for (std::size_t i = first; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0;
        if (!(w > 0.0)) continue;
        const Row row = matrix.rows->at(std::int64_t(i), false, buffer);
        if (!Hierarchy::fits(row)) return i;
        all.learn(std::size_t(slots.data()[i]), row, data_or_null(missing), targets.data()[i], w,
                  now + std::int64_t(i));
        if (all.forgot) return i + 1;
    }
    return n;
}

// The expectation of the target of each row, and its variance in units of the noise.
void predict(const Hierarchy& all, Input<std::int32_t, 1> slots, const Matrix& matrix, Optional<std::int8_t> missing,
             std::int64_t now, Array<double, 1> mean, Array<double, 1> variance) {
    check(all, matrix, slots, -1, missing);
    require(mean.size() == slots.size() && variance.size() == slots.size(), "means do not match the rows");
    RowBuffer buffer;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const Row row = matrix.rows->at(std::int64_t(i), false, buffer);
        const auto found = all.predict(all.known(slots.data()[i], now), row, data_or_null(missing));
        mean.data()[i] = found.mean, variance.data()[i] = found.variance;
    }
}

// The first numbers of an array and the one of the target, or with d numbers those only.
template <class Array>
std::vector<double> with_target(const Hierarchy& all, const Array& from) {
    std::vector<double> found(from.begin(), from.begin() + std::ptrdiff_t(all.d));
    found.push_back(from[kY]);
    return found;
}

template <class Array>
std::vector<double> of_columns(const Hierarchy& all, const Array& from) {
    return {from.begin(), from.begin() + std::ptrdiff_t(all.d)};
}

// What entities have in common.
Dict state_of_columns(const Hierarchy& all) {
    nb::dict found;
    found["center"] = array_of(with_target(all, all.center));
    found["count"] = array_of(with_target(all, all.count));
    found["mean"] = array_of(with_target(all, all.mean));
    found["squares"] = array_of(with_target(all, all.squares));
    found["variances"] = array_of(of_columns(all, all.variances));
    found["start"] = array_of(of_columns(all, all.start));
    found["shared"] = array_of(of_columns(all, all.weights));
    std::vector<double> covariance;
    for (std::size_t j = 0; j < all.d; ++j)
        for (std::size_t k = 0; k < all.d; ++k) covariance.push_back(all.covariance[j * kMostColumns + k]);
    found["covariance"] = array_of(std::move(covariance));
    found["totals"] = array_of(std::vector<double>{all.left, all.weight, all.fresh});
    found["schedule"] = array_of(std::vector<std::int64_t>{all.seen, all.next});
    found["losses"] = array_of(std::vector<double>(all.losses));
    return Dict(found);
}

// Everything as arrays, which restore() takes.
Dict state(const Hierarchy& all) {
    nb::dict found;
    found["last"] = array_of(std::vector<std::int64_t>(all.last));
    found["rows"] = array_of(std::vector<std::int64_t>(all.rows));
    found["sums"] = array_of(std::vector<double>(all.sums));
    for (auto [name, array] : state_of_columns(all)) found[name] = array;
    return Dict(found);
}

using OneEntity = nb::typed<nb::tuple, Vector<double>, std::int64_t, std::int64_t>;

// Sums of one entity, the number of its last row, and how many there were.
OneEntity one(const Hierarchy& all, std::size_t slot) {
    require(slot < all.size(), "slots out of range");
    const auto first = all.sums.begin() + std::ptrdiff_t(slot * all.stride());
    return OneEntity(nb::make_tuple(array_of(std::vector<double>(first, first + std::ptrdiff_t(all.stride()))),
                                    all.last[slot], all.rows[slot]));
}

const double* numbers(const Dict& state, const char* name, std::size_t n, double least) {
    const auto found = entry<double, 1>(state, name);
    require(found.size() == n && finite(found.data(), n, least), "arrays of entities have the wrong size or value");
    return found.data();
}

void restore(Hierarchy& all, const Dict& state) {
    constexpr double any = -std::numeric_limits<double>::max(), positive = 1e-300;
    const auto last = entry<std::int64_t, 1>(state, "last"), rows = entry<std::int64_t, 1>(state, "rows");
    const auto schedule = entry<std::int64_t, 1>(state, "schedule");
    const std::size_t d = entry<double, 1>(state, "variances").size(), n = last.size();
    require(d >= 1 && d <= kMostColumns, "entities have too many columns");
    require(rows.size() == n && schedule.size() == 2, "last and rows must have one length");
    Hierarchy found(all.max_age);
    found.d = d;
    const double* sums = numbers(state, "sums", n * found.stride(), any);
    found.sums.assign(sums, sums + n * found.stride());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= d; ++j)
            require(sums[i * found.stride() + j * (j + 1) / 2 + j] >= 0.0, "sums of squares must not be negative");
    found.last.assign(last.data(), last.data() + n), found.rows.assign(rows.data(), rows.data() + n);
    const auto with_target = [&](const char* name, double least, Hierarchy::Values& to) {
        const double* from = numbers(state, name, d + 1, least);
        std::copy_n(from, d, to.begin()), to[kY] = from[d];
    };
    with_target("center", any, found.center), with_target("count", 0.0, found.count);
    with_target("mean", any, found.mean), with_target("squares", 0.0, found.squares);
    std::copy_n(numbers(state, "variances", d, positive), d, found.variances.begin());
    std::copy_n(numbers(state, "start", d, positive), d, found.start.begin());
    std::copy_n(numbers(state, "shared", d, any), d, found.weights.begin());
    const double* covariance = numbers(state, "covariance", d * d, any);
    for (std::size_t j = 0; j < d; ++j) std::copy_n(covariance + j * d, d, &found.covariance[j * kMostColumns]);
    const double* totals = numbers(state, "totals", 3, 0.0);
    found.left = totals[0], found.weight = totals[1], found.fresh = totals[2];
    require(found.fresh > 0.0, "the prior must have a positive precision");
    found.seen = schedule.data()[0], found.next = schedule.data()[1];
    const double* losses = numbers(state, "losses", 3, 0.0);
    found.losses.assign(losses, losses + 3);
    all = std::move(found);
}

void keep(Hierarchy& all, Input<std::int32_t, 1> slots) {
    std::vector<bool> taken(all.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::int32_t slot = slots.data()[i];
        require(slot >= 0 && std::size_t(slot) < taken.size() && !taken[std::size_t(slot)],
                "slots are out of range, or occur twice");
        taken[std::size_t(slot)] = true;
    }
    all.keep(slots.data(), slots.size());
}

std::size_t bytes(const Hierarchy& all) {
    return all.sums.capacity() * sizeof(double) + (all.last.capacity() + all.rows.capacity()) * sizeof(std::int64_t);
}

}  // namespace

void bind_hierarchy(nb::module_& m) {
    nb::class_<Hierarchy>(m, "Hierarchy")
        .def("__init__",
             [](Hierarchy* self, std::int64_t max_age) {
        require(max_age > 0, "entities must have an age");
        new (self) Hierarchy(max_age);
    }, "max_age"_a)
        .def("__len__", &Hierarchy::size)
        .def("add", &Hierarchy::add, "n"_a)
        .def("keep", &keep, "slots"_a.noconvert())
        .def("learn", &learn, "slots"_a.noconvert(), "matrix"_a, "missing"_a.noconvert().none(),
             "targets"_a.noconvert(), "weight"_a.noconvert().none(), "first"_a, "now"_a)
        .def("predict", &predict, "slots"_a.noconvert(), "matrix"_a, "missing"_a.noconvert().none(), "now"_a,
             "mean"_a.noconvert(), "variance"_a.noconvert())
        .def("settle", &Hierarchy::settle, "now"_a)
        .def("one", &one, "slot"_a)
        .def("state", &state)
        .def("state_of_columns", &state_of_columns)
        .def("restore", &restore, "state"_a)
        .def_prop_ro("forgot", [](const Hierarchy& all) { return all.forgot; }, "whether entities are to be dropped")
        .def_prop_ro("noise", &Hierarchy::noise, "variance of the noise")
        .def_prop_ro("freedom", &Hierarchy::freedom, "rows less the shared weights that they determine")
        .def_prop_ro("last", [](const Hierarchy& all) { return array_of(std::vector<std::int64_t>(all.last)); },
                     "number of the last row of each entity, -1 if it is forgotten")
        .def_prop_ro("bytes", &bytes);
}

}  // namespace confidently::python
