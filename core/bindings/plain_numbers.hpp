// The numbers of plain arrays: loops over them, copies, and memory for new ones. Nothing here needs the interpreter.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "bindings/arrays.hpp"

namespace confidently::python {

inline constexpr std::size_t kHuge = std::size_t(1) << 22;  // bytes from which on large pages pay, as in NumPy

// Calls f with a null pointer to the type of the numbers.
template <class F>
auto with_type(const PlainArray& a, F&& f) {
    switch (a.format[0]) {
        case 'd': return f(static_cast<double*>(nullptr));
        case 'f': return f(static_cast<float*>(nullptr));
        case 'l':
        case 'q': return f(static_cast<std::int64_t*>(nullptr));
        case 'i': return f(static_cast<std::int32_t*>(nullptr));
        case 'I': return f(static_cast<std::uint32_t*>(nullptr));
        case 'b': return f(static_cast<std::int8_t*>(nullptr));
        default: return f(static_cast<std::uint8_t*>(nullptr));
    }
}

// The array with three axes, of which the first may be of size 1.
inline PlainArray in_three(const PlainArray& a) {
    PlainArray wide = a;
    const int more = PlainArray::kMaxDimensions - a.dimensions;
    wide.dimensions = PlainArray::kMaxDimensions;
    for (int axis = 0; axis < wide.dimensions; ++axis) {
        wide.shape[std::size_t(axis)] = axis < more ? 1 : a.shape[std::size_t(axis - more)];
        wide.strides[std::size_t(axis)] = axis < more ? 0 : a.strides[std::size_t(axis - more)];
    }
    return wide;
}

// Calls f with a pointer to every number, in order.
template <class T, class F>
void each(const PlainArray& array, F&& f) {
    const PlainArray a = in_three(array);
    for (Py_ssize_t i = 0; i < a.shape[0]; ++i)
        for (Py_ssize_t j = 0; j < a.shape[1]; ++j) {
            std::byte* at = a.data + i * a.strides[0] + j * a.strides[1];
            for (Py_ssize_t k = 0; k < a.shape[2]; ++k, at += a.strides[2]) f(reinterpret_cast<T*>(at));
        }
}

template <class To, class From>
void put_each(const PlainArray& to, const PlainArray& from) {
    std::byte* const begin = from.data;
    for (Py_ssize_t i = 0; i < to.shape[0]; ++i)
        for (Py_ssize_t j = 0; j < to.shape[1]; ++j) {
            std::byte* at = to.data + i * to.strides[0] + j * to.strides[1];
            const std::byte* source = begin + i * from.strides[0] + j * from.strides[1];
            for (Py_ssize_t k = 0; k < to.shape[2]; ++k, at += to.strides[2], source += from.strides[2])
                *reinterpret_cast<To*>(at) = To(*reinterpret_cast<const From*>(source));
        }
}

// Writes numbers of the same type, or rounds doubles to floats; along an axis where there is one number, that is written
// to all places. False for arrays of other types and shapes, and those that may share memory.
inline bool put_array(const PlainArray& array, const PlainArray& given) {
    if (array.owner == given.owner || given.dimensions > array.dimensions) return false;
    const PlainArray to = in_three(array);
    PlainArray from = in_three(given);
    for (std::size_t axis = 0; axis < std::size_t(PlainArray::kMaxDimensions); ++axis) {
        if (from.shape[axis] == 1) from.strides[axis] = 0;
        if (from.shape[axis] != to.shape[axis] && from.shape[axis] != 1) return false;
    }
    const bool rounds = array.format[0] == 'f' && given.format[0] == 'd';
    if (array.format[0] != given.format[0] && !rounds) return false;
    if (!rounds && array.shape == given.shape && array.is_contiguous() && given.is_contiguous()) {
        if (array.bytes()) std::memcpy(array.data, given.data, std::size_t(array.bytes()));
    } else if (rounds) {
        put_each<float, double>(to, from);
    } else {
        with_type(array, [&](auto* null) {
            using T = std::remove_pointer_t<decltype(null)>;
            put_each<T, T>(to, from);
        });
    }
    return true;
}

inline PlainArray copied(const PlainArray& a) {
    const auto bytes = std::size_t(a.bytes());
    std::shared_ptr<void> memory(std::malloc(std::max<std::size_t>(bytes, 1)), &std::free);
    if (!memory) throw std::bad_alloc();
    void* data = memory.get();
    PlainArray copy(std::move(memory), data, a.format, std::size_t(a.itemsize), std::span(a.shape).first(std::size_t(a.dimensions)));
    put_array(copy, a);
    return copy;
}

// Zeros, which the system clears when they are first touched.
inline std::shared_ptr<void> cleared(std::size_t bytes) {
    std::shared_ptr<void> memory(std::calloc(std::max<std::size_t>(bytes, 1), 1), &std::free);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= kHuge) {
        const auto page = std::size_t(sysconf(_SC_PAGESIZE)), begin = reinterpret_cast<std::size_t>(memory.get());
        const std::size_t aligned = (begin + page - 1) / page * page;
        madvise(reinterpret_cast<void*>(aligned), begin + bytes - aligned, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

// The bytes of an array of numbers of so many bytes.
inline std::size_t bytes_of(const std::vector<Py_ssize_t>& shape, std::size_t itemsize) {
    require(shape.size() <= std::size_t(PlainArray::kMaxDimensions), "an array has too many dimensions");
    std::size_t bytes = itemsize;
    for (const Py_ssize_t size : shape) {
        require(size >= 0, "an array cannot have a negative size");
        if (size && bytes > (std::size_t(1) << 62) / std::size_t(size)) throw std::bad_alloc();
        bytes *= std::size_t(size);
    }
    return bytes;
}

template <class T>
PlainArray zeros_of(const std::vector<Py_ssize_t>& shape) {
    std::shared_ptr<void> memory = cleared(bytes_of(shape, sizeof(T)));
    void* data = memory.get();
    return {std::move(memory), data, format_of<T>(), sizeof(T), shape};
}

}  // namespace confidently::python
