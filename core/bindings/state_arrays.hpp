// The arrays of a state, which is a dict of arrays that belongs to Python (src/confidently/covariances/state.py).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"

namespace confidently::python {

// By name, for the rows of the tables of covariances and views.
struct StateArrays {
    const nb::dict& state;

    bool has(const char* name) const { return state.contains(name); }

    // The array of this name and type, which must have these sizes.
    template <class T, class... Sizes>
    T* array(const char* name, Sizes... sizes) const {
        const auto found = entry<T, int(sizeof...(sizes))>(state, name);
        std::size_t axis = 0;
        if (!(... && (found.shape(axis++) == static_cast<std::size_t>(sizes))))
            throw std::invalid_argument(std::string(name) + " does not have the size of the other arrays");
        return const_cast<T*>(found.data());
    }

    // One of the sizes of an array, of any type.
    std::size_t size(const char* name, std::size_t axis = 0) const {
        nb::ndarray<nb::ro> found;
        if (!state.contains(name) || !nb::try_cast(state[name], found, false) || found.ndim() <= axis)
            throw std::invalid_argument(std::string(name) + " is missing, or has too few dimensions");
        return found.shape(axis);
    }
};

}  // namespace confidently::python
