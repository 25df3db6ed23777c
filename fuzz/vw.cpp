#include "data/vw.hpp"

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace confidently;
    const bool keep_tag = size > 0 && data[0] >> 5 & 1;
    const auto make = [&](const fuzz::Choices&, const ReaderOptions& options) { return VwReader(VwFormat(keep_tag), options); };
    return fuzz::run_lines(data, size, true, make, keep_tag);
}
