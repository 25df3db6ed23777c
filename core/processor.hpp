// What the processor has beyond the base of its architecture, found out once. A loop that is worth it has several
// forms, called paths, which give the same results. The environment variable CONFIDENTLY_SIMD names the path to take;
// without it, the best one is taken.
//
//   plain    any processor
//   avx2     x86-64 since 2013, with BMI2
//
// A name that is unknown, or that of a path which the processor lacks, is an error: what is asked for by name is what
// runs.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

// Functions with such a mark may only be called where has() says so. A lambda inside of one does not inherit its mark.
#if defined(__x86_64__)
#define CONFIDENTLY_X86 1
#define CONFIDENTLY_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt,lzcnt")))
#else
#define CONFIDENTLY_X86 0
#endif

// CONFIDENTLY_SELDOM marks what is hardly ever called, and must not be inlined into the loops that call it.
// CONFIDENTLY_INLINE marks what must be inlined: the sums that the loops over a row accumulate would live in memory
// otherwise, which halves the speed. For the same reason CONFIDENTLY_ALONE marks such loops themselves: a function of
// their own has enough registers, a larger one may not.
#if defined(__GNUC__)
#define CONFIDENTLY_SELDOM __attribute__((noinline, cold))
#define CONFIDENTLY_ALONE __attribute__((noinline))
#define CONFIDENTLY_INLINED __attribute__((always_inline))
#define CONFIDENTLY_INLINE CONFIDENTLY_INLINED inline
#else
#define CONFIDENTLY_SELDOM
#define CONFIDENTLY_ALONE
#define CONFIDENTLY_INLINED
#define CONFIDENTLY_INLINE inline
#endif

namespace confidently {

enum class Simd { plain, avx2 };

inline constexpr const char* kSimdNames[] = {"plain", "avx2"};

// Whether the processor, and its operating system, can run this path.
inline bool has(Simd path) {
#if CONFIDENTLY_X86
    static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                             __builtin_cpu_supports("popcnt");
    return path == Simd::plain || avx2;
#else
    return path == Simd::plain;
#endif
}

inline Simd best_simd() { return has(Simd::avx2) ? Simd::avx2 : Simd::plain; }

// The path of this name. Throws std::invalid_argument if there is none, or if the processor lacks it.
inline Simd simd_named(std::string_view name) {
    for (const Simd path : {Simd::plain, Simd::avx2}) {
        if (name != kSimdNames[static_cast<int>(path)]) continue;
        if (!has(path))
            throw std::invalid_argument("this processor lacks " + std::string(name) +
                                        ", which CONFIDENTLY_SIMD asks for");
        return path;
    }
    throw std::invalid_argument("CONFIDENTLY_SIMD is '" + std::string(name) + "'; expected plain or avx2");
}

// What the environment variable says.
CONFIDENTLY_SELDOM inline Simd chosen_simd() {
    const char* name = std::getenv("CONFIDENTLY_SIMD");
    return name && *name ? simd_named(name) : best_simd();
}

// The path to take unless a caller asks for another one.
inline Simd usual_simd() {
    static const Simd path = chosen_simd();
    return path;
}

}  // namespace confidently
