// Python dicts as rows: their features are numbered and looked up.
#pragma once

#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dates.hpp"
#include "data/hashing.hpp"
#include "row_order.hpp"
#include "data/rows_out.hpp"
#include "bindings/batches.hpp"
#include "bindings/name_memo.hpp"

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

// NaN where the value is unknown.
inline double number_of(nb::handle key, nb::handle value, double largest) {
    double x;
    if (PyFloat_CheckExact(value.ptr())) {
        x = PyFloat_AS_DOUBLE(value.ptr());
    } else {
        x = PyFloat_AsDouble(value.ptr());
        if (x == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            if (std::string_view(Py_TYPE(value.ptr())->tp_name).ends_with("NAType"))  // of pandas
                return std::numeric_limits<double>::quiet_NaN();
            reject(
                "feature {!r}: expected a number, a boolean, a string (a category), a date or None (unknown), got {!r}",
                key, value);
        }
    }
    if (!(std::fabs(x) > largest)) return x;
    reject("feature {!r}: the value {!r} is too large; scale it down", key, value);
}

// The entries of a dict as a row, whose columns ascend without duplicates; zeros: numbers that are 0 are among them.
// Features are numbered as they appear.
//
// Most rows are plain: every name is a string and every value a number or None, so that no Python code runs while they
// are read, and no object needs a reference. They are read in steps, each of which prefetches what the next one reads
// of all entries: the dict, its objects, the memo of names, the table of features. Most rows are learned after they
// were predicted: a plain row that has the same strings and numbers as the row before is not read again. Any other row,
// and one with an error, is read entry by entry, with the same result.
class DictReader {
  public:
    DictReader(int bits, std::int64_t max_columns, bool zeros) : features_(bits, max_columns), zeros_(zeros) {}

    FeatureTable& features() { return features_; }

    Row to_train(nb::handle x, double largest) {
        try {
            if (read_plain<false>(x, largest))
                for (const Unseen& feature : unseen_) add(learned(feature.key, plain_, feature.name), feature.value);
            else
                each_entry(x, largest, [this](const Namespace& space, std::string_view name, double) {
                    return learned(features_.key_of(space, name), space, name);
                });
        } catch (...) {
            forget(known_);
            throw;
        }
        return row(n_seen_);
    }

    // Unseen features become one, in the column after the last. Their weights have mean 0 and the prior variance, so
    // they count as much as one feature whose value is the root of the sum of their squares.
    Row to_predict(nb::handle x, double largest) {
        double squares = 0.0;
        if (read_plain<true>(x, largest))
            for (const Unseen& feature : unseen_) squares += feature.value * feature.value;
        else
            each_entry(x, largest, [&](const Namespace& space, std::string_view name, double value) {
                const std::int32_t column = features_.find(features_.key_of(space, name), space, name);
                if (column < 0) squares += value * value;
                return column;
            });
        if (squares > 0.0) add(static_cast<std::int32_t>(features_.size()), std::sqrt(squares));
        return row(n_seen_);
    }

    // Forgets the features from this number on.
    void forget(std::int64_t features) {
        features_.truncate(features);
        memo_.forget(features);
        last_ = {};
    }

    // Forgets the features that the row read last was the first to have.
    void forget_new() { forget(known_); }

  private:
    // --- plain rows
    // ---------------------------------------------------------------------------------------------------

    std::int32_t learned(std::uint32_t key, const Namespace& space, std::string_view name) {
        const std::int32_t column = features_.column(key, space, name).first;
        if (column < 0)
            throw nb::value_error("there are more features than columns; use hash_bits to hash them into fewer");
        return column;
    }

