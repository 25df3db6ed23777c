// Python dicts as rows: their features are numbered and looked up.
#pragma once

#include <nanobind/stl/string.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "data/hashing.hpp"
#include "row_order.hpp"
#include "data/rows_out.hpp"
#include "bindings/batches.hpp"

namespace confidently::python {

// The name of a feature: a string as it is, anything else as str() of it.
class Name {
  public:
    explicit Name(nb::handle key) {
        if (!PyUnicode_Check(key.ptr())) key = owner_ = nb::str(key);
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
        if (!text) nb::raise_python_error();
        view_ = {text, static_cast<std::size_t>(size)};
    }
    std::string_view view() const { return view_; }

  private:
    nb::object owner_;
    std::string_view view_;
};

[[noreturn]] inline void reject(const char* message, nb::handle key, nb::handle value) {
    const nb::str text = nb::str(message).format(key, value);
    throw nb::value_error(text.c_str());
}

inline double number_of(nb::handle key, nb::handle value, double largest) {
    double x;
    if (PyFloat_CheckExact(value.ptr())) {
        x = PyFloat_AS_DOUBLE(value.ptr());
    } else {
        x = PyFloat_AsDouble(value.ptr());
        if (x == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            reject("feature {!r}: expected a number, a boolean, a string (a category) or None (unknown), got {!r}", key, value);
        }
    }
    if (std::fabs(x) <= largest) return x;
    if (std::isnan(x)) reject("feature {!r}: got {!r}; leave the feature out or pass None where its value is unknown", key, value);
    reject("feature {!r}: the value {!r} is too large; scale it down", key, value);
}

// Columns of recent names, by object identity: most streams pass the same few strings with every row. The objects are kept
// alive, so that no other object can take their address.
class RecentNames {
  public:
    std::int32_t find(PyObject* name) const {
        const Entry& entry = entries_[slot(name)];
        return entry.name.ptr() == name ? entry.column : -1;
    }
    void remember(nb::handle name, std::int32_t column) { entries_[slot(name.ptr())] = {nb::borrow(name), column}; }
    void forget() { entries_.assign(kSize, {}); }

  private:
    static constexpr std::size_t kSize = 4096;

    struct Entry {
        nb::object name;
        std::int32_t column = -1;
    };

    static std::size_t slot(PyObject* name) { return reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 52; }

    std::vector<Entry> entries_{kSize};
};

// The entries of a dict as a row, whose columns ascend without duplicates; zeros: numbers that are 0 are among them. Features
// are numbered as they appear.
class DictReader {
  public:
    DictReader(int bits, std::int64_t max_columns, bool zeros) : features_(bits, max_columns), zeros_(zeros) {}

    FeatureTable& features() { return features_; }
    Row to_train(nb::handle x, double largest) {
        const std::int64_t before = features_.size();
        try {
            walk(x, largest, [this](const Namespace& space, std::string_view name, double) {
                const std::int32_t column = features_.column(features_.key_of(space, name), space, name).first;
                if (column < 0) throw nb::value_error("there are more features than columns; use hash_bits to hash them into fewer");
                return column;
            });
        } catch (...) {
            forget(before);
            throw;
        }
        return row();
    }

    // Forgets the features from this number on.
    void forget(std::int64_t features) {
        features_.truncate(features);
        recent_.forget();
    }

    // Unseen features become one, in the column after the last. Their weights have mean 0 and the prior variance, so they
    // count as much as one feature whose value is the root of the sum of their squares.
    Row to_predict(nb::handle x, double largest) {
        double unknown = 0.0;
        walk(x, largest, [&](const Namespace& space, std::string_view name, double value) {
            const std::int32_t column = features_.find(features_.key_of(space, name), space, name);
            if (column < 0) unknown += value * value;
            return column;
        });
        if (unknown > 0.0) add(static_cast<std::int32_t>(features_.size()), std::sqrt(unknown));
        return row();
    }

  private:
    // column_of(space, name, value): -1 where the row gets no entry
    template <class F>
    void walk(nb::handle x, double largest, F&& column_of) {
        columns_.clear();
        values_.clear();
        if (PyDict_CheckExact(x.ptr())) return entries(x.ptr(), largest, column_of);
        if (!nb::hasattr(x, "keys")) {
            throw nb::type_error((std::string("a row is a dict of features, got ") + Py_TYPE(x.ptr())->tp_name).c_str());
        }
        const nb::object copy = nb::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), x.ptr()));
        if (!copy.is_valid()) nb::raise_python_error();
        entries(copy.ptr(), largest, column_of);
    }

    template <class F>
    void entries(PyObject* x, double largest, F& column_of) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Next(x, &at, &key, &value)) {
            if (PyFloat_CheckExact(value)) {  // the usual case: no Python code runs, so no reference is needed
                const double number = PyFloat_AS_DOUBLE(value);
                const std::int32_t column = recent_.find(key);
                if (column >= 0 && std::fabs(number) <= largest) {
                    if (number != 0.0 || zeros_) add(column, number);
                    continue;
                }
            }
            if (value != Py_None) entry(nb::borrow(key), nb::borrow(value), largest, column_of);
        }
    }

    template <class F>
    void entry(const nb::object& key, const nb::object& value, double largest, F& column_of) {
        const Name name(key);
        if (PyUnicode_Check(value.ptr())) {
            const Namespace space(std::string(name.view()) + "=");
            const std::int32_t column = column_of(space, Name(value).view(), 1.0);
            if (column >= 0) add(column, 1.0);
        } else if (const double number = number_of(key, value, largest); number != 0.0 || zeros_) {
            const std::int32_t known = recent_.find(key.ptr());
            const std::int32_t column = known >= 0 ? known : column_of(plain_, name.view(), number);
            if (column < 0) return;
            add(column, number);
            if (known < 0 && PyUnicode_CheckExact(key.ptr())) recent_.remember(key, column);
        }
    }

    void add(std::int32_t column, double value) {
        columns_.push_back(column);
        values_.push_back(value);
    }

    Row row() {
        const auto n = static_cast<std::int64_t>(columns_.size());
        bool ascending = true;
        for (std::int64_t k = 1; k < n; ++k) ascending &= columns_[std::size_t(k - 1)] < columns_[std::size_t(k)];
        const std::int64_t size = ascending ? n : order_.sort_and_sum(columns_.data(), values_.data(), n, [](std::int32_t c) { return c; });
        return {columns_.data(), values_.data(), static_cast<std::int32_t>(size), false};
    }

    const Namespace plain_;
    FeatureTable features_;
    const bool zeros_;
    std::vector<std::int32_t> columns_;
    std::vector<double> values_;
    RowOrder order_;
    RecentNames recent_;
};

}  // namespace confidently::python
