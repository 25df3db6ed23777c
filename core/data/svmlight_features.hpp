// A feature of svmlight text, index:value, by any processor.
#pragma once

#include <cmath>
#include <cstdint>

#include "data/tokens.hpp"

namespace confidently {

// Where entries are written. There must be room for those of the text, and for 8 more.
struct SvmlightEntries {
    std::int32_t* columns;
    double* values;
    std::int64_t n;
};

// What follows a feature: one space and another feature; the end of the line, perhaps behind spaces; or something else.
enum class SvmlightEnd { feature, line, other };

struct SvmlightFeatures {
    static constexpr std::ptrdiff_t kShortFeature = 8 + kShortDecimal;  // bytes that a short feature may take
    static constexpr std::ptrdiff_t kMaxIndexDigits = 18;

    std::int32_t base;  // the first index
    std::int64_t max_columns;
    double largest;

    // Reads index:value, with no more than so many bytes behind p; nullptr if there is none of allowed size.
    CONFIDENTLY_INLINE const char* read(const char* p, const char* end, std::int64_t& column, double& value) const {
        const char* next = end - p > kShortFeature ? read_short(p, column, value) : nullptr;
        if (!next) next = read_any(p, column, value);
        return next && 0 <= column && column < max_columns && std::fabs(value) <= largest ? next : nullptr;
    }

    // Adds the feature at p to the entries, and moves p behind it; returns false if there is none with a space behind
    // it. end: of the text.
    bool one(const char*& p, const char* end, SvmlightEntries& out) const {
        const char* next = reread(p, end, out.columns[out.n], out.values[out.n]);
        if (!next) return false;
        ++out.n;
        p = next;
        return true;
    }

    // The same, in the place of an entry; returns the end of the feature.
    const char* reread(const char* p, const char* end, std::int32_t& column, double& value) const {
        std::int64_t wide = 0;
        const char* next = read(p, end, wide, value);
        column = static_cast<std::int32_t>(wide);
        return next && ends_token(*next) ? next : nullptr;
    }

    // What follows the feature that ends at p.
    static SvmlightEnd end_at(const char* p) {
        if (*p == ' ' && static_cast<unsigned char>(p[1]) > ' ') [[likely]]
            return SvmlightEnd::feature;
        return *skip_spaces(p) == '\n' ? SvmlightEnd::line : SvmlightEnd::other;
    }

  private:
    // Reads the most common index:value, looking at no more than kShortFeature bytes; nullptr for others.
    CONFIDENTLY_INLINE const char* read_short(const char* p, std::int64_t& column, double& value) const {
        const Digits index = digits_of_8(p);
        const char* text = p + index.count + 1;
        if (index.count == 0 || index.count == 8 || text[-1] != ':') return nullptr;
        column = static_cast<std::int64_t>(index.number) - base;
        if (text[1] == ' ' && is_digit(text[0])) {  // one-hot data have no other values
            value = text[0] - '0';
            return text + 1;
        }
        const char* end = read_short_decimal(text, value);
        return end && (*end == ' ' || *end == '\n') ? end : nullptr;
    }

    // Reads one index:value; nullptr if it is none.
    const char* read_any(const char* p, std::int64_t& column, double& value) const {
        std::uint64_t index = 0;
        const char* colon = read_digits(p, index);
        if (colon == p || *colon != ':' || colon - p > kMaxIndexDigits) return nullptr;
        column = static_cast<std::int64_t>(index) - base;
        const char* end = read_decimal(colon + 1, value);
        return end && (ends_token(*end) || *end == '#') ? end : nullptr;
    }
};

}  // namespace confidently
