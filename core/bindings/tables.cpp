// Bindings of the readers of tables.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "data/arrow_rows.hpp"
#include "data/csv.hpp"
#include "data/table_text.hpp"
#include "bindings/arrays.hpp"
#include "bindings/batches.hpp"

namespace confidently::python {

namespace {

// Names of columns may be any bytes.
std::optional<nb::typed<nb::list, nb::bytes>> header_of(CsvReader& reader, const nb::bytes& text) {
    const auto header = reader.header({text.c_str(), text.size()});
    if (!header) return std::nullopt;
    nb::typed<nb::list, nb::bytes> names;
    for (const std::string& name : *header) names.append(nb::bytes(name.data(), name.size()));
    return names;
}

std::optional<std::vector<CellCounts>> counts_of(CsvReader& reader, const nb::bytes& text, bool last, std::int64_t rows,
                                                 std::optional<std::size_t> texts) {
    return reader.counts({text.c_str(), text.size()}, last, rows, texts.value_or(std::size_t(-1)));
}

// A column of predictions: numbers, or the numbers of classes with their names.
using PythonColumn = std::variant<Input<double, 1>, std::tuple<Input<std::int32_t, 1>, std::vector<std::string>>>;

// The lines of a table, separated as the format asks.
std::string text_of(const std::vector<PythonColumn>& given, const std::string& separator) {
    std::vector<TextColumn> columns;
    std::size_t n_rows = 0;
    for (const PythonColumn& column : given) {
        TextColumn found;
        std::size_t n = 0;
        if (const auto* numbers = std::get_if<Input<double, 1>>(&column)) {
            found.values = numbers->data();
            n = numbers->shape(0);
        } else {
            const auto& [classes, names] = std::get<1>(column);
            n = classes.shape(0);
            require_below(classes.data(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(names.size()),
                          "a class has no name");
            found.classes = classes.data();
            found.names.assign(names.begin(), names.end());
        }
        require(columns.empty() || n == n_rows, "columns have different lengths");
        n_rows = n;
        columns.push_back(std::move(found));
    }
    nb::gil_scoped_release release;
    return table_text(columns, n_rows, separator);
}

// Text of cells, which may be any bytes.
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::typed<nb::list, nb::bytes> bytes_of(const std::vector<std::string>& texts) {
    nb::typed<nb::list, nb::bytes> found;
    for (const std::string& text : texts) found.append(bytes_of(text));
    return found;
}

Dict feed_text(CsvReader& reader, const nb::bytes& text) {
    ParsedRows rows;
    {
        nb::gil_scoped_release release;
        rows = reader.feed({text.c_str(), text.size()});
    }
    return python_rows(std::move(rows));
}

// An Arrow column and the arrays that it refers to.
struct HeldColumn {
    ArrowColumn column;
    std::vector<nb::object> arrays;
};

template <class T>
const T* data_of(const Optional<T>& array, std::int64_t& size) {
    size = array ? static_cast<std::int64_t>(array->shape(0)) : 0;
    return array ? array->data() : nullptr;
}

Parts parts_of(const Optional<std::int64_t>& start, const char* what) {
    Parts parts;
    parts.start = data_of(start, parts.n);
    require(!start || parts.n >= 1, what);
    --parts.n;
    return parts;
}

void make_column(HeldColumn* self, std::size_t which, Optional<double> numbers, Optional<std::uint8_t> text,
                 Optional<std::int64_t> start, Optional<std::int32_t> entry, Optional<std::uint8_t> valid,
                 std::int64_t valid_first, Optional<std::int64_t> list_start, Optional<std::uint8_t> list_valid,
                 std::int64_t list_valid_first) {
    require(numbers.has_value() != (text && start), "a column has either numbers or strings");
    new (self) HeldColumn();
    ArrowColumn& c = self->column;
    c.which = which;
    c.numbers = data_of(numbers, c.n);
    if (!c.numbers) {
        c.text = reinterpret_cast<const char*>(data_of(text, c.text_size));
        c.strings = parts_of(start, "strings have no beginning");
        c.n = c.strings.n;
        std::int64_t n_entries;
        c.entry = data_of(entry, n_entries);
        if (entry) c.n = n_entries;
    }
    c.valid.bits = data_of(valid, c.valid.size);
    c.valid.first = valid_first;
    c.lists = parts_of(list_start, "lists have no beginning");
    c.list_valid.bits = data_of(list_valid, c.list_valid.size);
    c.list_valid.first = list_valid_first;
    const auto hold = [&](const auto& array) {
        if (array) self->arrays.push_back(nb::cast(*array));
    };
    hold(numbers), hold(text), hold(start), hold(entry), hold(valid), hold(list_start), hold(list_valid);
}

Dict feed_columns(ArrowReader& reader, std::int64_t n_rows, const std::vector<const HeldColumn*>& held) {
    std::vector<ArrowColumn> columns;
    for (const HeldColumn* one : held) {
        require(one != nullptr, "a column is missing");
        columns.push_back(one->column);
    }
    ParsedRows rows;
    {
        nb::gil_scoped_release release;
        rows = reader.feed(n_rows, columns);
    }
    return python_rows(std::move(rows));
}

template <class Reader>
void describe(Reader& reader, const std::vector<ColumnUse>& columns) {
    for (const ColumnUse& column : columns)
        for (const std::size_t which : column.kept)
            require(which < reader.writer.options.n_kept, "the number of kept strings does not match the options");
    reader.describe(columns);
}

}  // namespace

void bind_tables(nb::module_& m) {
    m.def("table_text", &text_of, "columns"_a.noconvert(), "separator"_a);
    nb::enum_<Use>(m, "Use")
        .value("none", Use::none)
        .value("value", Use::value)
        .value("category", Use::category)
        .value("text", Use::text)
        .value("label", Use::label)
        .value("target", Use::target)
        .value("weight", Use::weight)
        .value("number", Use::number)
        .value("date", Use::date);
    nb::enum_<DateFeatures::PartUse>(m, "PartUse")
        .value("none", DateFeatures::PartUse::none)
        .value("number", DateFeatures::PartUse::number)
        .value("category", DateFeatures::PartUse::category);
    nb::class_<ColumnUse>(m, "ColumnUse")
        .def("__init__",
             [](ColumnUse* self, const std::string& name, Use use, const std::vector<std::size_t>& kept,
                const DateFeatures::PartUses& parts, const std::string& date_format, const NumberFormat& numbers,
                const std::string& unit) { new (self) ColumnUse{name, use, kept, parts, date_format, numbers, unit}; },
             "name"_a, "use"_a, "kept"_a, "parts"_a = DateFeatures::kNumbers, "date_format"_a = "",
             "numbers"_a = NumberFormat(), "unit"_a = "")
        .def_ro("name", &ColumnUse::name)
        .def_ro("use", &ColumnUse::use)
        .def_ro("kept", &ColumnUse::kept)
        .def_ro("parts", &ColumnUse::parts)
        .def_ro("date_format", &ColumnUse::date_format)
        .def_ro("numbers", &ColumnUse::numbers)
        .def_ro("unit", &ColumnUse::unit);
    m.def("is_date", [](const std::string& text, const std::string& format) {  // without a format of ISO 8601
        return format.empty() ? is_date(text) : read_formats(text, format).has_value();
    }, "text"_a, "format"_a);
    nb::class_<CellCounts>(m, "CellCounts")
        .def_ro("numbers", &CellCounts::numbers)
        .def_ro("missing", &CellCounts::missing)
        .def_ro("dates", &CellCounts::dates)
        .def_ro("formatted", &CellCounts::formatted)
        .def_ro("others", &CellCounts::others)
        .def_ro("moments", &CellCounts::moments)
        .def_ro("digits", &CellCounts::digits)
        .def_ro("zeros", &CellCounts::zeros)
        .def_ro("codes", &CellCounts::codes)
        .def_ro("low", &CellCounts::low)
        .def_ro("high", &CellCounts::high)
        .def_ro("measured", &CellCounts::measured)
        .def_ro("marks", &CellCounts::marks)
        .def_prop_ro("samples", [](const CellCounts& counts) { return bytes_of(counts.samples); })
        .def_prop_ro("texts", [](const CellCounts& counts) { return bytes_of(counts.texts); })
        .def_prop_ro("different", [](const CellCounts& counts) { return counts.different.size(); })
        .def_prop_ro("first", [](const CellCounts& counts) { return bytes_of(counts.first); })
        .def_prop_ro("first_missing", [](const CellCounts& counts) {
        return bytes_of(counts.first_missing);
    }).def_prop_ro("first_formatted", [](const CellCounts& counts) { return bytes_of(counts.first_formatted); });
    m.def("count_cells",
          [](const std::vector<std::string>& cells, const NumberFormat& numbers, const std::string& date_format) {
        CellCounts counts;
        const CellColumn column({"", Use::value, {}, DateFeatures::kNumbers, date_format, numbers});
        for (const std::string& cell : cells) counts.add(trimmed(cell), column);
        return counts;
    }, "cells"_a, "numbers"_a = NumberFormat(), "date_format"_a = "");
    m.def("count_numbers", [](Input<double, 1> numbers) {
        CellCounts counts;
        for (std::size_t k = 0; k < numbers.shape(0); ++k)
            if (!std::isnan(numbers.data()[k])) counts.number(numbers.data()[k]);
        return counts;
    }, "numbers"_a.noconvert());
    nb::class_<CsvReader>(m, "CsvReader")
        .def("__init__",
             [](CsvReader* self, const ReaderOptions& options, const NgramOptions& ngrams, char delimiter, bool quotes,
                bool careful) { new (self) CsvReader({delimiter, quotes, careful}, options, ngrams); },
             "options"_a, "ngrams"_a, nb::kw_only(), "delimiter"_a, "quotes"_a, "careful"_a = false)
        .def("header", &header_of, "text"_a)
        .def("counts", &counts_of, "text"_a, nb::kw_only(), "last"_a, "rows"_a, "texts"_a = nb::none())
        .def("describe", &describe<CsvReader>, "columns"_a)
        .def("feed", &feed_text, "text"_a)
        .def("finish", [](CsvReader& reader) { return python_rows(reader.finish()); })
        .def("restore", &restore_reader<CsvReader>, "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert(),
             "freeze"_a);
    nb::class_<HeldColumn>(m, "ArrowColumn")
        .def("__init__", &make_column, "which"_a, nb::kw_only(), "numbers"_a.noconvert() = nb::none(),
             "text"_a.noconvert() = nb::none(), "start"_a.noconvert() = nb::none(), "entry"_a.noconvert() = nb::none(),
             "valid"_a.noconvert() = nb::none(), "valid_first"_a = 0, "list_start"_a.noconvert() = nb::none(),
             "list_valid"_a.noconvert() = nb::none(), "list_valid_first"_a = 0);
    nb::class_<ArrowReader>(m, "ArrowReader")
        .def("__init__",
             [](ArrowReader* self, const ReaderOptions& options, const NgramOptions& ngrams) {
        new (self) ArrowReader(options, ngrams);
    }, "options"_a, "ngrams"_a)
        .def("describe", &describe<ArrowReader>, "columns"_a)
        .def("feed", &feed_columns, "n_rows"_a, "columns"_a)
        .def("restore", &restore_reader<ArrowReader>, "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert(),
             "freeze"_a);
}

}  // namespace confidently::python
