// Plain text, one row per line:
//
//   line     = [labels] tab text
//   labels   = label {, label}      integers or strings, which may contain spaces
//
// or as fastText has it:
//
//   line     = {__label__label space} text
//
// If labels are ignored, a line without a tab is all text. Blank lines are skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "data/tokens.hpp"
#include "data/ngrams.hpp"

namespace confidently {

class TextFormat {
  public:
    static constexpr bool utf8 = true;

    // keep_text: keep texts, as the first of the kept strings
    TextFormat(bool keep_text, NgramOptions options) : keep_text_(keep_text), ngrams_(options) {}

    const char* parse_line(const char* p, const char*, std::int64_t line, RowWriter& rows) {
        const char* end = p;
        while (*end != '\n') ++end;
        const char* tab = std::find(p, end, '\t');
        if (tab == end && skip_spaces(p) == end) return end;
        rows.begin_row(line);
        if (tab == end && between(p, end).starts_with(kPrefix)) {
            for (; between(p, end).starts_with(kPrefix); p = skip_spaces(token_end(p)))
                if (rows.options.labels != LabelCount::ignored) rows.label(token_at(p).substr(kPrefix.size()));
        } else if (rows.options.labels != LabelCount::ignored) {
            if (tab == end) fail(between(p, end), "line", "has no tab between its label and its text");
            if (const std::string_view labels = trimmed(between(p, tab)); !labels.empty())
                is_whole(rows.options) ? rows.label(labels) : read_labels(labels, rows);
        }
        const std::string_view text = tab == end ? between(p, end) : between(tab + 1, end);
        if (keep_text_) rows.keep(0, text);
        ngrams_.add(no_namespace_, text, rows);
        rows.end_row();
        return end;
    }

  private:
    static constexpr std::string_view kPrefix = "__label__";

    bool keep_text_;
    Ngrams ngrams_;
    const Namespace no_namespace_;
};

}  // namespace confidently
