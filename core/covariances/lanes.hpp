// Numbers side by side, 32 bytes of them, on which a processor computes at once: as plain arrays, and with AVX2.
// Products are added without rounding them first, so that both give the same bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "processor.hpp"

#if CONFIDENTLY_X86
#include <immintrin.h>
#endif

namespace confidently {

template <class Real>
inline constexpr std::int64_t kLanes = 32 / sizeof(Real);

template <class R>
struct PlainLanes {
    using Real = R;
    Real lane[kLanes<Real>];

    static PlainLanes from(const Real* at) {
        PlainLanes found;
        for (int k = 0; k < kLanes<Real>; ++k) found.lane[k] = at[k];
        return found;
    }
    static PlainLanes all(Real value) {
        PlainLanes found;
        for (Real& lane : found.lane) lane = value;
        return found;
    }
    // plus a b
    PlainLanes with(const PlainLanes& a, const PlainLanes& b) const {
        PlainLanes found;
        for (int k = 0; k < kLanes<Real>; ++k) found.lane[k] = std::fma(a.lane[k], b.lane[k], lane[k]);
        return found;
    }
    void put(Real* at) const {
        for (int k = 0; k < kLanes<Real>; ++k) at[k] = lane[k];
    }
};

#if CONFIDENTLY_X86
template <class Real>
struct Avx2Lanes;

template <>
struct Avx2Lanes<double> {
    using Real = double;
    __m256d lanes;

    CONFIDENTLY_AVX2 static Avx2Lanes from(const double* at) { return {_mm256_loadu_pd(at)}; }
    CONFIDENTLY_AVX2 static Avx2Lanes all(double value) { return {_mm256_set1_pd(value)}; }
    CONFIDENTLY_AVX2 Avx2Lanes with(const Avx2Lanes& a, const Avx2Lanes& b) const {
        return {_mm256_fmadd_pd(a.lanes, b.lanes, lanes)};
    }
    CONFIDENTLY_AVX2 void put(double* at) const { _mm256_storeu_pd(at, lanes); }
};

template <>
struct Avx2Lanes<float> {
    using Real = float;
    __m256 lanes;

    CONFIDENTLY_AVX2 static Avx2Lanes from(const float* at) { return {_mm256_loadu_ps(at)}; }
    CONFIDENTLY_AVX2 static Avx2Lanes all(float value) { return {_mm256_set1_ps(value)}; }
    CONFIDENTLY_AVX2 Avx2Lanes with(const Avx2Lanes& a, const Avx2Lanes& b) const {
        return {_mm256_fmadd_ps(a.lanes, b.lanes, lanes)};
    }
    CONFIDENTLY_AVX2 void put(float* at) const { _mm256_storeu_ps(at, lanes); }
};
#endif

}  // namespace confidently