    // Reads a row, if it is plain: its features seen before, sorted, and those unseen. Nothing has changed if it is
    // not. again: whether the row is likely to be asked for once more
    template <bool again>
    bool read_plain(nb::handle x, double largest) {
        known_ = features_.size();
        const bool own =
            PyDict_Check(x.ptr()) && Py_TYPE(x.ptr())->tp_iter == PyDict_Type.tp_iter;  // not iterated by Python code
        const Asked asked{x.ptr(), own ? PyDict_GET_SIZE(x.ptr()) : 0, largest, known_};
        if (asked == last_ && is_as_read(x.ptr())) {
            row_columns_.resize(n_seen_);
            row_values_.resize(n_seen_);
            return true;
        }
        last_ = {};
        n_seen_ = 0;
        if (!own || !find_names<again>(x.ptr(), largest)) return false;
        find_features();
        sort_seen();
        if (again) last_ = asked;
        return true;
    }

    // Whether a dict of the same size has the same strings and numbers as the one that was read last.
    bool is_as_read(PyObject* x) const {
        const Entry* known = entries_.data();
        const double* number_then = numbers_.data();
        Py_ssize_t at = 0;
        for (PyObject *key, *value; PyDict_Next(x, &at, &key, &value); ++known, ++number_then) {
            // Another string may have the address of one that has been deleted, but not its hash of 64 bits, too.
            if (key != known->key || !PyUnicode_CheckExact(key) || NameMemo::hash_of(key) != known->hash) return false;
            double number = kUnknown;
            if (PyFloat_CheckExact(value))
                number = PyFloat_AS_DOUBLE(value);
            else if (value != Py_None && !is_number(value, number))
                return false;
            if (std::bit_cast<std::uint64_t>(number) != std::bit_cast<std::uint64_t>(*number_then)) return false;
        }
        return true;
    }

    template <bool again>
    bool find_names(PyObject* x, double largest) {
        hold(static_cast<std::size_t>(PyDict_GET_SIZE(x)) + 1);
        Entry *const entries = entries_.data(), *end = entries;
        Py_ssize_t at = 0;
        for (PyObject *key, *value; PyDict_Next(x, &at, &key, &value); ++end) {
            *end = {key, {value}};
            prefetch(key);
            prefetch(reinterpret_cast<PyASCIIObject*>(key) + 1);  // its text
            prefetch(value);
        }
        std::size_t n = 0;
        bool in_range = true;
        double* const values = values_.data();
        double* const numbers = numbers_.data();
        PyObject** const names = names_.data();
        for (Entry* entry = entries; entry != end; ++entry) {
            if (!PyUnicode_CheckExact(entry->key)) return false;
            bool known = entry->value != Py_None;
            if (known && !is_number(entry->value, values[n])) return false;
            known = known && !std::isnan(values[n]);
            if constexpr (again) {
                entry->hash = NameMemo::hash_of(entry->key);
                numbers[entry - entries] = known ? values[n] : kUnknown;
            }
            if (!known) continue;
            in_range &= std::fabs(values[n]) <= largest;
            names[n] = entry->key;
            memo_.expect(entry->key);
            n += values[n] != 0.0 || zeros_;
        }
        if (!in_range) return false;
        n_entries_ = n;
        std::size_t n_others = 0;
        std::int32_t* const columns = columns_.data();
        std::size_t* const others = others_.data();
        for (std::size_t k = 0; k < n; ++k) {
            columns[k] = memo_.find(names[k]);
            others[n_others] = k;
            n_others += columns[k] < 0;
        }
        return hash_names(n_others);
    }

    // NumPy's double is a float, too. No other subclasses, whose conversion may run Python code.
    static bool is_number(PyObject* value, double& number) {
        if (PyFloat_Check(value)) {
            number = PyFloat_AS_DOUBLE(value);
            return true;
        }
        if (!PyLong_CheckExact(value) && !PyBool_Check(value)) return false;
        number = PyLong_AsDouble(value);
        if (number != -1.0 || !PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }

    // Hashes the names that are not remembered, if they are valid Unicode.
    bool hash_names(std::size_t n) {
        unseen_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t k = others_[i];
            Py_ssize_t size;
            const char* text = PyUnicode_AsUTF8AndSize(names_[k], &size);
            if (!text) {
                PyErr_Clear();
                return false;
            }
            const std::string_view name(text, static_cast<std::size_t>(size));
            unseen_[i] = {k, values_[k], features_.key_of(plain_, name), name};
            features_.expect(unseen_[i].key);
        }
        return true;
    }

