// Text as n-grams of words or of characters.
//
// Text is lower-cased. Words are runs of letters, digits and underscores; every ideograph, kana and pictograph is a word of its own.
// Characters are those of the text, with every run of white space as one space and a space at either end, so that n-grams show where
// words begin and end. Bytes that are not UTF-8 separate words and are no characters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows_out.hpp"
#include "data/utf8.hpp"

namespace confidently {

struct NgramOptions {
    bool characters;  // instead of words
    int shortest, longest;
    bool binary;  // each counts once per text
};

// Lower case of Latin, Greek and Cyrillic letters beyond ASCII; of the same size in UTF-8.
inline std::uint32_t lower_case(std::uint32_t c) {
    const auto within = [c](std::uint32_t first, std::uint32_t last) { return first <= c && c <= last; };
    if (within(0xc0, 0xde)) return c == 0xd7 ? c : c + 0x20;
    if (c == 0x178) return 0xff;
    if (within(0x139, 0x148) || within(0x179, 0x17e)) return c + (c & 1);
    if (within(0x100, 0x177) && c != 0x130 && c != 0x131 && c != 0x138) return c | 1;
    if (within(0x391, 0x3a9) && c != 0x3a2) return c + 0x20;
    if (within(0x410, 0x42f)) return c + 0x20;
    if (within(0x400, 0x40f)) return c + 0x50;
    if (within(0x460, 0x481) || within(0x48a, 0x4bf) || within(0x4d0, 0x52f)) return c | 1;
    return c;
}

enum class CharacterKind { separator, letter, alone };

inline CharacterKind kind_of(std::uint32_t c) {
    const auto within = [c](std::uint32_t first, std::uint32_t last) { return first <= c && c <= last; };
    if (c < 0x80) {
        const bool letter = within('a', 'z') || within('A', 'Z') || within('0', '9') || c == '_';
        return letter ? CharacterKind::letter : CharacterKind::separator;
    }
    const bool latin_sign = c < 0xc0 && c != 0xaa && c != 0xb5 && c != 0xba;
    if (latin_sign || c == 0xd7 || c == 0xf7) return CharacterKind::separator;
    if (within(0x2000, 0x206f) || within(0x20a0, 0x20cf) || within(0x2190, 0x25ff) || within(0x27c0, 0x2bff) ||
        within(0x2e00, 0x2e7f) || within(0x3000, 0x3004) || within(0x3008, 0x3020) || within(0xfe00, 0xfe6f) ||
        within(0xff00, 0xff0f) || within(0xff1a, 0xff20) || within(0xff3b, 0xff40) || within(0xff5b, 0xff65) ||
        within(0xe000, 0xf8ff) || within(0xfff0, 0xffff))
        return CharacterKind::separator;
    if (within(0x2600, 0x27bf) || within(0x3040, 0x30ff) || within(0x3400, 0x9fff) || within(0xf900, 0xfaff) ||
        within(0x1f000, 0x1faff) || within(0x20000, 0x3ffff))
        return CharacterKind::alone;
    return CharacterKind::letter;
}

// For every byte: the lower case of a letter, digit or underscore; 0 if it separates words; `beyond` if it is not ASCII.
struct WordBytes {
    static constexpr char beyond = 1;
    char of[256]{};

    constexpr WordBytes() {
        for (int c = 0; c < 256; ++c) {
            const bool upper = 'A' <= c && c <= 'Z';
            const bool word = upper || ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_';
            of[c] = c >= 0x80 ? beyond : !word ? char(0) : static_cast<char>(upper ? c + 0x20 : c);
        }
    }
};
inline constexpr WordBytes kWordBytes;

class Ngrams {
  public:
    explicit Ngrams(NgramOptions options) : options_(options) {}

    // Adds every n-gram of the text to the current row.
    void add(const Namespace& space, std::string_view text, RowWriter& rows) {
        clean_.clear();
        first_.clear();
        last_.clear();
        options_.characters ? find_characters(text) : find_words(text);
        const std::size_t n = first_.size(), lengths = static_cast<std::size_t>(options_.longest - options_.shortest + 1);
        rows.rows.room(static_cast<std::int64_t>(n * lengths));
        rows.flush();
        const std::int64_t before = rows.rows.size;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = static_cast<std::size_t>(options_.shortest); k <= static_cast<std::size_t>(options_.longest); ++k) {
                if (i + k > n) break;
                const std::string_view ngram(clean_.data() + first_[i], last_[i + k - 1] - first_[i]);
                if (options_.characters && ngram == " ") continue;
                rows.add_one_of_many(space, ngram, 1.0);
            }
        rows.flush();
        if (options_.binary) rows.once(before);
    }

  private:
    void put(const char* p, CodePoint c) {
        const std::uint32_t low = lower_case(c.code);
        if (c.size != 2 || low == c.code) {
            clean_.append(p, static_cast<std::size_t>(c.size));
        } else {
            clean_ += static_cast<char>(0xc0 | low >> 6);
            clean_ += static_cast<char>(0x80 | (low & 0x3f));
        }
    }

    void begin_word() {
        if (!clean_.empty()) clean_ += ' ';
        first_.push_back(clean_.size());
    }

    void find_words(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        bool inside = false;
        const auto finish = [&] {
            if (inside) last_.push_back(clean_.size());
            inside = false;
        };
        while (p != end) {
            const char low = kWordBytes.of[static_cast<unsigned char>(*p)];
            if (low == WordBytes::beyond) {
                p += other_letter(p, end, inside, finish);
                continue;
            }
            ++p;
            if (low == 0) {
                finish();
                continue;
            }
            if (!inside) begin_word();
            inside = true;
            clean_ += low;
        }
        finish();
    }

    template <class Finish>
    int other_letter(const char* p, const char* end, bool& inside, Finish&& finish) {
        const CodePoint c = code_point(p, end);
        const CharacterKind kind = c.size ? kind_of(c.code) : CharacterKind::separator;
        if (kind != CharacterKind::letter) finish();
        if (kind == CharacterKind::separator) return std::max(c.size, 1);
        if (!inside) begin_word();
        inside = true;
        put(p, c);
        if (kind == CharacterKind::alone) finish();
        return c.size;
    }

    void find_characters(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        bool space = false;
        const auto blank = [&] {
            if (space) return;
            space = true;
            first_.push_back(clean_.size());
            clean_ += ' ';
            last_.push_back(clean_.size());
        };
        blank();
        while (p != end) {
            const CodePoint c = code_point(p, end);
            if (c.size == 0 || c.code <= ' ') {
                if (c.size) blank();
                ++p;
                continue;
            }
            space = false;
            first_.push_back(clean_.size());
            if (c.size == 1)
                clean_ += static_cast<char>('A' <= *p && *p <= 'Z' ? *p + 0x20 : *p);
            else
                put(p, c);
            last_.push_back(clean_.size());
            p += c.size;
        }
        blank();
    }

    NgramOptions options_;
    std::string clean_;                      // the words, separated by spaces; or the characters
    std::vector<std::size_t> first_, last_;  // of each in clean_
};

}  // namespace confidently
