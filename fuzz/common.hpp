// What every fuzz target does: the input is read whole, and again cut into pieces; both must give the same rows, and
// everything a reader promises must hold.
//
// The first two bytes of an input choose how it is read, so that one corpus covers all options.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "line_reader.hpp"

namespace fuzz {

using namespace confidently;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                \
        }                                                                                \
    } while (false)

constexpr std::size_t kMostPieces = 24;  // for speed

struct Choices {
    std::uint8_t reader, cut;

    bool bit(int k) const { return reader >> k & 1; }

    ReaderOptions options(std::size_t n_kept) const {
        constexpr LabelCount counts[] = {LabelCount::ignored, LabelCount::any, LabelCount::one, LabelCount::set};
        const int bits = bit(4) ? FeatureTable::kExact : 4;  // few columns, so that names meet
        return {1e100, (std::int64_t(1) << 31) - 1, counts[reader & 3], bit(2), bit(3), bits, {}, n_kept};
    }
};

// All the rows of a stream, whatever its batches.
struct Rows {
    std::vector<double> values, weights;
    std::vector<std::int32_t> columns, labels;
    std::vector<std::int64_t> start{0}, label_start{0}, new_label_row, new_feature_row;
    std::vector<std::uint32_t> keys;
    std::string names, label_names, kept;
    std::int64_t n_skipped = 0, n_columns = 0;
    std::string error;

    bool operator==(const Rows&) const = default;
};

inline void check(const ParsedRows& rows, const ReaderOptions& options) {
    CHECK(rows.start.front() == 0 && rows.start.back() == rows.size);
    CHECK(rows.label_start.size() == rows.start.size());
    CHECK(rows.label_start.back() == static_cast<std::int64_t>(rows.labels.size()));
    CHECK(rows.weights.empty() || static_cast<std::int64_t>(rows.weights.size()) == rows.n_rows());
    for (const Strings& column : rows.kept) CHECK(static_cast<std::int64_t>(column.size()) == rows.n_rows());
    for (const double w : rows.weights) CHECK(w >= 0.0 && w <= 1e9);
    std::int64_t widest = 0;
    for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
        const auto r = static_cast<std::size_t>(i);
        CHECK(rows.start[r] <= rows.start[r + 1] && rows.label_start[r] <= rows.label_start[r + 1]);
        const auto n_labels = rows.label_start[r + 1] - rows.label_start[r];
        CHECK(options.labels != LabelCount::one || n_labels == 1);
        CHECK(options.labels != LabelCount::ignored || n_labels == 0);
        CHECK(options.labels != LabelCount::any || n_labels == 1 || (0 <= rows.list_row && rows.list_row <= i));
        for (std::int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k) {
            CHECK(std::isfinite(rows.values[k]));
            CHECK(rows.columns[k] >= 0 && (k == rows.start[r] || rows.columns[k - 1] < rows.columns[k]));
            widest = std::max<std::int64_t>(widest, rows.columns[k] + 1);
        }
    }
    CHECK(widest == rows.n_columns);
    CHECK(rows.new_features.row.size() == rows.new_features.key.size());
    CHECK(rows.new_features.row.size() == rows.new_features.names.size());
    std::int64_t before = 0;
    for (const std::int64_t row : rows.new_features.row) {
        CHECK(before <= row && row < rows.n_rows());
        before = row;
    }
}

inline void append(Rows& all, const ParsedRows& rows) {
    const std::int64_t first = static_cast<std::int64_t>(all.start.size()) - 1;
    for (std::int64_t k = 0; k < rows.size; ++k) {
        all.values.push_back(rows.values[k]);
        all.columns.push_back(rows.columns[k]);
    }
    const std::int64_t size = all.start.back(), n_labels = all.label_start.back();
    for (std::size_t i = 1; i < rows.start.size(); ++i) {
        all.start.push_back(size + rows.start[i]);
        all.label_start.push_back(n_labels + rows.label_start[i]);
        all.weights.push_back(rows.weights.empty() ? 1.0 : rows.weights[i - 1]);
    }
    all.labels.insert(all.labels.end(), rows.labels.begin(), rows.labels.end());
    for (const NewLabel& label : rows.new_labels) {
        all.new_label_row.push_back(first + label.row);
        all.label_names += label.label.text + (label.label.number ? "\n#" : "\n");
    }
    for (const std::int64_t row : rows.new_features.row) all.new_feature_row.push_back(first + row);
    all.keys.insert(all.keys.end(), rows.new_features.key.begin(), rows.new_features.key.end());
    all.names += rows.new_features.names.text;
    for (const Strings& column : rows.kept) all.kept += column.text;
    all.n_skipped += rows.n_skipped;
    all.n_columns = std::max(all.n_columns, rows.n_columns);
}

