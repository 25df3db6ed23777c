// The grammar of JSON (RFC 8259) on text whose lines end in \n. Invalid text throws RowError with its position.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "data/decimal.hpp"
#include "data/ngrams.hpp"
#include "data/tokens.hpp"
#include "data/utf8.hpp"

namespace confidently::json {

inline constexpr int kMaxDepth = 100;  // levels of objects and lists; every level takes some of the stack

// The line from p on, as a message shows it.
inline std::string shown(const char* p) {
    const char* end = p;
    while (*end != '\n' && *end != '\r' && end - p <= kMaxExcerpt) ++end;
    return excerpt({p, static_cast<std::size_t>(end - p)});
}

[[noreturn]] inline void wrong(const char* p, const std::string& problem) {
    if (*skip_spaces(p) == '\n')
        throw RowError{p, "the line ends here, but " + problem + " (JSON lines have one object per line)"};
    throw RowError{p, shown(p) + " is not JSON: " + problem};
}

// --- strings -------------------------------------------------------------------------------------------------------

enum class Byte : unsigned char { plain, quote, backslash, control, beyond_ascii };

inline constexpr auto kBytes = [] {
    std::array<Byte, 256> kinds{};
    for (std::size_t c = 0; c < 256; ++c)
        kinds[c] = c < ' ' ? Byte::control : c >= 0x80 ? Byte::beyond_ascii : Byte::plain;
    kinds['"'] = Byte::quote;
    kinds['\\'] = Byte::backslash;
    return kinds;
}();

inline Byte byte_at(const char* p) { return kBytes[static_cast<unsigned char>(*p)]; }

// The first byte from p on that is not plain, or one before it; eight at a time while there are as many.
inline const char* pass_plain(const char* p, const char* text_end) {
    constexpr std::uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
    const auto has_zero = [](std::uint64_t x) { return (x - ones) & ~x & tops; };  // if all bytes are below 0x80
    for (; text_end - p >= 8; p += 8) {
        std::uint64_t x;
        std::memcpy(&x, p, 8);
        const std::uint64_t below_space = x - ' ' * ones;
        const std::uint64_t found = (x | below_space | has_zero(x ^ '"' * ones) | has_zero(x ^ '\\' * ones)) & tops;
        if (found) return std::endian::native == std::endian::little ? p + std::countr_zero(found) / 8 : p;
    }
    return p;
}

[[noreturn]] inline void wrong_in_string(const char* p) {
    wrong(p, *p == '\n' || *p == '\r' ? "a string has no closing quote"
                                      : "control characters in strings are written with a backslash");
}

// The next quote or backslash of a string. Throws if what comes before it is not UTF-8.
inline const char* plain_end(const char* p, const char* text_end) {
    for (;;) {
        p = pass_plain(p, text_end);
        while (byte_at(p) == Byte::plain) ++p;
        if (byte_at(p) == Byte::control) wrong_in_string(p);
        if (byte_at(p) != Byte::beyond_ascii) return p;
        const int size = code_point(p, p + 4).size;  // it ends at the end of the line at the latest
        if (size == 0) throw RowError{p, not_utf8(p)};
        p += size;
    }
}

inline std::uint32_t four_hex_digits(const char* p) {
    std::uint32_t code = 0;
    for (const char* digit = p; digit != p + 4; ++digit) {
        const char c = *digit;
        const int value = is_digit(c)            ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (value < 0) wrong(digit, "\\u is followed by four hexadecimal digits");
        code = code << 4 | static_cast<std::uint32_t>(value);
    }
    return code;
}

// Reads the escape at p, which is a backslash. Half of a surrogate pair becomes U+FFFD, the replacement character.
inline const char* read_escape(const char* p, std::uint32_t& code) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (p[1] != 'u') {
        const std::size_t at = letters.find(p[1]);
        if (at == std::string_view::npos) wrong(p, "a backslash is followed by one of \"\\/bfnrtu");
        code = static_cast<unsigned char>(meant[at]);
        return p + 2;
    }
    const auto half = [](std::uint32_t c, std::uint32_t first) { return first <= c && c < first + 0x400; };
    code = four_hex_digits(p + 2);
    if (half(code, 0xd800) && p[6] == '\\' && p[7] == 'u') {
        const std::uint32_t low = four_hex_digits(p + 8);
        if (half(low, 0xdc00)) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            return p + 12;
        }
    }
    if (half(code, 0xd800) || half(code, 0xdc00)) code = 0xfffd;
    return p + 6;
}

