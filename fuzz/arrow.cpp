// Batches of Arrow columns made from the input: valid ones, and ones whose buffers do not fit each other.
#include "data/arrow_rows.hpp"

#include <cstring>

#include "common.hpp"

namespace {

using namespace confidently;

constexpr std::size_t kMaxRows = 6, kMaxColumns = 4;

struct Bytes {
    const std::uint8_t *p, *end;

    std::uint8_t next() { return p == end ? 0 : *p++; }

    double number() {
        constexpr double numbers[] = {0.0, 1.0, -1.0, 0.5, 1e9, 1e10, 1e200, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 3.0};
        const std::uint8_t which = next();
        if (which < std::size(numbers)) return numbers[which];
        std::uint64_t bits = 0;
        for (int k = 0; k < 8; ++k) bits = bits << 8 | next();
        double x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
    }

    // Any number, usually a small one.
    std::int64_t odd_number() {
        const std::uint8_t low = next();
        if (low == 0xf0) return std::numeric_limits<std::int64_t>::max();
        const std::uint8_t high = low >= 0xf0 ? next() : 0;
        const auto small = static_cast<std::uint64_t>(static_cast<std::int8_t>(low));
        return static_cast<std::int64_t>(small + (std::uint64_t{high} << 56));
    }
};

// A buffer of exactly this size, so that the sanitizer sees a read beyond it.
template <class T>
struct Buffer {
    std::unique_ptr<T[]> data;
    std::size_t size = 0;

    template <class Next>
    void fill(std::size_t n, Next&& next) {
        data = std::make_unique_for_overwrite<T[]>(n);
        for (size = 0; size < n; ++size) data[size] = static_cast<T>(next());
    }
};

struct Column {
    ArrowColumn arrow;
    ColumnUse use;
    Buffer<double> numbers;
    Buffer<char> text;
    Buffer<std::int64_t> strings, lists;
    Buffer<std::int32_t> entries;
    Buffer<std::uint8_t> valid, list_valid;

    // damaged: buffers may not fit
    Column(const fuzz::Choices& choices, Bytes& bytes, std::size_t which, std::size_t n_rows, bool damaged) {
        const std::uint8_t kind = bytes.next();
        const bool has_lists = kind & 4;
        arrow.which = which;
        use = {std::string(1, static_cast<char>('a' + which)),
               fuzz::use_in(choices, static_cast<Use>(bytes.next() % 9)),
               {}};
        if (which == 0) use.kept = {0};
        if (has_lists && use.use == Use::none) use = {use.name, Use::value, {}};  // kept values are one string per row
        if (has_lists) use.kept.clear();
        const std::size_t n = has_lists ? parts(bytes, n_rows, 4, damaged, lists, arrow.lists) : n_rows;
        (kind & 3) == 0 ? take_numbers(bytes, n) : take_strings(bytes, n, (kind & 3) == 1, damaged);
        if (kind & 8) bits(bytes, n, damaged, valid, arrow.valid);
        if (has_lists && kind & 16) bits(bytes, n_rows, damaged, list_valid, arrow.list_valid);
    }

    // Rows first to last of it.
    ArrowColumn slice(std::size_t first, std::size_t last) const {
        ArrowColumn part = arrow;
        const auto n = static_cast<std::int64_t>(last - first);
        if (arrow.lists.start) {
            part.lists.start += first;
            part.lists.n = n;
            part.list_valid.first = later(part.list_valid.first, first);
            return part;
        }
        part.n = n;
        part.valid.first = later(part.valid.first, first);
        if (arrow.numbers) {
            part.numbers += first;
        } else if (arrow.entry) {
            part.entry += first;
        } else {
            part.strings.start += first;
            part.strings.n = n;
        }
        return part;
    }

