#include "json_lines.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    return fuzz::run(data, size, [](const fuzz::Choices& choices) {
        const NgramOptions ngrams{choices.bit(5), 1, choices.bit(6) ? 2 : 1, false};
        std::vector<std::string> keep;
        if (choices.bit(7)) keep = {"id"};
        return JsonLinesReader({{"label", "weight", {"drop"}, {"category"}, {"text"}, keep}, ngrams}, choices.options(keep.size()));
    });
}
