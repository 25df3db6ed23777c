// Rows of compiled readers as Python objects, and the names of their features.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "data/rows_out.hpp"
#include "bindings/arrays.hpp"

namespace confidently::python {

// text, start
using PythonStrings = nb::typed<nb::tuple, Vector<std::uint8_t>, Vector<std::int64_t>>;

inline PythonStrings python_strings(Strings strings) {
    const auto size = static_cast<std::int64_t>(strings.text.size());
    std::unique_ptr<std::uint8_t[]> text(new std::uint8_t[strings.text.size()]);
    std::copy(strings.text.begin(), strings.text.end(), text.get());
    return nb::make_tuple(array_of(std::move(text), size), array_of(std::move(strings.start)));
}

inline Dict python_rows(ParsedRows rows) {
    Dict out;
    nb::list labels, skipped, kept, odd;
    for (const NewLabel& l : rows.new_labels)
        labels.append(
            nb::make_tuple(nb::bytes(l.label.text.data(), l.label.text.size()), l.label.number, l.row, l.line));
    for (const Skipped& s : rows.skipped) skipped.append(s.what);
    for (const OddCell& cell : rows.odd)
        odd.append(nb::make_tuple(nb::bytes(cell.column.data(), cell.column.size()),
                                  nb::bytes(cell.text.data(), cell.text.size())));
    for (Strings& column : rows.kept) kept.append(python_strings(std::move(column)));
    out["values"] = array_of(std::move(rows.values), rows.size);
    out["columns"] = array_of(std::move(rows.columns), rows.size);
    out["start"] = array_of(std::move(rows.start));
    out["n_columns"] = rows.n_columns;
    out["labels"] = array_of(std::move(rows.labels));
    out["targets"] = rows.targets.empty() ? nb::object(nb::none()) : array_of(std::move(rows.targets));
    out["label_start"] = array_of(std::move(rows.label_start));
    out["weights"] = rows.weights.empty() ? nb::object(nb::none()) : array_of(std::move(rows.weights));
    out["new_labels"] = labels;
    out["new_features"] =
        nb::make_tuple(array_of(std::move(rows.new_features.row)), array_of(std::move(rows.new_features.key)),
                       python_strings(std::move(rows.new_features.names)));
    out["kept"] = kept;
    out["first_line"] = rows.first_line;
    out["multilabel_row"] = rows.multilabel_row;
    out["multilabel_line"] = rows.multilabel_line;
    out["n_skipped"] = rows.n_skipped;
    out["skipped"] = skipped;
    out["odd"] = odd;
    return out;
}

// Checks the options of a table of features.
inline void require_table(int bits, std::int64_t max_columns) {
    require(bits == FeatureTable::kExact || (bits >= 1 && bits <= 32), "bits must be from 1 to 32");
    require(max_columns >= 0 && max_columns <= std::numeric_limits<std::int32_t>::max(),
            "max_columns must be below 2^31");
}

// Restores the features of a model, in the order of columns: their keys, and their names if those are kept.
inline void restore_features(FeatureTable& features, Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text,
                             Input<std::int64_t, 1> start) {
    constexpr std::size_t kAhead = 16;  // enough for a slot to arrive from memory
    const std::size_t n = keys.shape(0);
    const bool named = start.shape(0) == n + 1;
    require(named || !features.exact(), "names of features are missing");
    features.reserve(static_cast<std::size_t>(features.size()) + n);
    for (std::size_t k = 0; k < n; ++k) {
        if (k + kAhead < n) features.expect(keys.data()[k + kAhead]);
        const std::int64_t first = named ? start.data()[k] : 0, last = named ? start.data()[k + 1] : 0;
        require(0 <= first && first <= last && last <= std::int64_t(text.shape(0)), "names of features are damaged");
        features.restore(keys.data()[k],
                         {reinterpret_cast<const char*>(text.data()) + first, static_cast<std::size_t>(last - first)});
    }
}

// The same for a reader; freeze: features that appear later are forgotten with their batch.
template <class Reader>
void restore_reader(Reader& reader, Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text,
                    Input<std::int64_t, 1> start, bool freeze) {
    restore_features(reader.writer.features(), keys, text, start);
    if (freeze) reader.writer.freeze();
}

}  // namespace confidently::python
