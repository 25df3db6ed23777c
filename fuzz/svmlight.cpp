#include "data/svmlight.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    return fuzz::run_lines(data, size, false, [](const fuzz::Choices& choices, const ReaderOptions& options) {
        return SvmlightReader({choices.bit(5)}, options);
    });
}
