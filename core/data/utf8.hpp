// UTF-8 as in the Unicode standard: no surrogates, no overlong forms.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
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

// The code point that ends before p.
inline CodePoint code_point_before(const char* first, const char* p) {
    for (int size = 1; size <= 4 && p - first >= size; ++size)
        if (const CodePoint c = code_point(p - size, p); c.size == size) return c;
    return {0, 0};
}

// Writes a character of up to four bytes; returns the end of it.
inline char* put_utf8(char* out, std::uint32_t c) {
    if (c < 0x80) {
        *out++ = static_cast<char>(c);
        return out;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = static_cast<char>(0xff00 >> (more + 1) | c >> 6 * more);
    for (int k = more - 1; k >= 0; --k) *out++ = static_cast<char>(0x80 | (c >> 6 * k & 0x3f));
    return out;
}

inline void append_utf8(std::string& text, std::uint32_t c) {
    char bytes[4];
    text.append(bytes, put_utf8(bytes, c));
}

// The first byte that is not part of UTF-8 text; end if all are.
inline const char* invalid_utf8(const char* p, const char* end) {
    constexpr std::uint64_t beyond_ascii = 0x8080808080808080;
    while (p != end) {
        const auto byte = [&](int k) { return static_cast<unsigned char>(p[k]); };
        if (byte(0) < 0x80) {
            ++p;
            for (std::uint64_t many[8]; end - p >= 64; p += 64) {
                std::memcpy(many, p, 64);
                if ((many[0] | many[1] | many[2] | many[3] | many[4] | many[5] | many[6] | many[7]) & beyond_ascii)
                    break;
            }
            for (std::uint64_t eight = 0; end - p >= 8; p += 8) {
                std::memcpy(&eight, p, 8);
                if (eight & beyond_ascii) break;
            }
        } else if (byte(0) < 0xe0 && end - p >= 2) {  // most letters beyond ASCII
            if (byte(0) < 0xc2 || (byte(1) & 0xc0) != 0x80) return p;
            p += 2;
        } else {
            const int size = code_point(p, end).size;
            if (size == 0) return p;
            p += size;
        }
    }
    return end;
}

inline bool is_utf8(std::string_view text) {
    const char* end = text.data() + text.size();
    return invalid_utf8(text.data(), end) == end;
}

// The error of the byte at p.
inline std::string not_utf8(const char* p) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(*p);
    return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15] +
           " is not UTF-8 text; name the file's encoding (--encoding, often cp1252), or convert it";
}

}  // namespace confidently