    // Finds the features that are not remembered, and leaves those that are unseen.
    void find_features() {
        if (unseen_.empty()) return;
        std::size_t n = 0;
        for (const Unseen& feature : unseen_) {
            const std::int32_t column = features_.find(feature.key, plain_, feature.name);
            columns_[feature.at] = column;
            if (column >= 0)
                memo_.remember(names_[feature.at], column);
            else
                unseen_[n++] = feature;
        }
        unseen_.resize(n);
        if (n == 0) return;
        n = 0;
        for (std::size_t k = 0; k < n_entries_; ++k) {
            columns_[n] = columns_[k];
            values_[n] = values_[k];
            n += columns_[k] >= 0;
        }
        n_entries_ = n;
    }

    // Sorts the features seen before. Many streams have the same ones in the same order in every row.
    void sort_seen() {
        const std::size_t n = n_entries_;
        row_columns_.assign(columns_.begin(), columns_.begin() + std::ptrdiff_t(n));
        row_values_.assign(values_.begin(), values_.begin() + std::ptrdiff_t(n));
        if (ascends(0)) {
        } else if (row_columns_ == sorted_from_) {
            row_columns_ = sorted_columns_;
            for (std::size_t k = 0; k < n; ++k) row_values_[k] = values_[order_.entry(k)];
        } else {
            sort(0);
            sorted_from_.assign(columns_.begin(), columns_.begin() + std::ptrdiff_t(row_columns_.size() == n ? n : 0));
            sorted_columns_ = row_columns_;
        }
        n_seen_ = row_columns_.size();
    }

    // --- other rows
    // ---------------------------------------------------------------------------------------------------

