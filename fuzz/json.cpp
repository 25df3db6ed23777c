#include "json_lines.hpp"

#include "common.hpp"

namespace {

using namespace confidently;

// What keys are for.
json::KeyOptions keys(const fuzz::Choices& choices) {
    switch (choices.more >> 3 & 3) {
        case 0: return {"label", "weight", {"drop"}, {"category"}, {"text"}, {}};
        case 1: return {"label", "w", {"d", "a.d"}, {"c", "a.c"}, {"t", "d.t"}, {"k", "d.k", "a"}};
        case 2: return {"a", "", {}, {}, {}, {}};
        default: return {"d.l", "d.w", {"d"}, {"a"}, {"a.t", "d.t"}, {"label", "d.a.0"}};
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::run(data, size, [](const fuzz::Choices& choices) {
        json::KeyOptions options = keys(choices);
        if (choices.bit(7)) options.keep.push_back("id");
        const NgramOptions ngrams{choices.bit(5), 1, choices.bit(6) ? 2 : 1, choices.more_bit(5)};
        const std::size_t n_kept = options.keep.size();
        return JsonLinesReader({std::move(options), ngrams}, choices.options(n_kept));
    });
}
