// How this module was built, and what the processor has, for reports of bugs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "processor.hpp"

namespace confidently::python {

namespace {

std::string compiler() {
#if defined(__clang__)
    return "Clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}

std::vector<std::string> sanitizers() {
    std::vector<std::string> found;
#if defined(__SANITIZE_ADDRESS__)
    found.emplace_back("address");
#endif
#if defined(__SANITIZE_THREAD__)
    found.emplace_back("thread");
#endif
    return found;
}

std::vector<std::string> compiled_for() {
    std::vector<std::string> found;
#if defined(__SSE2__)
    found.emplace_back("sse2");
#endif
#if defined(__AVX2__)
    found.emplace_back("avx2");
#endif
#if defined(__ARM_NEON)
    found.emplace_back("neon");
#endif
    return found;
}

std::vector<std::string> processor_has() {
    std::vector<std::string> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse2")) found.emplace_back("sse2");
    if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2");
    if (__builtin_cpu_supports("fma")) found.emplace_back("fma");
#elif defined(__ARM_NEON)
    found.emplace_back("neon");
#endif
    return found;
}

std::vector<std::string> paths() {
    std::vector<std::string> found;
    for (const Simd path : {Simd::plain, Simd::avx2})
        if (has(path)) found.emplace_back(kSimdNames[static_cast<int>(path)]);
    return found;
}

}  // namespace

void bind_build(nb::module_& m) {
    m.def("build",
          [] {
        nb::dict facts;
        facts["compiler"] = compiler();
        facts["standard"] = "C++" + std::to_string(__cplusplus / 100 % 100);
        facts["sanitizers"] = nb::cast(sanitizers());
        facts["instruction_sets"] = nb::cast(compiled_for());
        facts["processor"] = nb::cast(processor_has());
        facts["paths"] = nb::cast(paths());
        facts["path"] = kSimdNames[static_cast<int>(usual_simd())];
        return facts;
    }, nb::sig("def build() -> dict[str, typing.Any]"),
          "Return how the module was built, which instruction sets the processor has, and which of the paths for them "
          "is taken.");
}

}  // namespace confidently::python
