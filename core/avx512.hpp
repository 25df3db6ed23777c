// The intrinsics of AVX-512, without GCC's false warning about them.
#pragma once

#include "processor.hpp"

#if CONFIDENTLY_X86
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC's own headers read such a variable, on purpose
#endif
#include <immintrin.h>
#endif