  private:
    static std::int64_t later(std::int64_t place, std::size_t n) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(place) + n);
    }

    void take_numbers(Bytes& bytes, std::size_t n) {
        numbers.fill(n, [&] { return bytes.number(); });
        arrow.numbers = numbers.data.get();
        arrow.n = static_cast<std::int64_t>(n);
    }

    void take_strings(Bytes& bytes, std::size_t n, bool dictionary, bool damaged) {
        const std::size_t n_strings = dictionary ? bytes.next() % 4 : n;
        const std::size_t text_size = parts(bytes, n_strings, 8, damaged, strings, arrow.strings);
        text.fill(text_size, [&] { return bytes.next(); });
        arrow.text = text.data.get();
        arrow.text_size = static_cast<std::int64_t>(text.size);
        arrow.n = static_cast<std::int64_t>(n);
        if (!dictionary) return;
        const int limit = static_cast<int>(n_strings);
        entries.fill(
            n, [&] { return damaged || limit == 0 ? static_cast<std::int8_t>(bytes.next()) : bytes.next() % limit; });
        arrow.entry = entries.data.get();
    }

    // Sets so many parts, each of fewer than `most` elements; returns the number of elements with buffers.
    static std::size_t parts(Bytes& bytes, std::size_t n, int most, bool damaged, Buffer<std::int64_t>& start,
                             Parts& out) {
        std::int64_t at = bytes.next() % 2, before = at;
        start.fill(n + 1, [&] { return before = at, at += bytes.next() % most, before; });
        if (damaged)
            for (std::size_t k = 0; k <= n; ++k)
                if (bytes.next() & 1) start.data[k] = bytes.odd_number();
        out.start = start.data.get();
        out.n = static_cast<std::int64_t>(n);
        return static_cast<std::size_t>(before);
    }

    static void bits(Bytes& bytes, std::size_t n, bool damaged, Buffer<std::uint8_t>& buffer, Validity& out) {
        out.first = bytes.next() % 11;
        buffer.fill((static_cast<std::size_t>(out.first) + n + 7) / 8, [&] { return bytes.next(); });
        if (damaged && bytes.next() & 1) out.first = bytes.odd_number();
        out.bits = buffer.data.get();
        out.size = static_cast<std::int64_t>(buffer.size);
    }
};

struct Stream : ArrowReader {
    using ArrowReader::ArrowReader;

    const ReaderOptions& options() const { return writer.options; }
    FeatureTable& features() { return writer.features(); }
    void freeze() { writer.freeze(); }
};

struct Table {
    std::size_t n_rows;
    std::vector<Column> columns;

    std::size_t size() const { return n_rows; }
    std::size_t unit_end(std::size_t first) const { return first + 1; }

    ParsedRows feed(Stream& reader, std::size_t first, std::size_t last) const {
        std::vector<ArrowColumn> parts;
        for (const Column& column : columns) parts.push_back(column.slice(first, last));
        return reader.feed(static_cast<std::int64_t>(last - first), parts);
    }

    ParsedRows finish(Stream& reader) const { return reader.feed(0, {}); }
    void feed_blank(Stream& reader) const { finish(reader); }
};

// A valid table has strings for all entries of its dictionaries.
bool is_sound(const Table& table) {
    return std::none_of(table.columns.begin(), table.columns.end(), [](const Column& column) {
        return column.arrow.entry && column.arrow.strings.n == 0 && column.arrow.n > 0;
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < fuzz::Choices::size + 2) return 0;
    const fuzz::Choices choices(data, size);
    Bytes bytes{data + fuzz::Choices::size, data + size};
    const bool damaged = choices.bit(5);
    Table table{bytes.next() % (kMaxRows + 1), {}};
    const std::size_t n_columns = bytes.next() % (kMaxColumns + 1);
    for (std::size_t k = 0; k < n_columns; ++k) table.columns.emplace_back(choices, bytes, k, table.n_rows, damaged);
    std::vector<ColumnUse> uses;
    for (const Column& column : table.columns) uses.push_back(column.use);
    const auto make = [&](std::size_t) {
        Stream reader(choices.options(1), {choices.bit(6), 1, choices.more_bit(5) ? 2 : 1, choices.bit(7)});
        reader.describe(uses);
        return reader;
    };
    if (damaged || !is_sound(table)) {
        fuzz::feed_all(make(1), table, fuzz::cut(table.n_rows, choices.piece()), true, [](const ParsedRows&) {});
        fuzz::feed_all(make(1), table, {{0, table.n_rows}}, true, [](const ParsedRows&) {});
    } else {
        fuzz::run_check(choices, table, !choices.skips() || choices.has_few_columns(), true, make);
    }
    return 0;
}
