// The checks of every fuzz target. An input is read in pieces, and everything that a reader guarantees must hold for
// its rows. Some inputs are read several times, to show that neither the cuts nor the number of readers matter, that
// skipped rows leave no trace, and that unknown features are forgotten.
//
// The first bytes of an input choose how it is read, so that one corpus covers all options. The check depends on all of
// its bytes: were it a choice, most inputs would descend from those that chose the slowest check. Inputs have few
// lines, because an error, which is an exception, takes longer than a thousand valid bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/cells.hpp"
#include "rows.hpp"

namespace fuzz {

constexpr std::size_t kMaxPieces = 4, kMaxLines = 6;  // for speed

struct Choices {
    static constexpr std::size_t size = 3;  // bytes

    std::uint8_t reader, cut, more;
    std::uint32_t hash;  // of the whole input

    Choices(const std::uint8_t* data, std::size_t size)
        : reader(data[0]), cut(data[1]), more(data[2]), hash(murmur3({reinterpret_cast<const char*>(data), size}, 0)) {}

    bool bit(int k) const { return reader >> k & 1; }
    bool more_bit(int k) const { return more >> k & 1; }

    bool skips() const { return bit(2); }
    bool has_few_columns() const { return more_bit(2); }
    bool has_targets() const { return more_bit(6); }
    std::size_t piece() const { return cut % 64u + 1; }
    std::size_t n_readers() const { return std::max(cut / 64u, 1u); }

    ReaderOptions options(std::size_t n_kept) const {
        constexpr LabelCount counts[] = {LabelCount::ignored, LabelCount::any, LabelCount::one, LabelCount::several};
        const int bits = bit(4) ? FeatureTable::kExact : 4;  // few columns, so that names collide
        const std::int64_t most = has_few_columns() ? 6 : std::numeric_limits<std::int32_t>::max();
        std::vector<std::string> classes;
        if (more_bit(0)) classes = {"1", "-1", "a"};
        const LabelCount labels = has_targets() ? LabelCount::target : counts[reader & 3];
        return {more_bit(1) ? 100.0 : 1e100, most, labels, skips(), bit(3), bits, classes, n_kept, false};
    }
};

// A stream of targets has columns of targets where others have labels.
inline Use use_in(const Choices& choices, Use use) {
    if (use != Use::label && use != Use::target) return use;
    return choices.has_targets() ? Use::target : Use::label;
}

using Range = std::pair<std::size_t, std::size_t>;

// Bytes of text; a unit is a line.
struct Text {
    std::string_view text;

    std::size_t size() const { return text.size(); }

    std::size_t unit_end(std::size_t first) const { return std::min(text.find('\n', first), text.size() - 1) + 1; }

    // Copies the bytes, so that the sanitizer sees a read beyond them.
    template <class Reader>
    ParsedRows feed(Reader& reader, std::size_t first, std::size_t last) const {
        const auto copy = std::make_unique_for_overwrite<char[]>(last - first);
        std::copy(text.begin() + static_cast<std::ptrdiff_t>(first), text.begin() + static_cast<std::ptrdiff_t>(last),
                  copy.get());
        return reader.feed({copy.get(), last - first});
    }

    template <class Reader>
    ParsedRows finish(Reader& reader) const {
        return reader.finish();
    }

