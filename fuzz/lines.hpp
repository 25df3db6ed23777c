// A stream of lines whose pieces are parsed by several readers in turn, as in the package.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/line_formats.hpp"

namespace fuzz {

using namespace confidently;

class Lines {
  public:
    Lines(const char* format, const LineOptions& own, const ReaderOptions& options, std::size_t n_readers)
        : numbering_(options) {
        for (std::size_t k = 0; k < n_readers; ++k) readers_.push_back(make_line_reader(format, own, options));
    }

    const ReaderOptions& options() const { return readers_[0]->writer.options; }
    FeatureTable& features() { return options().own_columns ? numbering_.features() : readers_[0]->writer.features(); }
    void freeze() { readers_[0]->writer.freeze(); }

    // The rows of the lines that end in text.
    ParsedRows feed(std::string_view text) {
        const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
        if (whole == 0) {
            begun_ += text;
            ParsedRows none;
            none.kept.resize(options().n_kept);
            return none;
        }
        LineReader& reader = *readers_[n_pieces_++ % readers_.size()];
        reader.parse(begun_, text, line_);
        reader.number(numbering_);
        line_ += count_lines(text);
        begun_ = text.substr(whole);
        return reader.take();
    }

    // The row of a last line without an end; the next text is that of another file.
    ParsedRows finish() {
        ParsedRows rows = feed(begun_.empty() ? "" : "\n");
        line_ = 1;
        return rows;
    }

  private:
    std::vector<std::unique_ptr<LineReader>> readers_;
    Numbering numbering_;
    std::string begun_;
    std::int64_t line_ = 1;
    std::size_t n_pieces_ = 0;
};

}  // namespace fuzz
