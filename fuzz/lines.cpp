// A format with one row per line, called FORMAT in core/data/line_formats.hpp.
#include "lines.hpp"

#include "common.hpp"

namespace {

using namespace confidently;

// Keys and columns with a use.
json::KeyOptions keys_of(const fuzz::Choices& choices) {
    switch (choices.more >> 3 & 3) {
        case 0: return {"label", "weight", {"drop"}, {"category"}, {"text"}, {}, {}, {}};
        case 1: return {"label", "w", {"d", "a.d"}, {"c", "a.c"}, {"t", "d.t"}, {"k", "d.k", "a"}, {}, {}};
        case 2:
            return {"a",
                    "",
                    {},
                    {},
                    {},
                    {},
                    {"b", "d.c", "t"},
                    {"t", "d.c"},
                    "%d/%m/%y",
                    {"b"},
                    {"km"},
                    {',', '.', true},
                    {"c", "w"},
                    {"w"},
                    {',', '.'}};
        default: return {"d.l", "d.w", {"d"}, {"a"}, {"a.t", "d.t"}, {"label", "d.a.0"}, {}, {}};
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < fuzz::Choices::size) return 0;
    static const LineFormat& format = line_format(FORMAT);
    const fuzz::Choices choices(data, size);
    LineOptions own{choices.bit(5), {choices.bit(5), 1, choices.bit(6) ? 3 : 1, choices.bit(7)}, keys_of(choices)};
    std::vector<std::string>& keep = own.keys.keep;
    if (choices.bit(7)) keep.push_back("id");
    keep.resize(std::min(keep.size(), format.max_kept));
    std::uint32_t made =
        choices.hash >> 8;  // streams: each on another path, so that all comparisons compare paths, too
    const auto stream = [&](std::size_t n_readers) {
        ReaderOptions options = choices.options(keep.size());
        options.path = static_cast<Simd>(made++ % (static_cast<std::uint32_t>(best_simd()) + 1));
        options.own_columns = format.named && n_readers > 1;
        return fuzz::Lines(format.name, own, options, n_readers);
    };
    // more columns than there may be stop a stream, whether or not invalid rows are skipped
    const bool may_fail = !choices.skips() || choices.has_few_columns();
    fuzz::run_check(choices, fuzz::Text{fuzz::text_of(data, size)}, may_fail, true, stream);
    return 0;
}
