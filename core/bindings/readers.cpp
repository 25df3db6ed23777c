// Bindings of the readers of text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "data/known_columns.hpp"
#include "data/line_formats.hpp"
#include "data/line_pieces.hpp"
#include "bindings/arrays.hpp"
#include "bindings/batches.hpp"
#include "bindings/interpreter_lock.hpp"

namespace confidently::python {

namespace {

// The strings at these places, in their order.
PythonStrings take_strings(Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start, Input<std::int64_t, 1> which) {
    const auto n = static_cast<std::int64_t>(start.shape(0)) - 1, n_bytes = static_cast<std::int64_t>(text.shape(0));
    Strings taken;
    taken.start.reserve(which.shape(0) + 1);
    for (std::size_t k = 0; k < which.shape(0); ++k) {
        const std::int64_t i = which.data()[k];
        require(0 <= i && i < n, "there is no such string");
        const std::int64_t first = start.data()[i], last = start.data()[i + 1];
        require(0 <= first && first <= last && last <= n_bytes, "strings are damaged");
        taken.add("", {reinterpret_cast<const char*>(text.data()) + first, static_cast<std::size_t>(last - first)});
    }
    return python_strings(std::move(taken));
}

// The numbers of the strings that have one of these characters.
Vector<std::int64_t> strings_with(Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start,
                                  const std::string& characters) {
    require_starts(start, text.shape(0), "strings are damaged");
    std::vector<std::int64_t> found;
    for (std::size_t k = 0; k + 1 < start.shape(0); ++k) {
        const std::string_view one(reinterpret_cast<const char*>(text.data()) + start.data()[k],
                                   std::size_t(start.data()[k + 1] - start.data()[k]));
        if (one.find_first_of(characters) != one.npos) found.push_back(std::int64_t(k));
    }
    return array_of(std::move(found));
}

// The hash of every name.
Vector<std::uint32_t> name_keys(Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start) {
    std::vector<std::uint32_t> keys;
    for (std::size_t k = 0; k + 1 < start.shape(0); ++k) {
        const std::int64_t first = start.data()[k], last = start.data()[k + 1];
        require(0 <= first && first <= last && last <= std::int64_t(text.shape(0)), "names of features are damaged");
        keys.push_back(
            murmur3({reinterpret_cast<const char*>(text.data()) + first, static_cast<std::size_t>(last - first)}, 0));
    }
    return array_of(std::move(keys));
}

// Whether no number is below the one before it, or `strictly` each is above it.
template <class Number>
bool ascend(Input<Number, 1> numbers, bool strictly) {
    const std::span<const Number> all(numbers.data(), numbers.size());
    if (strictly) return std::ranges::adjacent_find(all, std::greater_equal<>()) == all.end();
    return std::ranges::is_sorted(all);
}

// Whether no row has one of the last labels before the row with which it is announced.
bool come_announced(Input<std::int32_t, 1> labels, Input<std::int64_t, 1> start,
                    const std::vector<std::int64_t>& announced, std::int64_t n_labels) {
    require_starts(start, labels.shape(0), "rows are damaged");
    const std::int64_t known = n_labels - std::int64_t(announced.size());
    for (std::size_t row = 0; row + 1 < start.shape(0); ++row)
        for (std::int64_t i = start.data()[row]; i < start.data()[row + 1]; ++i) {
            const std::int64_t k = labels.data()[i] - known;
            if (k >= 0 && (k >= std::int64_t(announced.size()) || announced[std::size_t(k)] > std::int64_t(row)))
                return false;
        }
    return true;
}

// model: the columns that the model knows, ascending; by default the first n_known
template <class Value>
std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>> rows_of_known(Input<Value, 1> values,
                                                                                     Input<std::int32_t, 1> columns,
                                                                                     Input<std::int64_t, 1> start,
                                                                                     std::int32_t n_known,
                                                                                     Optional<std::int64_t> model) {
    require(values.shape(0) == columns.shape(0), "the values do not match the columns");
    require_starts(start, values.shape(0), "rows are damaged");
    require(n_known >= 0 && (!model || std::int64_t(model->shape(0)) == n_known),
            "the columns are not those of the model");
    KnownRows rows;
    const auto read = [&](auto&& number) {
        rows = known_rows(values.data(), columns.data(), {start.data(), start.size()}, n_known, number);
    };
    {
        const ReleasedLock released(values.shape(0) > kManyEntries);
        if (model) {
            const std::int64_t *const first = model->data(), *const last = first + n_known;
            read([=](std::int32_t column) {
                const std::int64_t* at = std::lower_bound(first, last, column);
                return at != last && *at == column ? std::int32_t(at - first) : -1;
            });
        } else {
            read([=](std::int32_t column) { return column < n_known ? column : -1; });
        }
    }
    return {array_of(std::move(rows.values)), array_of(std::move(rows.columns)), array_of(std::move(rows.start))};
}

// Memory for arrays, which returns to the pool when they are forgotten.
struct Pool {
    std::shared_ptr<MemoryPool> memory = std::make_shared<MemoryPool>();
};

// The next lines of a file, or none; an error of the system is an OSError.
std::optional<LinePiece> next_piece(LinePieces& pieces) {
    LinePiece piece;
    int error = 0;
    try {
        nb::gil_scoped_release release;
        if (!pieces.next(piece)) return std::nullopt;
    } catch (const std::system_error& e) {
        error = e.code().value();
    }
    if (error) {
        errno = error;
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
    return piece;
}

Dict take_rows(LineReader& reader) {
    ParsedRows rows;
    {
        const ReleasedLock released(reader.writer.rows.size > kManyEntries);
        rows = reader.take();
    }
    return python_rows(std::move(rows));
}

}  // namespace

void bind_readers(nb::module_& m) {
    nb::enum_<LabelCount>(m, "LabelCount")
        .value("ignored", LabelCount::ignored)
        .value("any", LabelCount::any)
        .value("one", LabelCount::one)
        .value("several", LabelCount::several)
        .value("target", LabelCount::target);
    nb::class_<ReaderOptions>(m, "ReaderOptions")
        .def("__init__",
             [](ReaderOptions* self, double largest, std::int64_t max_columns, LabelCount labels, bool skip_errors,
                bool l2, int bits, const std::vector<std::string>& classes, std::size_t n_kept, bool zeros,
                bool own_columns, bool strict, const std::string& path, bool skip_unlabelled,
                const std::vector<std::string>& missing, bool whole_labels) {
        require_table(bits, max_columns);
        new (self) ReaderOptions{largest,
                                 max_columns,
                                 labels,
                                 skip_errors,
                                 l2,
                                 bits,
                                 classes,
                                 n_kept,
                                 zeros,
                                 own_columns,
                                 strict,
                                 path.empty() ? usual_simd() : simd_named(path),
                                 skip_unlabelled,
                                 MissingMarks(missing),
                                 whole_labels};
    },
             nb::kw_only(), "largest"_a, "max_columns"_a, "labels"_a, "skip_errors"_a, "l2"_a, "bits"_a, "classes"_a,
             "n_kept"_a, "zeros"_a, "own_columns"_a, "strict"_a = false, "path"_a = "", "skip_unlabelled"_a = false,
             "missing"_a = std::vector<std::string>(), "whole_labels"_a = false);
    m.def("is_missing", [](const std::string& text) { return is_missing(text); }, "text"_a);
    nb::class_<NumberFormat>(m, "NumberFormat")
        .def("__init__",
             [](NumberFormat* self, const std::string& decimal, const std::string& thousands, bool units, bool strict) {
        require(decimal.size() == 1 && thousands.size() <= 1, "marks of numbers are one character");
        new (self) NumberFormat{decimal[0], thousands.empty() ? '\0' : thousands[0], units, strict};
    }, nb::kw_only(), "decimal"_a = ".", "thousands"_a = "", "units"_a = false, "strict"_a = false)
        .def("read",
             [](const NumberFormat& format, const std::string& text) -> std::optional<std::tuple<double, nb::bytes>> {
        const auto found = format.read(text);
        if (!found) return std::nullopt;
        return std::make_tuple(found->value, nb::bytes(found->unit.data(), found->unit.size()));
    }, "text"_a);
    nb::class_<NgramOptions>(m, "NgramOptions")
        .def("__init__", [](NgramOptions* self, bool characters, int shortest, int longest, bool binary) {
        require(1 <= shortest && shortest <= longest, "n-grams must have a length of at least 1");
        new (self) NgramOptions{characters, shortest, longest, binary};
    }, nb::kw_only(), "characters"_a, "shortest"_a, "longest"_a, "binary"_a);
    nb::class_<Numbering>(m, "Numbering")
        .def(nb::init<const ReaderOptions&>(), "options"_a)
        .def("restore",
             [](Numbering& numbering, Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text,
                Input<std::int64_t, 1> start) { restore_features(numbering.features(), keys, text, start); },
             "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert());
    m.def("count_lines", [](const nb::bytes& text) { return count_lines({text.c_str(), text.size()}); }, "text"_a);
    m.def("ascend", &ascend<std::int32_t>, "numbers"_a.noconvert(), "strictly"_a = false);
    m.def("ascend", &ascend<std::int64_t>, "numbers"_a.noconvert(), "strictly"_a = false);
    m.def("come_announced", &come_announced, "labels"_a.noconvert(), "start"_a.noconvert(), "announced"_a,
          "n_labels"_a);
    m.def("rows_of_known", &rows_of_known<double>, "values"_a.noconvert(), "columns"_a.noconvert(),
          "start"_a.noconvert(), "n_known"_a, "model"_a.noconvert() = nb::none());
    m.def("rows_of_known", &rows_of_known<float>, "values"_a.noconvert(), "columns"_a.noconvert(),
          "start"_a.noconvert(), "n_known"_a, "model"_a.noconvert() = nb::none());
    m.def("take_strings", &take_strings, "text"_a.noconvert(), "start"_a.noconvert(), "which"_a.noconvert());
    m.def("strings_with", &strings_with, "text"_a.noconvert(), "start"_a.noconvert(), "characters"_a);
    m.def("name_keys", &name_keys, "text"_a.noconvert(), "start"_a.noconvert());
    m.def("line_formats", [] {
        std::vector<std::string> names;
        for (const LineFormat& format : kLineFormats) names.emplace_back(format.name);
        return names;
    });
    m.def(
        "line_reader",
        [](const std::string& format, const ReaderOptions& options, bool zero_based, const NgramOptions& ngrams,
           const std::string& label, const std::string& weight, const std::vector<std::string>& drop,
           const std::vector<std::string>& category, const std::vector<std::string>& text,
           const std::vector<std::string>& keep, const std::vector<std::string>& only,
           const std::vector<std::string>& dates, const std::string& date_format, const std::vector<std::string>& units,
           const std::vector<std::string>& unit_names, const NumberFormat& numbers,
           const std::vector<std::string>& cells, const std::vector<std::string>& mixed, const NumberFormat& of_cells) {
        return make_line_reader(format,
                                {zero_based,
                                 ngrams,
                                 {label, weight, drop, category, text, keep, only, dates, date_format, units,
                                  unit_names, numbers, cells, mixed, of_cells}},
                                options);
    },
        "format"_a, "options"_a, nb::kw_only(), "zero_based"_a, "ngrams"_a, "label"_a, "weight"_a, "drop"_a,
        "category"_a, "text"_a, "keep"_a, "only"_a, "dates"_a, "date_format"_a = "",
        "units"_a = std::vector<std::string>(), "unit_names"_a = std::vector<std::string>(),
        "numbers"_a = NumberFormat(), "cells"_a = std::vector<std::string>(), "mixed"_a = std::vector<std::string>(),
        "of_cells"_a = NumberFormat());
    nb::class_<Pool>(m, "MemoryPool").def(nb::init<>()).def("bytes", [](const Pool& pool, std::size_t n) {
        return array_of(Buffer<std::uint8_t>(pool.memory, n), static_cast<std::int64_t>(n));
    }, "n"_a);
    nb::class_<LinePiece>(m, "LinePiece").def_ro("line", &LinePiece::line).def_ro("bytes_read", &LinePiece::bytes_read);
    nb::class_<LinePieces>(m, "LinePieces")
        .def(nb::init<int, std::size_t>(), "file"_a, "piece_bytes"_a)
        .def("next", &next_piece);
    nb::class_<LineReader>(m, "LineReader")
        .def("parse_piece",
             [](LineReader& reader, const LinePiece& piece) { reader.parse("", piece.text(), piece.line); }, "piece"_a,
             nb::call_guard<nb::gil_scoped_release>())
        .def("parse",
             [](LineReader& reader, const nb::bytes& begun, const nb::bytes& text, std::int64_t line) {
        const ReleasedLock released(text.size() > kManyBytes);
        reader.parse({begun.c_str(), begun.size()}, {text.c_str(), text.size()}, line);
    }, "begun"_a, "text"_a, "line"_a)
        .def("number",
             [](LineReader& reader, Numbering& numbering) {
        const ReleasedLock released(reader.writer.rows.size > kManyEntries);
        reader.number(numbering);
    }, "numbering"_a)
        .def("take", &take_rows)
        .def("restore", &restore_reader<LineReader>, "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert(),
             "freeze"_a);
}

}  // namespace confidently::python
