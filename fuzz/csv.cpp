// Text with a header, or with columns that are told.
#include "csv.hpp"

#include "common.hpp"

namespace {

using namespace confidently;

// What columns are, by the first letters of their names.
std::vector<ColumnUse> uses(const std::vector<std::string>& names) {
    std::vector<ColumnUse> columns;
    bool kept = false;
    for (const std::string& name : names) {
        const std::size_t use = std::string_view("nvctlw").find(name.empty() ? 'v' : name[0]);
        columns.push_back({name, use == std::string_view::npos ? Use::value : static_cast<Use>(use), {}});
        if (!kept && name.ends_with('k')) columns.back().kept = {0};
        kept |= name.ends_with('k');
    }
    return columns;
}

// Reads a header first where no columns are told, as the package does.
struct TableReader {
    CsvReader reader;
    bool described;
    RowWriter& writer;

    TableReader(const fuzz::Choices& choices, const std::vector<std::string>& columns)
        : reader({choices.bit(5) ? '\t' : ',', !choices.bit(5)}, choices.options(1),
                 {choices.bit(6), 1, choices.more_bit(5) ? 2 : 1, choices.bit(7)}),
          described(!columns.empty()), writer(reader.writer) {
        if (described) reader.describe(uses(columns));
    }

    TableReader(TableReader&& other) : reader(std::move(other.reader)), described(other.described), writer(reader.writer) {}

    ParsedRows feed(std::string_view text) {
        if (described) return reader.feed(text);
        describe(text);
        writer.begin_batch(1);
        return described ? reader.feed("") : writer.take();
    }

    ParsedRows finish() {
        if (!described) describe("\n");
        described = true;
        return reader.finish();
    }

  private:
    void describe(std::string_view text) {
        const auto header = reader.header(text);
        if (!header) return;
        reader.describe(uses(*header));
        described = true;
    }
};

std::vector<std::string> told_columns(const fuzz::Choices& choices) {
    switch (choices.more >> 3 & 3) {
        case 0: return {"v"};
        case 1: return {"l", "v", "ck"};
        case 2: return {"l", "t", "w", "v", "nk"};
        default: return {};
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < fuzz::Choices::size) return 0;
    const fuzz::Choices first(data, size);
    const bool header = told_columns(first).empty(), lines_are_rows = first.bit(5);  // without quotes
    const auto make = [](const fuzz::Choices& choices) { return TableReader(choices, told_columns(choices)); };
    return fuzz::run(data, size, make, header, lines_are_rows);
}
