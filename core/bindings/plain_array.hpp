// An array that needs no NumPy, whose import takes longer than to learn from a small file.
//
// What the core allocates before NumPy is imported is a PlainArray, afterwards an array of NumPy. A plain array does by
// itself what learning from a file asks for: its shape, indexing by numbers and by slices without a step, copies, the
// smallest and the largest number. For all else it imports NumPy and does what an array of NumPy over the same memory
// does. So no caller need know which of the two it has, except that this one is no instance of numpy.ndarray, and that
// single numbers are Python's until NumPy is there.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace confidently::python {

struct PlainArray {
    static constexpr int kMaxDimensions = 3;

    std::shared_ptr<void> owner;  // of the memory
    std::byte* data;
    const char* format;  // of a number, as the module struct names it
    Py_ssize_t itemsize;
    int dimensions;
    std::array<Py_ssize_t, kMaxDimensions> shape{}, strides{};  // in bytes

    PlainArray(std::shared_ptr<void> owner, void* data, const char* format, std::size_t itemsize,
               std::span<const Py_ssize_t> sizes)
        : owner(std::move(owner)), data(static_cast<std::byte*>(data)), format(format), itemsize(Py_ssize_t(itemsize)),
          dimensions(int(sizes.size())) {
        std::copy(sizes.begin(), sizes.end(), shape.begin());
        Py_ssize_t stride = this->itemsize;
        for (int axis = dimensions; axis-- > 0; stride *= shape[std::size_t(axis)]) strides[std::size_t(axis)] = stride;
    }

    Py_ssize_t size() const {
        Py_ssize_t n = 1;
        for (int axis = 0; axis < dimensions; ++axis) n *= shape[std::size_t(axis)];
        return n;
    }
    Py_ssize_t bytes() const { return size() * itemsize; }

    bool is_contiguous() const {
        Py_ssize_t stride = itemsize;
        for (int axis = dimensions; axis-- > 0; stride *= shape[std::size_t(axis)])
            if (strides[std::size_t(axis)] != stride && shape[std::size_t(axis)] != 1 && size()) return false;
        return true;
    }
};

// How the module struct names a type; NumPy calls 64 bits a long where they are one.
template <class T>
constexpr const char* format_of() {
    if constexpr (std::is_same_v<T, double>) return "d";
    else if constexpr (std::is_same_v<T, float>) return "f";
    else if constexpr (std::is_same_v<T, std::int64_t>) return sizeof(long) == 8 ? "l" : "q";
    else if constexpr (std::is_same_v<T, std::int32_t>) return "i";
    else if constexpr (std::is_same_v<T, std::uint32_t>) return "I";
    else if constexpr (std::is_same_v<T, std::uint8_t>) return "B";
    else if constexpr (std::is_same_v<T, std::int8_t>) return "b";
}

inline bool numpy_is_loaded() { return PyDict_GetItemString(PyImport_GetModuleDict(), "numpy") != nullptr; }

// Whether new arrays are plain: until anyone imports NumPy, or for a test, which sets this.
inline std::atomic<bool> always_plain{false};
inline bool makes_plain_arrays() { return always_plain || !numpy_is_loaded(); }

}  // namespace confidently::python
