// Plain arrays for Python.
#include "bindings/plain_array.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/plain_numbers.hpp"

namespace confidently::python {

namespace {

// For type checkers, it is an array of NumPy.
using AnyArray = nb::typed<nb::object, nb::ndarray<nb::numpy>>;

AnyArray as_any(PlainArray array) { return AnyArray(nb::cast(std::move(array))); }

const PlainArray& plain(nb::handle self) { return *nb::inst_ptr<PlainArray>(self); }

// An array of NumPy over the same memory.
nb::object as_numpy(nb::handle self) { return nb::module_::import_("numpy").attr("asarray")(self); }

bool is_plain(nb::handle value) { return nb::isinstance<PlainArray>(value); }

nb::object numpy_or_itself(PyObject* value) { return is_plain(value) ? as_numpy(value) : nb::borrow(value); }

Py_ssize_t length(const PlainArray& a) {
    if (!a.dimensions) throw nb::type_error("an array without dimensions has no length");
    return a.shape[0];
}

nb::tuple shape_of(const PlainArray& a) {
    nb::list sizes;
    for (int axis = 0; axis < a.dimensions; ++axis) sizes.append(a.shape[std::size_t(axis)]);
    return nb::tuple(sizes);
}

template <class T>
nb::object as_python(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return nb::float_(double(value));
    else
        return nb::int_(std::int64_t(value));
}

// Narrows an array along an axis by an index: a number takes the axis away, a slice keeps it. False for any other index,
// and for numbers out of range, for which NumPy has an error.
bool narrow(PlainArray& a, int& axis, nb::handle index) {
    if (axis >= a.dimensions) return false;
    const auto at_axis = std::size_t(axis);
    if (PyLong_CheckExact(index.ptr())) {
        Py_ssize_t at = PyLong_AsSsize_t(index.ptr());
        if (at == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
        if (at < 0) at += a.shape[at_axis];
        if (at < 0 || at >= a.shape[at_axis]) return false;
        a.data += at * a.strides[at_axis];
        std::copy(a.shape.begin() + axis + 1, a.shape.end(), a.shape.begin() + axis);
        std::copy(a.strides.begin() + axis + 1, a.strides.end(), a.strides.begin() + axis);
        --a.dimensions;
        return true;
    }
    if (!PySlice_Check(index.ptr())) return false;
    Py_ssize_t first, last, step;
    if (PySlice_Unpack(index.ptr(), &first, &last, &step)) throw nb::python_error();
    const Py_ssize_t n = PySlice_AdjustIndices(a.shape[at_axis], &first, &last, step);
    if (step != 1) return false;
    if (n) a.data += first * a.strides[at_axis];
    a.shape[at_axis] = n;
    ++axis;
    return true;
}

// The part of an array that an index of numbers and slices means, over the same memory; false for any other index.
bool part_of(PlainArray& a, nb::handle index) {
    int axis = 0;
    if (!PyTuple_CheckExact(index.ptr())) return narrow(a, axis, index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index.ptr()); ++i)
        if (!narrow(a, axis, PyTuple_GET_ITEM(index.ptr(), i))) return false;
    return true;
}

// Writes one number into all places of an array; false if it is none of this kind.
bool put_number(const PlainArray& to, nb::handle value) {
    const bool whole = PyLong_CheckExact(value.ptr());
    if (!whole && !PyFloat_CheckExact(value.ptr())) return false;
    return with_type(to, [&](auto* null) {
        using T = std::remove_pointer_t<decltype(null)>;
        T number;
        if ((std::is_integral_v<T> && !whole) || !nb::try_cast(value, number)) return false;
        each<T>(to, [number](T* at) { *at = number; });
        return true;
    });
}

// The int32 numbers at places that are int32, too, in an array of one dimension; None for other arrays and places.
nb::object taken(const PlainArray& from, nb::handle places) {
    if (!is_plain(places) || plain(places).format[0] != 'i' || from.format[0] != 'i' || from.dimensions != 1) return nb::none();
    PlainArray found = copied(plain(places));
    bool fits = true;
    each<std::int32_t>(found, [&](std::int32_t* at) {
        fits &= *at >= 0 && *at < from.shape[0];
        if (fits) *at = *reinterpret_cast<const std::int32_t*>(from.data + *at * from.strides[0]);
    });
    return fits ? nb::cast(std::move(found)) : nb::none();
}

nb::object get(nb::handle self, nb::handle index) {
    PlainArray part = plain(self);
    if (const nb::object found = taken(part, index); !found.is_none()) return found;
    if (!part_of(part, index) || (!part.dimensions && numpy_is_loaded())) return as_numpy(self)[numpy_or_itself(index.ptr())];
    if (part.dimensions) return nb::cast(std::move(part));
    return with_type(part, [&](auto* null) { return as_python(*reinterpret_cast<decltype(null)>(part.data)); });
}

// Writes rows of the same type to several rows of an array; false if they are of another kind.
bool put_rows(const PlainArray& to, const PlainArray& rows, const PlainArray& given) {
    PlainArray alike = given;
    alike.shape[0] = to.shape[0];
    if (given.dimensions != to.dimensions || given.format[0] != to.format[0] || alike.shape != to.shape ||
        given.shape[0] != rows.shape[0] || given.owner == to.owner || !to.is_contiguous() || !given.is_contiguous())
        return false;
    const auto bytes = std::size_t(to.shape[0] ? to.bytes() / to.shape[0] : 0);
    const std::byte* row = given.data;
    each<std::int64_t>(rows, [&](const std::int64_t* at) {
        if (bytes) std::memcpy(to.data + std::size_t(*at) * bytes, row, bytes);
        row += bytes;
    });
    return true;
}

// Writes one number into several places of an array of one dimension, or rows to several rows; false if it is none of this kind.
bool put_at(const PlainArray& to, nb::handle places, nb::handle value) {
    if (!is_plain(places) || !to.dimensions || plain(places).dimensions != 1 ||
        plain(places).format[0] != format_of<std::int64_t>()[0])
        return false;
    bool fits = true;
    each<std::int64_t>(plain(places), [&](const std::int64_t* at) { fits &= *at >= 0 && *at < to.shape[0]; });
    if (!fits) return false;
    if (is_plain(value)) return put_rows(to, plain(places), plain(value));
    if (to.dimensions != 1) return false;
    PlainArray place = to;
    place.shape[0] = 1;
    bool done = true;
    each<std::int64_t>(plain(places), [&](const std::int64_t* at) {
        place.data = to.data + *at * to.strides[0];
        done = done && put_number(place, value);
    });
    return done;
}

void set(nb::handle self, nb::handle index, nb::handle value) {
    PlainArray part = plain(self);
    if (put_at(part, index, value)) return;
    if (!part_of(part, index) || !(is_plain(value) ? put_array(part, plain(value)) : put_number(part, value)))
        as_numpy(self).attr("__setitem__")(numpy_or_itself(index.ptr()), numpy_or_itself(value.ptr()));
}

AnyArray zeros(const std::vector<Py_ssize_t>& shape, const std::string& dtype) {
    if (dtype == "float64") return as_any(zeros_of<double>(shape));
    if (dtype == "float32") return as_any(zeros_of<float>(shape));
    if (dtype == "int64") return as_any(zeros_of<std::int64_t>(shape));
    if (dtype == "int32") return as_any(zeros_of<std::int32_t>(shape));
    if (dtype == "uint32") return as_any(zeros_of<std::uint32_t>(shape));
    if (dtype == "int8") return as_any(zeros_of<std::int8_t>(shape));
    if (dtype == "uint8") return as_any(zeros_of<std::uint8_t>(shape));
    throw std::invalid_argument("unknown type of numbers " + dtype);
}

// Zeros of the same type, in n rows of the same shape.
AnyArray zeros_like(const PlainArray& a, Py_ssize_t n) {
    std::vector<Py_ssize_t> shape(a.shape.begin(), a.shape.begin() + a.dimensions);
    require(!shape.empty(), "an array without dimensions has no rows");
    shape[0] = n;
    return with_type(a, [&](auto* null) { return as_any(zeros_of<std::remove_pointer_t<decltype(null)>>(shape)); });
}

nb::object listed(nb::handle self) {
    const PlainArray& a = plain(self);
    if (a.dimensions != 1) return as_numpy(self).attr("tolist")();
    nb::list numbers;
    with_type(a, [&](auto* null) {
        using T = std::remove_pointer_t<decltype(null)>;
        each<T>(a, [&](const T* at) { numbers.append(as_python(*at)); });
    });
    return numbers;
}

// An array over the memory of a writable buffer of bytes, whose numbers have this type.
AnyArray over(nb::handle bytes, const std::vector<Py_ssize_t>& shape, const std::string& dtype) {
    auto view = std::shared_ptr<Py_buffer>(new Py_buffer{}, [](Py_buffer* held) {
        PyBuffer_Release(held);  // of an array that dies with the interpreter's lock held, as all its owners do
        delete held;
    });
    if (PyObject_GetBuffer(bytes.ptr(), view.get(), PyBUF_WRITABLE)) throw nb::python_error();
    const AnyArray empty = zeros({0}, dtype);
    const PlainArray& kind = plain(empty);
    const auto itemsize = std::size_t(kind.itemsize);
    require(bytes_of(shape, itemsize) == std::size_t(view->len), "the bytes do not match the shape");
    require(reinterpret_cast<std::size_t>(view->buf) % itemsize == 0, "the bytes are not aligned");
    return as_any({view, view->buf, kind.format, itemsize, shape});
}

// One array of the rows of several plain ones, which are of the same type and differ only in the number of rows.
AnyArray joined(const std::vector<AnyArray>& parts) {
    require(!parts.empty() && is_plain(parts[0]) && plain(parts[0]).dimensions > 0, "there is nothing to join");
    const PlainArray& first = plain(parts[0]);
    std::vector<Py_ssize_t> shape(first.shape.begin(), first.shape.begin() + first.dimensions);
    shape[0] = 0;
    for (const AnyArray& part : parts) {
        require(is_plain(part) && plain(part).dimensions == first.dimensions && plain(part).format[0] == first.format[0] &&
                    std::equal(shape.begin() + 1, shape.end(), plain(part).shape.begin() + 1),
                "arrays of different kinds cannot be joined");
        shape[0] += plain(part).shape[0];
    }
    return with_type(first, [&](auto* null) {
        PlainArray whole = zeros_of<std::remove_pointer_t<decltype(null)>>(shape), next = whole;
        for (const AnyArray& part : parts) {
            next.shape[0] = plain(part).shape[0];
            put_array(next, plain(part));
            next.data += plain(part).bytes();
        }
        return as_any(std::move(whole));
    });
}

// The numbers first, first + 1, ..., last - 1.
template <class T>
AnyArray numbers_of(std::int64_t first, std::int64_t last) {
    PlainArray numbers = zeros_of<T>({Py_ssize_t(last - first)});
    each<T>(numbers, [next = first](T* at) mutable { *at = T(next++); });
    return as_any(std::move(numbers));
}

AnyArray numbered(std::int64_t first, std::int64_t last, bool wide) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    require(first <= last && first >= -kMost && last <= kMost, "the first number is above the last, or one is out of range");
    return wide ? numbers_of<std::int64_t>(first, last) : numbers_of<std::int32_t>(first, last);
}

// Rows of n numbers each, reshape(-1, n), over the same memory.
nb::object reshaped(nb::handle self, nb::args sizes) {
    const PlainArray& a = plain(self);
    Py_ssize_t rows, n;
    if (sizes.size() != 2 || !nb::try_cast(sizes[0], rows) || !nb::try_cast(sizes[1], n) || rows != -1 || n < 1 ||
        a.size() % n != 0 || !a.is_contiguous())
        return as_numpy(self).attr("reshape")(*sizes);
    const Py_ssize_t shape[] = {a.size() / n, n};
    return nb::cast(PlainArray(a.owner, a.data, a.format, std::size_t(a.itemsize), shape));
}

// The smallest or the largest number, or NaN if there is one.
template <bool smallest>
nb::object extreme(nb::handle self, nb::args args, nb::kwargs kwargs) {
    const PlainArray& a = plain(self);
    if (args.size() || kwargs.size() || !a.size()) return as_numpy(self).attr(smallest ? "min" : "max")(*args, **kwargs);
    return with_type(a, [&](auto* null) {
        using T = std::remove_pointer_t<decltype(null)>;
        T found = *reinterpret_cast<const T*>(a.data);
        each<T>(a, [&](const T* at) {
            const bool is_further = smallest ? *at < found : *at > found;
            if (is_further || *at != *at) found = *at;  // no number is further than NaN
        });
        return as_python(found);
    });
}

// What NumPy's array over the same memory has; not how such an array is made, for which there is the buffer.
nb::object attribute(nb::handle self, const std::string& name) {
    if (name.starts_with("__array") || name.starts_with("__dlpack") || name.starts_with("__cuda"))
        throw nb::attribute_error(name.c_str());
    return as_numpy(self).attr(name.c_str());
}

int fill_buffer(PyObject* self, Py_buffer* view, int flags) {
    static std::byte nothing[sizeof(double)];
    PlainArray& a = *nb::inst_ptr<PlainArray>(self);
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !a.is_contiguous()) {
        view->obj = nullptr;
        PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
        return -1;
    }
    view->obj = Py_NewRef(self);
    view->buf = a.data ? a.data : nothing;
    view->len = a.bytes();
    view->readonly = 0;
    view->itemsize = a.itemsize;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(a.format) : nullptr;
    view->ndim = a.dimensions;
    view->shape = flags & PyBUF_ND ? a.shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a.strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    return 0;
}

