// Text as n-grams of words or of characters.
//
// Text is lower-cased. Words are runs of letters, numbers and underscores, which marks continue; every ideograph, kana
// and pictograph is a word of its own. Characters are those of the text, with every run of white space and control
// characters as one space and a space at either end, so that n-grams show where words begin and end. Bytes that are not
// UTF-8 separate words and are no characters.
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

// For every byte: the lower case of a letter, digit or underscore; 0 if it separates words; `beyond` if it is not
// ASCII.
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
        if (clean_.size() < 2 * text.size() + 2)
            clean_.resize(2 * text.size() + 2);  // twice as long at most, and a space at either end
        out_ = clean_.data();
        n_ = 0;
        options_.characters ? find_characters(text) : find_words(text);
        rows.flush();
        const std::int64_t before = rows.rows.size;
        const auto shortest = static_cast<std::size_t>(options_.shortest),
                   longest = static_cast<std::size_t>(options_.longest);
        for (std::size_t i = 0; i + shortest <= n_; ++i) {
            const char* begin = clean_.data() + units_[i].first;
            Murmur3 hash(begin, space.seed);
            for (std::size_t k = i + shortest - 1, last = std::min(i + longest, n_); k < last; ++k) {
                const char* end = clean_.data() + units_[k].last;
                const std::string_view ngram(begin, static_cast<std::size_t>(end - begin));
                if (options_.characters && ngram == " ") continue;
                rows.add_one_of_many(space, ngram, hash.upto(end), 1.0);
            }
        }
        rows.flush();
        if (options_.binary) rows.once(before);
    }

  private:
    struct Unit {  // a word or a character: where it is in clean_
        std::size_t first, last;
    };

    CONFIDENTLY_INLINE void begin_unit() {
        if (n_ == units_.size()) units_.resize(2 * n_ + 64);
        units_[n_].first = static_cast<std::size_t>(out_ - clean_.data());
    }

    CONFIDENTLY_INLINE void end_unit() { units_[n_++].last = static_cast<std::size_t>(out_ - clean_.data()); }

    // Writes the lower case of the character at p; `next` begins what follows the first character of it.
    template <class Next>
    void put(std::string_view text, const char* p, CodePoint c, Next&& next) {
        if (c.code == kDottedI) {  // the only one whose lower case is two characters
            *out_++ = 'i';
            next();
            out_ = put_utf8(out_, kDotAbove);
            return;
        }
        const std::uint32_t low =
            c.code == kCapitalSigma ? sigma_at(text, p, p + c.size) : kCharacters.lower_case(c.code);
        out_ = low == c.code ? std::copy_n(p, c.size, out_) : put_utf8(out_, low);
    }

    CONFIDENTLY_INLINE void begin_word() {
        if (n_ > 0) *out_++ = ' ';
        begin_unit();
    }

    void find_words(std::string_view text) {
        const char *p = text.data(), *end = p + text.size();
        bool inside = false;
        const auto finish = [&] {
            if (inside) end_unit();
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
            *out_++ = low;
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
            begin_unit();
            *out_++ = ' ';
            end_unit();
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
            begin_unit();
            if (c.size == 1)
                *out_++ = static_cast<char>('A' <= *p && *p <= 'Z' ? *p + 0x20 : *p);
            else
                put(text, p, c, [&] {
                    end_unit();
                    begin_unit();
                });
            end_unit();
            p += c.size;
        }
        blank();
    }

    NgramOptions options_;
    std::string clean_;    // begins with the words, separated by spaces, or the characters
    char* out_ = nullptr;  // the end of them
    std::vector<Unit> units_;
    std::size_t n_ = 0;  // of them
};

}  // namespace confidently
