// The text readers for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../json_lines.hpp"
#include "../svmlight.hpp"
#include "arrays.hpp"

namespace confidently::python {

namespace {

// text, start
nb::tuple python_strings(Strings strings) {
    const auto size = static_cast<std::int64_t>(strings.text.size());
    auto text = std::make_unique_for_overwrite<std::uint8_t[]>(strings.text.size());
    std::copy(strings.text.begin(), strings.text.end(), text.get());
    return nb::make_tuple(array_of(std::move(text), size), array_of(std::move(strings.start)));
}

nb::dict python_rows(ParsedRows rows) {
    nb::dict out;
    nb::list labels, skipped, kept;
    for (const NewLabel& l : rows.new_labels)
        labels.append(nb::make_tuple(nb::bytes(l.label.text.data(), l.label.text.size()), l.label.number, l.row, l.line));
    for (const Skipped& s : rows.skipped) skipped.append(s.what);
    for (Strings& column : rows.kept) kept.append(python_strings(std::move(column)));
    out["values"] = array_of(std::move(rows.values), rows.size);
    out["columns"] = array_of(std::move(rows.columns), rows.size);
    out["start"] = array_of(std::move(rows.start));
    out["n_columns"] = rows.n_columns;
    out["labels"] = array_of(std::move(rows.labels));
    out["label_start"] = array_of(std::move(rows.label_start));
    out["weights"] = rows.weights.empty() ? nb::none() : array_of(std::move(rows.weights));
    out["new_labels"] = labels;
    out["new_features"] = nb::make_tuple(array_of(std::move(rows.new_features.row)), array_of(std::move(rows.new_features.key)),
                                         python_strings(std::move(rows.new_features.names)));
    out["kept"] = kept;
    out["first_line"] = rows.first_line;
    out["list_row"] = rows.list_row;
    out["list_line"] = rows.list_line;
    out["n_skipped"] = rows.n_skipped;
    out["skipped"] = skipped;
    return out;
}

template <class Reader>
nb::dict feed_rows(Reader& reader, const nb::bytes& text) {
    ParsedRows rows;
    {
        nb::gil_scoped_release release;
        rows = reader.feed({text.c_str(), text.size()});
    }
    return python_rows(std::move(rows));
}

// Features a model knows, in the order of columns: their keys, and their names where those are kept. Others that appear
// are then forgotten with their batch, if the features are to be frozen.
template <class Reader>
void restore_features(Reader& reader, Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start,
                      bool freeze) {
    const bool named = start.shape(0) == keys.shape(0) + 1;
    for (std::size_t k = 0; k < keys.shape(0); ++k) {
        const std::int64_t first = named ? start.data()[k] : 0, last = named ? start.data()[k + 1] : 0;
        require(0 <= first && first <= last && last <= std::int64_t(text.shape(0)), "names of features are damaged");
        reader.writer.features().restore(
            keys.data()[k], {reinterpret_cast<const char*>(text.data()) + first, static_cast<std::size_t>(last - first)});
    }
    if (freeze) reader.writer.freeze();
}

// The hash of every name.
nb::object name_keys(Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start) {
    std::vector<std::uint32_t> keys;
    for (std::size_t k = 0; k + 1 < start.shape(0); ++k) {
        const std::int64_t first = start.data()[k], last = start.data()[k + 1];
        require(0 <= first && first <= last && last <= std::int64_t(text.shape(0)), "names of features are damaged");
        keys.push_back(murmur3({reinterpret_cast<const char*>(text.data()) + first, static_cast<std::size_t>(last - first)}, 0));
    }
    return array_of(std::move(keys));
}

// feed, finish and restore, which every reader of lines has
template <class Reader>
nb::class_<Reader> line_reader(nb::module_& m, const char* name) {
    return nb::class_<Reader>(m, name)
        .def("feed", &feed_rows<Reader>, "text"_a)
        .def("finish", [](Reader& reader) { return python_rows(reader.finish()); })
        .def("restore", &restore_features<Reader>, "keys"_a, "text"_a, "start"_a, "freeze"_a);
}

}  // namespace

void bind_readers(nb::module_& m) {
    nb::enum_<LabelCount>(m, "LabelCount")
        .value("ignored", LabelCount::ignored)
        .value("any", LabelCount::any)
        .value("one", LabelCount::one)
        .value("set", LabelCount::set);
    nb::class_<ReaderOptions>(m, "ReaderOptions")
        .def("__init__", [](ReaderOptions* self, double largest, std::int64_t most_columns, LabelCount labels, bool skip_errors,
                            bool l2, int bits, const std::vector<std::string>& classes, std::size_t n_kept) {
            require(bits == FeatureTable::kExact || (bits >= 1 && bits <= 32), "bits must be from 1 to 32");
            new (self) ReaderOptions{largest, most_columns, labels, skip_errors, l2, bits, classes, n_kept};
        }, nb::kw_only(), "largest"_a, "most_columns"_a, "labels"_a, "skip_errors"_a, "l2"_a, "bits"_a, "classes"_a, "n_kept"_a);
    m.def("name_keys", &name_keys, "text"_a.noconvert(), "start"_a.noconvert());
    line_reader<SvmlightReader>(m, "SvmlightReader")
        .def("__init__", [](SvmlightReader* self, const ReaderOptions& options, bool zero_based) {
            new (self) SvmlightReader({zero_based}, options);
        }, "options"_a, nb::kw_only(), "zero_based"_a);
    nb::class_<NgramOptions>(m, "NgramOptions")
        .def("__init__", [](NgramOptions* self, bool characters, int shortest, int longest, bool binary) {
            require(1 <= shortest && shortest <= longest, "n-grams must be from 1 up, the shortest first");
            new (self) NgramOptions{characters, shortest, longest, binary};
        }, nb::kw_only(), "characters"_a, "shortest"_a, "longest"_a, "binary"_a);
    line_reader<JsonLinesReader>(m, "JsonLinesReader")
        .def("__init__", [](JsonLinesReader* self, const ReaderOptions& options, const NgramOptions& ngrams, const std::string& label,
                            const std::string& weight, const std::vector<std::string>& drop, const std::vector<std::string>& category,
                            const std::vector<std::string>& text, const std::vector<std::string>& keep) {
            require(keep.size() == options.n_kept, "what is kept must be as the options say");
            new (self) JsonLinesReader({{label, weight, drop, category, text, keep}, ngrams}, options);
        }, "options"_a, nb::kw_only(), "ngrams"_a, "label"_a, "weight"_a, "drop"_a, "category"_a, "text"_a, "keep"_a);
}

}  // namespace confidently::python
