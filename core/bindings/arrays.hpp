// NumPy arrays in and out, for all bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

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

// nullptr if there is no array
template <class T>
const T* data_or_null(const Optional<T>& array) {
    return array ? array->data() : nullptr;
}

// A NumPy array that owns its data.
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

// Each adds its classes and functions to the module.
void bind_learner(nb::module_& m);
void bind_mira(nb::module_& m);
void bind_batch_products(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_dicts(nb::module_& m);

}  // namespace confidently::python