// Reads the string whose opening quote is before p, and moves p behind its closing quote. A string with escapes is
// written to room.
inline std::string_view read_string(const char*& p, const char* text_end, std::string& room) {
    const char* first = p;
    p = plain_end(p, text_end);
    if (*p == '"') return {first, static_cast<std::size_t>(p++ - first)};
    room.assign(first, p);
    while (*p != '"') {
        std::uint32_t code = 0;
        p = read_escape(p, code);
        append_utf8(room, code);
        const char* end = plain_end(p, text_end);
        room.append(p, end);
        p = end;
    }
    ++p;
    return room;
}

// --- values --------------------------------------------------------------------------------------------------------

[[noreturn]] inline void wrong_value(const char* p) {
    if (*p == 'N' || *p == 'I' || (*p == '-' && p[1] == 'I'))
        wrong(p, "it has no such numbers; write null where there is none");
    wrong(p, "a value is expected: a string in double quotes, a number, true, false, null, { or [");
}

inline const char* read_word(const char* p, std::string_view word) {
    const char* q = p;
    for (const char c : word)
        if (*q++ != c) wrong_value(p);
    return q;
}

inline const char* read_number(const char* p, const char* text_end, double& value) {
    const char* first = p + (*p == '-');
    if (!is_digit(*first)) wrong_value(p);
    if (*first == '0' && is_digit(first[1])) wrong(p, "numbers do not begin with 0");
    const char* end = text_end - p > kShortDecimal ? read_short_decimal(p, value) : nullptr;
    if (end && end[-1] != '.') return end;
    while (is_digit(*first)) ++first;
    if (*first == '.' && !is_digit(first[1])) wrong(p, "digits follow the point of a number");
    return read_decimal(p, value);
}

// Reads the members of the object whose { is before p. member(p) reads one from behind the first quote of its key.
template <class Member>
const char* read_members(const char* p, Member&& member) {
    p = skip_spaces(p);
    if (*p == '}') return p + 1;
    for (;;) {
        if (*p != '"') wrong(p, "a key in double quotes is expected");
        p = skip_spaces(member(p + 1));
        if (*p == '}') return p + 1;
        if (*p != ',') wrong(p, "a comma or } is expected");
        p = skip_spaces(p + 1);
    }
}

// Reads the elements of the list whose [ is before p. element(p) reads one.
template <class Element>
const char* read_elements(const char* p, Element&& element) {
    p = skip_spaces(p);
    if (*p == ']') return p + 1;
    for (;;) {
        p = skip_spaces(element(p));
        if (*p == ']') return p + 1;
        if (*p != ',') wrong(p, "a comma or ] is expected");
        p = skip_spaces(p + 1);
    }
}

inline const char* behind_colon(const char* p) {
    p = skip_spaces(p);
    if (*p != ':') wrong(p, "a colon is expected");
    return skip_spaces(p + 1);
}

inline int deeper(const char* p, int depth) {
    if (depth == kMaxDepth) throw RowError{p, "the row is nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    return depth + 1;
}

inline void require_finite(double value, const char* p, const char* end) {
    if (std::isfinite(value)) return;
    const std::string token = excerpt({p, static_cast<std::size_t>(end - p)});
    throw RowError{p, "the number " + token +
                          " is beyond the range of double precision; write it in double quotes if it is a name"};
}

// strict: its text must be UTF-8.
inline const char* skip_string(const char* p, const char* text_end, bool strict) {
    for (std::uint32_t code;;) {
        p = strict ? plain_end(p, text_end) : pass_plain(p, text_end);
        switch (byte_at(p)) {
            case Byte::quote: return p + 1;
            case Byte::control: wrong_in_string(p);
            case Byte::backslash: p = read_escape(p, code); break;
            default: ++p;
        }
    }
}

// The end of the value at p. Only if strict its text must be UTF-8, and its numbers finite.
inline const char* skip_value(const char* p, const char* text_end, int depth, bool strict) {
    double value;
    const char* end;
    switch (*p) {
        case '{':
            depth = deeper(p, depth);
            return read_members(p + 1, [&](const char* key) {
                return skip_value(behind_colon(skip_string(key, text_end, strict)), text_end, depth, strict);
            });
        case '[':
            depth = deeper(p, depth);
            return read_elements(p + 1,
                                 [&](const char* element) { return skip_value(element, text_end, depth, strict); });
        case '"': return skip_string(p + 1, text_end, strict);
        case 't': return read_word(p, "true");
        case 'f': return read_word(p, "false");
        case 'n': return read_word(p, "null");
        default:
            end = read_number(p, text_end, value);
            if (strict) require_finite(value, p, end);
            return end;
    }
}

}  // namespace confidently::json