// The rows of the text, fed in pieces of so many bytes; 0: at once.
template <class Reader>
Rows read(Reader reader, std::string_view text, std::size_t piece) {
    Rows all;
    const auto take = [&](const ParsedRows& rows) {
        check(rows, reader.writer.options);
        append(all, rows);
    };
    try {
        for (std::size_t i = 0; i < text.size(); i += piece ? piece : text.size()) {
            // a copy of its own, so that the sanitizer sees a read beyond the piece
            const std::string_view part = text.substr(i, piece ? piece : std::string_view::npos);
            take(reader.feed({std::vector<char>(part.begin(), part.end()).data(), part.size()}));
        }
        take(reader.finish());
    } catch (const std::invalid_argument& e) {
        CHECK(!reader.writer.options.skip_errors);
        all.error = e.what();
    }
    if (all.error.empty()) CHECK(reader.writer.features().size() == static_cast<std::int64_t>(all.keys.size()));
    return all;
}

// Where the text is cut does not matter.
template <class Make>
void compare_cuts(std::string_view text, std::size_t piece, Make&& make) {
    const Rows whole = read(make(), text, 0), cut = read(make(), text, piece);
    CHECK(whole.error == cut.error);
    CHECK(!whole.error.empty() || whole == cut);  // how many rows came before an error depends on the pieces
}

// Lines that are passed over leave no trace: the text without them gives the same rows, and is without errors.
template <class Make>
void compare_without_skipped(std::string_view text, Make&& make) {
    auto reader = make();
    std::string good = "\n";  // so that a byte order mark is one in the first line of the text only
    const std::string_view all = text;
    for (std::string line; !text.empty(); text.remove_prefix(std::min(line.size(), text.size()))) {
        line = std::string(text.substr(0, text.find('\n'))) + '\n';
        const bool marked = text.size() == all.size() && line.starts_with("\xef\xbb\xbf");
        if (reader.feed(line).n_skipped == 0) good += line.substr(marked ? 3 : 0);
    }
    Rows expected = read(make(), all, 0);
    expected.n_skipped = 0;
    CHECK(read(make(), good, 0) == expected);
}

// Features beyond those known when they were frozen are forgotten, every time anew.
template <class Make>
void read_frozen(std::string_view text, Make&& make) {
    auto reader = make();
    const std::size_t half = text.size() / 2;
    try {
        reader.feed(text.substr(0, half));
        reader.finish();
        reader.writer.freeze();
        const std::int64_t known = reader.writer.features().size();
        Rows first, second;
        for (Rows* rows : {&first, &second}) {
            append(*rows, reader.feed(text.substr(half)));
            append(*rows, reader.finish());
            reader.feed("");
            CHECK(reader.writer.features().size() == known);
        }
        CHECK(first.columns == second.columns && first.values == second.values && first.keys == second.keys);
        CHECK(first.labels == second.labels && first.start == second.start && first.n_skipped == second.n_skipped);
    } catch (const std::invalid_argument&) {
        CHECK(!reader.writer.options.skip_errors);
    }
}

// make(choices) gives a fresh reader.
template <class Make>
int run(const std::uint8_t* data, std::size_t size, Make&& make) {
    if (size < 2) return 0;
    const Choices choices{data[0], data[1]};
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    const auto made = [&] { return make(choices); };
    compare_cuts(text, std::max<std::size_t>(choices.cut % 61u + 1, text.size() / kMostPieces), made);
    if (choices.bit(2)) compare_without_skipped(text, made);
    if (choices.cut % 4 == 0) read_frozen(text, made);
    return 0;
}

}  // namespace fuzz