// --- operators, which Python looks up in the type: those of NumPy's array over the same memory ---------------------------

// Calls f, whose errors become those of Python.
template <class F>
auto guarded(F&& f, decltype(f()) failed) noexcept {
    try {
        return f();
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    return failed;
}

template <unaryfunc operation>
PyObject* one(PyObject* a) noexcept {
    return guarded([=] { return operation(as_numpy(a).ptr()); }, nullptr);
}

template <binaryfunc operation>
PyObject* two(PyObject* a, PyObject* b) noexcept {
    return guarded([=] { return operation(numpy_or_itself(a).ptr(), numpy_or_itself(b).ptr()); }, nullptr);
}

template <ternaryfunc operation>
PyObject* three(PyObject* a, PyObject* b, PyObject* c) noexcept {
    return guarded([=] { return operation(numpy_or_itself(a).ptr(), numpy_or_itself(b).ptr(), c); }, nullptr);
}

// The sum of integers and one integer, or the difference, needs no NumPy.
template <int sign>
PyObject* shifted(PyObject* a, PyObject* b) noexcept {
    std::int64_t by;
    if (!is_plain(a) || !PyLong_CheckExact(b) || !nb::try_cast(nb::handle(b), by) || std::strchr("df", plain(a).format[0]))
        return sign > 0 ? two<PyNumber_Add>(a, b) : two<PyNumber_Subtract>(a, b);
    return guarded([=] {
        PlainArray sum = copied(plain(a));
        with_type(sum, [&](auto* null) {
            using T = std::remove_pointer_t<decltype(null)>;
            each<T>(sum, [by](T* at) { *at = T(*at + T(sign * by)); });
        });
        return nb::cast(std::move(sum)).release().ptr();
    }, nullptr);
}

PyObject* compared(PyObject* a, PyObject* b, int how) noexcept {
    return guarded([=] { return PyObject_RichCompare(numpy_or_itself(a).ptr(), numpy_or_itself(b).ptr(), how); }, nullptr);
}

int is_true(PyObject* a) noexcept {
    return guarded([=] { return PyObject_IsTrue(as_numpy(a).ptr()); }, -1);
}

int contains(PyObject* a, PyObject* value) noexcept {
    return guarded([=] { return PySequence_Contains(as_numpy(a).ptr(), value); }, -1);
}

template <class Function>
PyType_Slot slot(int name, Function function) {
    return {name, reinterpret_cast<void*>(function)};
}

PyType_Slot slots[] = {
    slot(Py_bf_getbuffer, &fill_buffer),
    slot(Py_nb_add, &shifted<1>),
    slot(Py_nb_subtract, &shifted<-1>),
    slot(Py_nb_multiply, &two<PyNumber_Multiply>),
    slot(Py_nb_matrix_multiply, &two<PyNumber_MatrixMultiply>),
    slot(Py_nb_true_divide, &two<PyNumber_TrueDivide>),
    slot(Py_nb_floor_divide, &two<PyNumber_FloorDivide>),
    slot(Py_nb_remainder, &two<PyNumber_Remainder>),
    slot(Py_nb_power, &three<PyNumber_Power>),
    slot(Py_nb_and, &two<PyNumber_And>),
    slot(Py_nb_or, &two<PyNumber_Or>),
    slot(Py_nb_xor, &two<PyNumber_Xor>),
    slot(Py_nb_inplace_add, &two<PyNumber_InPlaceAdd>),
    slot(Py_nb_inplace_subtract, &two<PyNumber_InPlaceSubtract>),
    slot(Py_nb_inplace_multiply, &two<PyNumber_InPlaceMultiply>),
    slot(Py_nb_inplace_true_divide, &two<PyNumber_InPlaceTrueDivide>),
    slot(Py_nb_invert, &one<PyNumber_Invert>),
    slot(Py_nb_negative, &one<PyNumber_Negative>),
    slot(Py_nb_positive, &one<PyNumber_Positive>),
    slot(Py_nb_absolute, &one<PyNumber_Absolute>),
    slot(Py_nb_float, &one<PyNumber_Float>),
    slot(Py_nb_int, &one<PyNumber_Long>),
    slot(Py_nb_bool, &is_true),
    slot(Py_sq_contains, &contains),
    slot(Py_tp_iter, &one<PyObject_GetIter>),
    slot(Py_tp_repr, &one<PyObject_Repr>),
    slot(Py_tp_str, &one<PyObject_Str>),
    slot(Py_tp_richcompare, &compared),
    slot(Py_tp_hash, &PyObject_HashNotImplemented),
    {0, nullptr},
};

}  // namespace

