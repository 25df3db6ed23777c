// Short texts as numbers, read without loops, whose ends are hard to predict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace confidently {

inline std::uint32_t four_bytes(const char* p) {
    std::uint32_t k;
    std::memcpy(&k, p, 4);
    return k;
}

// The n < 4 bytes at p, which end a text of at least that size, as one number. Without a loop, whose end is hard to
// predict.
inline std::uint32_t last_bytes(const char* p, std::size_t n, std::size_t size) {
    if (size >= 4) return static_cast<std::uint32_t>(std::uint64_t(four_bytes(p + n - 4)) >> 8 * (4 - n));
    if (n == 0) return 0;
    const auto byte = [p](std::size_t k) { return std::uint32_t(static_cast<unsigned char>(p[k])) << 8 * k; };
    return byte(0) | byte(n / 2) | byte(n - 1);
}

// A text of 1 to 8 bytes, with zeros behind it. Reads no others.
inline std::uint64_t short_word(std::string_view text) {
    const std::size_t n = text.size();
    if (n < 4) return last_bytes(text.data(), n, n);
    return four_bytes(text.data()) | std::uint64_t(four_bytes(text.data() + n - 4)) << 8 * (n - 4);
}

}  // namespace confidently
