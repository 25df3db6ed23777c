// Arrays in and out, for all bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory_pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace confidently::python {

template <class T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int dimensions>
using Input = Array<const T, dimensions>;
template <class T>
using Optional = std::optional<Input<T, 1>>;

// The types of objects made here, for type checkers (src/confidently/_core.pyi is generated from them).
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
template <class T>
using Vector = nb::typed<nb::object, nb::ndarray<nb::numpy, T, nb::ndim<1>>>;

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// Checks where parts of an array of this size begin and the last one ends: start has one number more than there are
// parts.
inline void require_starts(const Input<std::int64_t, 1>& start, std::size_t size, const char* what) {
    const std::int64_t* at = start.data();
    require(start.shape(0) >= 1 && at[0] >= 0, what);
    bool ascending = true;
    for (std::size_t i = 1; i < start.shape(0); ++i) ascending &= at[i - 1] <= at[i];
    require(ascending && at[start.shape(0) - 1] <= static_cast<std::int64_t>(size), what);
}

// Checks that numbers are from 0 to n - 1.
template <class T>
void require_below(const T* numbers, std::int64_t size, std::int64_t n, const char* what) {
    bool below = true;
    for (std::int64_t i = 0; i < size; ++i) below &= (numbers[i] >= 0) & (numbers[i] < n);
    require(below, what);
}

// An entry of a state, which is a dict of arrays: never converted, since the arrays themselves are learned. It may be
// read-only, as prediction only reads it; require_writable() comes before training.
template <class Array>
Array entry_as(const nb::dict& state, const char* name) {
    Array found;
    if (!state.contains(name) || !nb::try_cast(state[name], found, false))
        throw std::invalid_argument(std::string(name) + " is missing, or of another type or shape");
    return found;
}

template <class T, int dimensions>
Input<T, dimensions> entry(const nb::dict& state, const char* name) {
    return entry_as<Input<T, dimensions>>(state, name);
}

inline bool is_writable(nb::handle array) {
    nb::ndarray<> writable;
    return nb::try_cast(array, writable, false);
}

inline void require_writable(const nb::dict& state) {
    for (auto [name, array] : state)
        if (!is_writable(array))
            throw std::invalid_argument(nb::cast<std::string>(nb::str(name)) + " cannot be written to");
}

// nullptr if there is no array
template <class T>
const T* data_or_null(const Optional<T>& array) {
    return array ? array->data() : nullptr;
}

// empty if there is no array
template <class T>
std::span<const T> span_of(const Optional<T>& array) {
    return array ? std::span(array->data(), array->size()) : std::span<const T>();
}

// An array that owns its data.
template <class T, class Owner>
Vector<T> owning_array(T* data, std::int64_t size, Owner owner) {
    auto* kept = new Owner(std::move(owner));
    nb::capsule capsule(kept, [](void* p) noexcept { delete static_cast<Owner*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {static_cast<std::size_t>(size)}, capsule));
}

template <class T>
Vector<T> array_of(std::vector<T> v) {
    T* data = v.data();  // moving a vector does not move its elements
    const auto size = static_cast<std::int64_t>(v.size());
    return owning_array(data, size, std::move(v));
}

template <class T>
Vector<T> array_of(std::unique_ptr<T[]> v, std::int64_t size) {
    T* data = v.get();
    return owning_array(data, size, std::move(v));
}

template <class T>
Vector<T> array_of(Buffer<T> v, std::int64_t size) {
    T* data = v.get();
    return owning_array(data, size, std::move(v));
}

// Each adds its classes and functions to the module.
void bind_learner(nb::module_& m);
void bind_mira(nb::module_& m);
void bind_bandits(nb::module_& m);
void bind_batch_products(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_dicts(nb::module_& m);
void bind_entities(nb::module_& m);
void bind_hierarchy(nb::module_& m);
void bind_predictions(nb::module_& m);
void bind_views(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_stack(nb::module_& m);
void bind_stack_row(nb::module_& m);
void bind_build(nb::module_& m);

}  // namespace confidently::python
