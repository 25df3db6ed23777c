// Text as n-grams of words or of characters.
//
// Text is lower-cased. Words are runs of letters, numbers and underscores, which marks continue; every ideograph, kana and pictograph is a
// word of its own. Characters are those of the text, with every run of white space and control characters as one space and a space at either
// end, so that n-grams show where words begin and end. Bytes that are not UTF-8 separate words and are no characters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/characters.hpp"
#include "data/rows_out.hpp"

namespace confidently {

struct NgramOptions {
    bool characters;  // instead of words
    int shortest, longest;
    bool binary;  // each counts once per text
};

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
        const std::size_t n = first_.size();
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
    // Appends the lower case of the character at p; `next` begins what follows the first character of it.
    template <class Next>
    void put(std::string_view text, const char* p, CodePoint c, Next&& next) {
        if (c.code == kDottedI) {  // the only one whose lower case is two characters
            clean_ += 'i';
            next();
            return append_utf8(clean_, kDotAbove);
        }
        const std::uint32_t low = c.code == kCapitalSigma ? sigma_at(text, p, p + c.size) : kCharacters.lower_case(c.code);
        low == c.code ? void(clean_.append(p, static_cast<std::size_t>(c.size))) : append_utf8(clean_, low);
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
                p += other_letter(text, p, inside, finish);
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
    int other_letter(std::string_view text, const char* p, bool& inside, Finish&& finish) {
        const CodePoint c = code_point(p, text.data() + text.size());
        const CharacterKind kind = c.size ? kCharacters.kind(c.code) : CharacterKind::separator;
        const bool continues = kind == CharacterKind::letter || (kind == CharacterKind::mark && inside);
        if (!continues) finish();
        if (!continues && kind != CharacterKind::alone) return std::max(c.size, 1);
        if (!inside) begin_word();
        inside = true;
        put(text, p, c, [] {});
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
            if (c.size == 0 || c.code <= ' ' || (c.size > 1 && kCharacters.kind(c.code) == CharacterKind::space)) {
                if (c.size) blank();
                p += std::max(c.size, 1);
                continue;
            }
            space = false;
            first_.push_back(clean_.size());
            if (c.size == 1)
                clean_ += static_cast<char>('A' <= *p && *p <= 'Z' ? *p + 0x20 : *p);
            else
                put(text, p, c, [&] {
                    last_.push_back(clean_.size());
                    first_.push_back(clean_.size());
                });
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
