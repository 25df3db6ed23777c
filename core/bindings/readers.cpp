// The text readers for Python.
#include "../readers.hpp"
#include "arrays.hpp"

namespace confidently::python {

namespace {

nb::dict python_rows(ParsedRows rows) {
    nb::dict out;
    nb::list names;
    for (const NewLabel& l : rows.new_labels)
        names.append(nb::make_tuple(nb::bytes(l.label.text.data(), l.label.text.size()), l.label.number, l.row, l.line));
    out["values"] = array_of(std::move(rows.values), rows.size);
    out["columns"] = array_of(std::move(rows.columns), rows.size);
    out["start"] = array_of(std::move(rows.start));
    out["n_columns"] = rows.n_columns;
    out["labels"] = array_of(std::move(rows.labels));
    out["label_start"] = array_of(std::move(rows.label_start));
    out["new_labels"] = names;
    out["first_line"] = rows.first_line;
    out["list_row"] = rows.list_row;
    out["list_line"] = rows.list_line;
    return out;
}

nb::dict feed_rows(SvmlightReader& reader, const nb::bytes& text) {
    ParsedRows rows;
    {
        nb::gil_scoped_release release;
        rows = reader.feed({text.c_str(), text.size()});
    }
    return python_rows(std::move(rows));
}

}  // namespace

void bind_readers(nb::module_& m) {
    nb::class_<SvmlightReader>(m, "SvmlightReader")
        .def("__init__", [](SvmlightReader* self, bool zero_based, bool ignore_labels, double largest, std::int64_t most_columns) {
            new (self) SvmlightReader({zero_based, ignore_labels, largest, most_columns});
        }, nb::kw_only(), "zero_based"_a, "ignore_labels"_a, "largest"_a, "most_columns"_a)
        .def("feed", &feed_rows, "text"_a)
        .def("finish", [](SvmlightReader& reader) { return python_rows(reader.finish()); });
}

}  // namespace confidently::python
