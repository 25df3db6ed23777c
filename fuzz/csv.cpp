// Text with a header, or with given columns.
#include "data/csv.hpp"

#include "common.hpp"

namespace {

using namespace confidently;

std::uint32_t made;  // readers of this input: each on another path, so that all comparisons compare paths, too

// The uses of columns, by the first letters of their names.
std::vector<ColumnUse> uses(const fuzz::Choices& choices, const std::vector<std::string>& names) {
    std::vector<ColumnUse> columns;
    bool kept = false;
    for (const std::string& name : names) {
        const std::size_t use = std::string_view("nvctlgwud").find(name.empty() ? 'v' : name[0]);
        columns.push_back(
            {name, use == std::string_view::npos ? Use::value : fuzz::use_in(choices, static_cast<Use>(use)), {}});
        ColumnUse& column = columns.back();
        if (name.find('f') != name.npos)
            column.numbers = {',', '.', name.find('m') != name.npos, name.find('s') != name.npos};
        if (name.find('z') != name.npos) column.date_format = "%d/%m/%y";
        if (!kept && name.ends_with('k')) columns.back().kept = {0};
        kept |= name.ends_with('k');
    }
    return columns;
}

// Reads a header first unless columns are given, as the package does.
struct TableReader {
    CsvReader reader;
    fuzz::Choices choices;
    bool described;

    TableReader(const fuzz::Choices& choices, const std::vector<std::string>& columns, bool careful = false)
        : reader({choices.bit(5) ? '\t' : ',', !choices.bit(5), careful}, options_of(choices),
                 {choices.bit(6), 1, choices.more_bit(5) ? 2 : 1, choices.bit(7)}),
          choices(choices), described(!columns.empty()) {
        if (described) reader.describe(uses(choices, columns));
    }

    const ReaderOptions& options() const { return reader.writer.options; }
    FeatureTable& features() { return reader.writer.features(); }
    void freeze() { reader.writer.freeze(); }

    ParsedRows feed(std::string_view text) {
        if (described) return reader.feed(text);
        describe(text);
        reader.writer.begin_batch(1);
        return described ? reader.feed("") : reader.writer.take();
    }

    ParsedRows finish() {
        if (!described) describe("\n");
        described = true;
        return reader.finish();
    }

    // What the cells of the first rows are, of which the first piece may have enough.
    std::vector<CellCounts> counts(std::string_view text, std::size_t cut) {
        constexpr std::int64_t kRows = 4;
        for (const bool last : {false, true}) {
            std::string_view piece = last ? text.substr(cut) : text.substr(0, cut);
            if (!described) {
                describe(piece);
                if (!described && last) describe("\n");
                if (!described) continue;
                piece = "";
            }
            if (const auto found = reader.counts(piece, last, kRows)) return *found;
        }
        return {};
    }

  private:
    static ReaderOptions options_of(const fuzz::Choices& choices) {
        ReaderOptions options = choices.options(1);
        options.path = static_cast<Simd>(made++ % (static_cast<std::uint32_t>(best_simd()) + 1));
        return options;
    }

    void describe(std::string_view text) {
        const auto header = reader.header(text);
        if (!header) return;
        reader.describe(uses(choices, *header));
        described = true;
    }
};

std::vector<std::string> given_columns(const fuzz::Choices& choices) {
    if (choices.more_bit(7)) return {"v1", "v2", "u3", "v4", "l", "v5", "n", "v6", "w"};
    switch (choices.more >> 3 & 3) {
        case 0: return {"v"};
        case 1: return {"l", "v", "ck"};
        case 2: return {"l", "t", "wf", "vfm", "ufs", "dz", "nk"};
        default: return {};
    }
}

// What the first cells are does not depend on the cuts.
void check_counts(const fuzz::Choices& choices, const std::vector<std::string>& columns, const std::string& text) {
    try {
        const auto whole = TableReader(choices, columns).counts(text, text.size());
        const auto cut = TableReader(choices, columns).counts(text, text.size() / 2);
        CHECK(whole == cut);
    } catch (const std::invalid_argument&) {  // an invalid header
    }
}

// Rows that are read in the fast way are those of the careful way, and so are errors.
void check_ways(const fuzz::Choices& choices, const std::vector<std::string>& columns, const fuzz::Text& source) {
    const auto rows = [&](bool careful) {
        return fuzz::read(TableReader(choices, columns, careful), source, fuzz::cut(source.size(), choices.piece()),
                          true);
    };
    CHECK(rows(false) == rows(true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < fuzz::Choices::size) return 0;
    const fuzz::Choices choices(data, size);
    made = choices.hash >> 8;
    const std::vector<std::string> columns = given_columns(choices);
    const bool header = columns.empty(), quotes = !choices.bit(5);
    const auto make = [&](std::size_t) { return TableReader(choices, columns); };
    // An invalid header is an error even if rows are skipped, and so are too many columns. A header cannot be left out,
    // nor can lines whose rows may span several.
    check_counts(choices, columns, std::string(fuzz::text_of(data, size)));
    if (choices.hash / 16 % 4 == 0) check_ways(choices, columns, fuzz::Text{fuzz::text_of(data, size)});
    fuzz::run_check(choices, fuzz::Text{fuzz::text_of(data, size)},
                    !choices.skips() || choices.has_few_columns() || header, !quotes && !header, make);
    return 0;
}