void bind_plain_array(nb::module_& m) {
    nb::class_<PlainArray>(m, "PlainArray", nb::type_slots(slots))
        .def("__len__", &length)
        .def("__getitem__", &get, "index"_a.none())
        .def("__setitem__", &set, "index"_a.none(), "value"_a.none())
        .def("__getattr__", &attribute, "name"_a)
        .def("__reduce__", [](nb::handle self) { return nb::tuple(as_numpy(self).attr("__reduce__")()); })
        .def_prop_ro("data", [](nb::handle self) { return nb::steal<nb::typed<nb::object, nb::memoryview>>(PyMemoryView_FromObject(self.ptr())); })
        .def_prop_ro("shape", &shape_of)
        .def_ro("ndim", &PlainArray::dimensions)
        .def_ro("itemsize", &PlainArray::itemsize)
        .def_prop_ro("size", &PlainArray::size)
        .def_prop_ro("nbytes", &PlainArray::bytes)
        .def("copy", [](const PlainArray& a) { return as_any(copied(a)); })
        .def("zeros_like", &zeros_like, "n"_a)
        .def("tolist", &listed)
        .def("reshape", &reshaped, "sizes"_a)
        .def("min", &extreme<true>)
        .def("max", &extreme<false>);
    m.def("makes_plain_arrays", &makes_plain_arrays);
    m.def("always_make_plain_arrays", [](bool always) { always_plain = always; }, "always"_a,
          "Make plain arrays even where NumPy has been imported, to test them.");
    m.def("joined", &joined, "parts"_a);
    m.def("over", &over, "bytes"_a, "shape"_a, "dtype"_a);
    m.def("numbered", &numbered, "first"_a, "last"_a, "wide"_a = false, "as int32 or, wide, as int64 numbers");
    m.def("zeros", &zeros, "shape"_a, "dtype"_a);
}

}  // namespace confidently::python
