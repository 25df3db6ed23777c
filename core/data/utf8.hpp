// UTF-8 as in the Unicode standard: no surrogates, no overlong forms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace confidently {

// A code point of UTF-8 text and its size in bytes; 0: invalid.
struct CodePoint {
    std::uint32_t code;
    int size;
};

inline CodePoint code_point(const char* p, const char* end) {
    const auto byte = [&](int k) { return static_cast<unsigned char>(p[k]); };
    const int size = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (size == 1) return {byte(0), 1};
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || end - p < size) return {0, 0};
    std::uint32_t code = byte(0) & (0x7f >> size);
    for (int k = 1; k < size; ++k) {
        if ((byte(k) & 0xc0) != 0x80) return {0, 0};
        code = code << 6 | (byte(k) & 0x3f);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = 0xd800 <= code && code <= 0xdfff;
    return code < least[size] || code > 0x10ffff || surrogate ? CodePoint{0, 0} : CodePoint{code, size};
}

inline bool is_utf8(std::string_view text) {
    const char* end = text.data() + text.size();
    for (const char* p = text.data(); p != end;) {
        const int size = code_point(p, end).size;
        if (size == 0) return false;
        p += size;
    }
    return true;
}

}  // namespace confidently