    // column_of(space, name, value): -1 where the row gets no entry
    template <class F>
    void each_entry(nb::handle x, double largest, F&& column_of) {
        if (PyDict_CheckExact(x.ptr())) return each_of_dict(x.ptr(), largest, column_of);
        if (!nb::hasattr(x, "keys")) {
            throw nb::type_error(
                (std::string("a row is a dict of features, got ") + Py_TYPE(x.ptr())->tp_name).c_str());
        }
        const nb::object copy = nb::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), x.ptr()));
        if (!copy.is_valid()) nb::raise_python_error();
        each_of_dict(copy.ptr(), largest, column_of);
    }

    template <class F>
    void each_of_dict(PyObject* x, double largest, F& column_of) {
        unseen_.clear();
        row_columns_.clear();
        row_values_.clear();
        Py_ssize_t at = 0;
        for (PyObject *key, *value; PyDict_Next(x, &at, &key, &value);)
            if (value != Py_None) entry(nb::borrow(key), nb::borrow(value), largest, column_of);
    }

    template <class F>
    void entry(const nb::object& key, const nb::object& value, double largest, F& column_of) {
        double number;
        if (PyUnicode_CheckExact(key.ptr()) && is_number(value.ptr(), number) && std::fabs(number) <= largest) {
            const std::int32_t column = memo_.find(key.ptr());
            if (column >= 0 && (number != 0.0 || zeros_)) add(column, number);
            if (column >= 0) return;
        }
        const Name name(key);
        std::int32_t column = -1;
        if (PyUnicode_Check(value.ptr())) {
            number = 1.0;
            column = column_of(Namespace(std::string(name.view()) + "="), Name(value).view(), number);
        } else if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr()) && nb::hasattr(value, "isoformat")) {
            date(key, value, column_of);
        } else if (number = number_of(key, value, largest); !std::isnan(number) && (number != 0.0 || zeros_)) {
            column = column_of(plain_, name.view(), number);
            if (PyUnicode_CheckExact(key.ptr()) && 0 <= column && column < known_) memo_.remember(key.ptr(), column);
        }
        if (column >= 0) add(column, number);
    }

    // A date or a time of day, or NaT of pandas, which is unknown.
    template <class F>
    void date(const nb::object& key, const nb::object& value, F& column_of) {
        const nb::object text = value.attr("isoformat")();
        const std::optional<Moment> moment = MomentReader(Name(text).view()).read();
        if (!moment && Name(text).view() == "NaT") return;
        if (!moment) reject("feature {!r}: expected a date or a time, got {!r}", key, value);
        const auto part = [&](const char* end, double number) {
            if (number == 0.0 && !zeros_) return;
            const std::int32_t column = column_of(plain_, std::string(Name(key).view()) + end, number);
            if (column >= 0) add(column, number);
        };
        if (moment->has_date) part(DateFeatures::kNames[0], moment->time);
        part(DateFeatures::kNames[1], moment->hour);
        if (moment->has_date) part(DateFeatures::kNames[2], moment->weekday);
    }

    // --- the row
    // ------------------------------------------------------------------------------------------------------

    void hold(std::size_t n) {
        if (n <= entries_.size()) return;
        entries_.resize(2 * n);
        numbers_.resize(2 * n);
        names_.resize(2 * n);
        columns_.resize(2 * n);
        values_.resize(2 * n);
        others_.resize(2 * n);
    }

    void add(std::int32_t column, double value) {
        row_columns_.push_back(column);
        row_values_.push_back(value);
    }

    bool ascends(std::size_t first) const {
        std::int32_t descending = 0;
        for (std::size_t k = first + 1; k < row_columns_.size(); ++k)
            descending |= -static_cast<std::int32_t>(row_columns_[k - 1] >= row_columns_[k]);
        return !descending;
    }

    // Sorts the entries from the first on, whose columns are behind those of the others.
    void sort(std::size_t first) {
        const auto size = order_.sort_and_sum(row_columns_.data() + first, row_values_.data() + first,
                                              static_cast<std::int64_t>(row_columns_.size() - first));
        row_columns_.resize(first + static_cast<std::size_t>(size));
        row_values_.resize(row_columns_.size());
    }

    Row row(std::size_t first) {
        if (!ascends(first)) {
            sorted_from_.clear();
            sort(first);
        }
        return {row_columns_.data(), row_values_.data(), static_cast<std::int32_t>(row_columns_.size()), false};
    }

    struct Entry {
        PyObject* key;
        union {
            PyObject* value;
            Py_hash_t hash;  // of the key, once the value is read
        };
    };
    struct Unseen {
        std::size_t at;
        double value;
        std::uint32_t key;
        std::string_view name;
    };
    static constexpr double kUnknown =
        std::numeric_limits<double>::quiet_NaN();  // in place of None; no number of a row
    struct Asked {                                 // what a row was read from and for
        PyObject* dict = nullptr;
        Py_ssize_t size = 0;
        double largest = 0.0;
        std::int64_t features = 0;

        bool operator==(const Asked&) const = default;
    };

    const Namespace plain_;
    FeatureTable features_;
    const bool zeros_;
    NameMemo memo_;
    RowOrder order_;

    // A plain row: its entries as they come, and features that are unseen.
    Asked last_;
    std::int64_t known_ = 0;  // features before the row
    std::size_t n_entries_ = 0;
    std::vector<Entry> entries_;  // of the dict
    std::vector<double> numbers_;
    std::vector<PyObject*> names_;  // of the entries that count
    std::vector<std::int32_t> columns_;
    std::vector<double> values_;
    std::vector<std::size_t> others_;  // entries whose names are not remembered
    std::vector<Unseen> unseen_;

    // Any row: what is learned from.
    std::size_t n_seen_ = 0;
    std::vector<std::int32_t> row_columns_;
    std::vector<double> row_values_;

    // The columns that were sorted last, as they came and as they are; order_ has the permutation.
    std::vector<std::int32_t> sorted_from_, sorted_columns_;
};

}  // namespace confidently::python
