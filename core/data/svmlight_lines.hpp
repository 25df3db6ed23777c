// Lines of svmlight text in the form that almost all have, read with the instructions of newer processors:
//
//   line     = [labels] {space qid:number} {space index:value} [space # comment]
//
// with one space between features, and labels that were met before. All other lines are left to the plain parser, so
// that there is one place that knows new labels, weights and errors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "data/svmlight_avx2.hpp"
#include "data/svmlight_features.hpp"

#if CONFIDENTLY_X86

namespace confidently {

class SvmlightLines {
  public:
    // Reads lines from p on, as many as it can; returns the beginning of the next one.
    const char* read(const char* p, const char* end, std::int64_t& line, const SvmlightFeatures& plain,
                     RowWriter& rows) {
        if (left_out_ > 0 || end - p <= SvmlightAvx2::kBehind) return left_out_ -= left_out_ > 0, p;
        rows.rows.room((end - p) / kLeastFeatureBytes + 16);
        const char *first = p, *last = end - SvmlightAvx2::kBehind;
        parser_.begin_text(last);
        while (p < last) {
            const char* next = read_line(p, end, line, plain, rows);
            if (!next) break;
            p = next;
            ++line;
        }
        // where most lines are of other forms, trying each costs too much
        pause_ = p != first || p >= last ? 0 : std::min(2 * pause_ + 1, kLongestPause);
        left_out_ = pause_;
        return p;
    }

  private:
    static constexpr int kLongestPause = 63;  // lines
    static constexpr std::ptrdiff_t kLeastFeatureBytes = 4;

    // Returns the beginning of the next line, or nullptr if this one is of another form; then there is no trace of it.
    const char* read_line(const char* p, const char* end, std::int64_t line, const SvmlightFeatures& plain,
                          RowWriter& rows) {
        rows.begin_row(line);
        SvmlightEntries out{rows.rows.columns.get() + rows.rows.size, rows.rows.values.get() + rows.rows.size, 0};
        p = read_labels(p, rows);
        p = p ? parser_.features(p, plain, out) : nullptr;
        if (!p) {
            rows.rollback_row();
            return nullptr;
        }
        rows.added(out.n, ascend(out.columns, out.n));
        rows.end_row();
        return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
    }

    // Reads what comes before the features; returns the first of these, or nullptr.
    static const char* read_labels(const char* p, RowWriter& rows) {
        const LabelCount count = rows.options.labels;
        const char* text = p;
        if (is_digit(*p) && is_feature(p)) return is_single(count) ? nullptr : p;
        while (static_cast<unsigned char>(*p) > ' ' && *p != ':' && *p != '#') {
            if (*p++ != ',') continue;
            if (is_single(count)) return nullptr;
            if (count != LabelCount::ignored && !rows.known_label(between(text, p - 1))) return nullptr;
            text = p;
        }
        if (p == text || SvmlightFeatures::end_at(p) != SvmlightEnd::feature) return nullptr;
        if (count != LabelCount::ignored && !rows.known_label(between(text, p))) return nullptr;
        for (++p; *p == 'q' && between(p, token_end(p)).starts_with("qid:"); ++p) {
            p = token_end(p);
            if (SvmlightFeatures::end_at(p) != SvmlightEnd::feature) return nullptr;
        }
        return p;
    }

    static bool is_feature(const char* p) {
        while (is_digit(*p)) ++p;
        return *p == ':';
    }

    static bool ascend(const std::int32_t* columns, std::int64_t n) {
        std::int32_t descends = 0;
        for (std::int64_t k = 1; k < n; ++k) descends |= -static_cast<std::int32_t>(columns[k - 1] >= columns[k]);
        return descends == 0;
    }

    SvmlightAvx2 parser_;
    int pause_ = 0, left_out_ = 0;
};

}  // namespace confidently

#endif
