#include "data/json_lines.hpp"

#include "common.hpp"

namespace {

using namespace confidently;

// What keys are for.
json::KeyOptions keys_by_place(const fuzz::Choices& choices) {
    switch (choices.more >> 3 & 3) {
        case 0: return {"label", "weight", {"drop"}, {"category"}, {"text"}, {}};
        case 1: return {"label", "w", {"d", "a.d"}, {"c", "a.c"}, {"t", "d.t"}, {"k", "d.k", "a"}};
        case 2: return {"a", "", {}, {}, {}, {}};
        default: return {"d.l", "d.w", {"d"}, {"a"}, {"a.t", "d.t"}, {"label", "d.a.0"}};
    }
}

json::KeyOptions keys(const fuzz::Choices& choices) {
    json::KeyOptions options = keys_by_place(choices);
    if (choices.bit(7)) options.keep.push_back("id");
    return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < fuzz::Choices::size) return 0;
    const json::KeyOptions options_of_keys = keys(fuzz::Choices(data, size));
    const auto make = [&](const fuzz::Choices& choices, const ReaderOptions& options) {
        const NgramOptions ngrams{choices.bit(5), 1, choices.bit(6) ? 2 : 1, choices.more_bit(5)};
        return JsonLinesReader({options_of_keys, ngrams}, options);
    };
    return fuzz::run_lines(data, size, true, make, options_of_keys.keep.size());
}
