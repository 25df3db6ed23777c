#include "svmlight.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    return fuzz::run(data, size, [](const fuzz::Choices& choices) {
        return SvmlightReader({choices.bit(5)}, choices.options(0));
    });
}
