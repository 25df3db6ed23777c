#include "data/text_lines.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    return fuzz::run_lines(data, size, true, [](const fuzz::Choices& choices, const ReaderOptions& options) {
        return TextReader(TextFormat({choices.bit(5), 1, choices.bit(6) ? 3 : 1, choices.bit(7)}), options);
    });
}