    // No later line is the first one, whose byte order mark is skipped.
    template <class Reader>
    void feed_blank(Reader& reader) const {
        reader.feed("\n");
    }
};

// Feeds the ranges in order and calls take(batch) for every batch. Returns the error, or "".
template <class Reader, class Source, class Take>
std::string feed_all(Reader reader, const Source& source, const std::vector<Range>& ranges, bool may_fail,
                     Take&& take) {
    std::int64_t n_features = 0;
    const auto checked = [&](const ParsedRows& rows) {
        check(rows, reader.options());
        n_features += static_cast<std::int64_t>(rows.new_features.key.size());
        take(rows);
    };
    try {
        for (const auto& [first, last] : ranges) checked(source.feed(reader, first, last));
        checked(source.finish(reader));
    } catch (const std::invalid_argument& e) {
        CHECK(may_fail);
        CHECK(*e.what());
        return e.what();
    }
    CHECK(reader.features().size() == n_features);
    return "";
}

template <class Reader, class Source>
Rows read(Reader reader, const Source& source, const std::vector<Range>& ranges, bool may_fail) {
    Rows all;
    all.error =
        feed_all(std::move(reader), source, ranges, may_fail, [&](const ParsedRows& rows) { append(all, rows); });
    return all;
}

inline std::vector<Range> cut(std::size_t size, std::size_t piece) {
    std::vector<Range> ranges;
    piece = std::max(piece, size / kMaxPieces + 1);
    for (std::size_t first = 0; first < size; first += piece) ranges.emplace_back(first, std::min(first + piece, size));
    return ranges;
}

// Neither the cuts nor the number of readers that share the pieces matter.
template <class Make, class Source>
void compare_cuts(const Choices& choices, const Source& source, bool may_fail, Make&& make) {
    const Rows whole = read(make(1), source, {{0, source.size()}}, may_fail);
    const Rows pieces = read(make(choices.n_readers()), source, cut(source.size(), choices.piece()), may_fail);
    CHECK(whole.error.empty() == pieces.error.empty());
    // too many columns may be found before or behind an invalid row of the same piece
    CHECK(whole.error == pieces.error || choices.has_few_columns());
    CHECK(!whole.error.empty() || whole == pieces);  // how many rows came before an error depends on the pieces
}

// Skipped units leave no trace: the input without them gives the same rows and no error.
template <class Make, class Source>
void compare_without_skipped(std::size_t n_readers, const Source& source, bool may_fail, Make&& make) {
    const auto make_inside = [&] {
        auto reader = make(n_readers);
        source.feed_blank(reader);
        return reader;
    };
    auto reader = make_inside();
    std::vector<Range> good;
    std::int64_t n_skipped = 0;
    try {
        for (std::size_t first = 0, last; first < source.size(); first = last) {
            last = source.unit_end(first);
            std::int64_t n = source.feed(reader, first, last).n_skipped;
            if (last == source.size()) n += source.finish(reader).n_skipped;
            if (n == 0) good.emplace_back(first, last);
            n_skipped += n;
        }
    } catch (const std::invalid_argument&) {
        CHECK(may_fail);
        return;
    }
    Rows expected = read(make_inside(), source, {{0, source.size()}}, false);
    CHECK(expected.n_skipped == n_skipped);
    expected.n_skipped = 0;
    CHECK(read(make_inside(), source, good, false) == expected);
}

// Features beyond those known at the freeze are forgotten again with every batch.
template <class Make, class Source>
void read_frozen(const Source& source, bool may_fail, Make&& make) {
    auto reader = make(1);
    const std::size_t half = source.size() / 2;
    try {
        source.feed(reader, 0, half);
        source.finish(reader);
        reader.freeze();
        const std::int64_t known = reader.features().size();
        Rows first, second;
        for (Rows* rows : {&first, &second}) {
            for (const ParsedRows& batch : {source.feed(reader, half, source.size()), source.finish(reader)}) {
                check(batch, reader.options());
                append(*rows, batch);
            }
            source.feed_blank(reader);
            CHECK(reader.features().size() == known);
            source.finish(reader);  // the next line is the first of a file again
        }
        CHECK(first.columns == second.columns && first.values == second.values && first.keys == second.keys);
        CHECK(first.labels == second.labels && first.start == second.start && first.n_skipped == second.n_skipped);
    } catch (const std::invalid_argument&) {
        CHECK(may_fail);
    }
}

// make(n) returns a fresh stream shared by n readers, if it can be shared; units: whether whole units are skipped.
template <class Source, class Make>
void run_check(const Choices& choices, const Source& source, bool may_fail, bool units, Make&& make) {
    const std::uint32_t which = choices.hash % 16;
    if (which == 0) return read_frozen(source, may_fail, make);
    if (which == 1 && choices.skips() && units)
        return compare_without_skipped(choices.n_readers(), source, may_fail, make);
    if (which <= 3) return compare_cuts(choices, source, may_fail, make);
    feed_all(make(choices.n_readers()), source, cut(source.size(), choices.piece()), may_fail,
             [](const ParsedRows&) {});
}

inline std::string_view first_lines(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t k = 0; k < kMaxLines; ++k)
        if ((end = text.find('\n', end) + 1) == 0) return text;
    return text.substr(0, end);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return first_lines({reinterpret_cast<const char*>(data) + Choices::size, size - Choices::size});
}

}  // namespace fuzz
