// What a character is in a text of words, and its lower case, which is Python's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

#include "data/character_tables.hpp"
#include "data/utf8.hpp"

namespace confidently {

class Characters {
  public:
    Characters() : of_(std::make_unique<std::uint8_t[]>(kDirect)) {
        for (const std::uint32_t& run : kCharacterRuns) {
            const bool last = &run + 1 == std::end(kCharacterRuns);
            const std::uint32_t first = std::min(run >> 8, kDirect),
                                next = last ? kDirect : std::min((&run)[1] >> 8, kDirect);
            std::fill(&of_[first], &of_[0] + next, static_cast<std::uint8_t>(run));
        }
        for (const LowerCases& range : kLowerCases)
            for (std::uint32_t c = range.first; c <= range.last; c += range.step) of_[c] |= kHasLowerCase;
    }

    CharacterKind kind(std::uint32_t c) const { return static_cast<CharacterKind>(bits(c) & kKindBits); }
    bool is_cased(std::uint32_t c) const { return bits(c) & kCased; }
    bool is_ignorable(std::uint32_t c) const { return bits(c) & kIgnorable; }

    // The lower case of a character that has one of a single character, whatever is beside it.
    std::uint32_t lower_case(std::uint32_t c) const {
        if (!(bits(c) & kHasLowerCase)) return c;
        const auto behind = [](std::uint32_t code, const LowerCases& range) { return code < range.first; };
        const LowerCases& range = *(std::upper_bound(std::begin(kLowerCases), std::end(kLowerCases), c, behind) - 1);
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(c) + range.offset);
    }

  private:
    static constexpr std::uint32_t kDirect = 0x20000;  // beyond are ideographs, and nothing that has a lower case
    static constexpr std::uint8_t kHasLowerCase = 32;
    static_assert(std::end(kLowerCases)[-1].last < kDirect);

    std::uint8_t bits(std::uint32_t c) const {
        if (c < kDirect) return of_[c];
        return static_cast<std::uint8_t>(
            *(std::upper_bound(std::begin(kCharacterRuns), std::end(kCharacterRuns), c << 8 | 0xff) - 1));
    }

    std::unique_ptr<std::uint8_t[]> of_;
};

inline const Characters kCharacters;

inline constexpr std::uint32_t kCapitalSigma = 0x3a3, kSigma = 0x3c3, kFinalSigma = 0x3c2;
inline constexpr std::uint32_t kDottedI = 0x130, kDotAbove = 0x307;

// The lower case of the capital sigma from `at` to `behind` in a text: the final one at the end of a word, as Unicode
// defines it.
inline std::uint32_t sigma_at(std::string_view text, const char* at, const char* behind) {
    const auto is_ignored = [](CodePoint c) { return c.size > 0 && kCharacters.is_ignorable(c.code); };
    const auto is_cased = [](CodePoint c) { return c.size > 0 && kCharacters.is_cased(c.code); };
    const char *first = text.data(), *last = first + text.size();
    CodePoint before = code_point_before(first, at);
    while (is_ignored(before)) before = code_point_before(first, at -= before.size);
    if (!is_cased(before)) return kSigma;
    const auto code_point_at = [last](const char* p) { return p == last ? CodePoint{0, 0} : code_point(p, last); };
    CodePoint after = code_point_at(behind);
    while (is_ignored(after)) after = code_point_at(behind += after.size);
    return is_cased(after) ? kSigma : kFinalSigma;
}

}  // namespace confidently
