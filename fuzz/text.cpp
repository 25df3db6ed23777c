#include "text_lines.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    return fuzz::run(data, size, [](const fuzz::Choices& choices) {
        return TextReader(TextFormat({choices.bit(5), 1, choices.bit(6) ? 3 : 1, choices.bit(7)}), choices.options(0));
    });
}
