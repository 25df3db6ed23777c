// The formats with one row per line. src/confidently/data/formats/table.py has a row for each of them.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "data/json_lines.hpp"
#include "data/line_reader.hpp"
#include "data/ngrams.hpp"
#include "data/svmlight.hpp"
#include "data/text_lines.hpp"
#include "data/vw.hpp"

namespace confidently {

// Options that only some of the formats have.
struct LineOptions {
    bool zero_based;
    NgramOptions ngrams;
    json::KeyOptions keys;  // drop and only: of namespaces, too
};

template <class Format>
std::unique_ptr<LineReader> reader_of(Format format, const ReaderOptions& options) {
    return std::make_unique<LineReaderOf<Format>>(std::move(format), options);
}

struct LineFormat {
    const char* name;
    bool named;            // features have names, so that readers that share a stream number them as they appear
    std::size_t max_kept;  // strings that can be kept of every row
    std::unique_ptr<LineReader> (*make)(const LineOptions&, const ReaderOptions&);
};

inline constexpr LineFormat kLineFormats[] = {
    {"svmlight", false, 0,
     [](const LineOptions& own, const ReaderOptions& options) {
    return reader_of(SvmlightFormat(own.zero_based, options), options);
}},
    {"vw", true, 1,
     [](const LineOptions& own, const ReaderOptions& options) {
    return reader_of(VwFormat(options.n_kept == 1, {own.keys.drop, own.keys.only}), options);
}},
    {"text", true, 1,
     [](const LineOptions& own, const ReaderOptions& options) {
    return reader_of(TextFormat(options.n_kept == 1, own.ngrams), options);
}},
    {"jsonl", true, std::size_t(-1),
     [](const LineOptions& own, const ReaderOptions& options) {
    return reader_of(JsonLinesFormat(own.keys, own.ngrams), options);
}},
};

inline const LineFormat& line_format(std::string_view name) {
    for (const LineFormat& format : kLineFormats)
        if (name == format.name) return format;
    throw std::invalid_argument("no format with one row per line is called " + std::string(name));
}

inline std::unique_ptr<LineReader> make_line_reader(std::string_view name, const LineOptions& own,
                                                    const ReaderOptions& options) {
    const LineFormat& format = line_format(name);
    if (options.n_kept > format.max_kept || own.keys.keep.size() != options.n_kept)
        throw std::invalid_argument(std::string(name) + " cannot keep that many strings per row");
    if (options.own_columns && !format.named) throw std::invalid_argument(std::string(name) + " has numbered features");
    return format.make(own, options);
}

}  // namespace confidently
