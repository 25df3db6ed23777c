// The writer of rows: readers begin a row, fill it, and end it or roll it back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/hashing.hpp"
#include "data/label_table.hpp"
#include "data/parsed_rows.hpp"
#include "data/row_errors.hpp"
#include "memory_pool.hpp"
#include "processor.hpp"
#include "row_order.hpp"
#include "rows.hpp"

namespace confidently {

inline constexpr double kMaxTarget = 1e50;        // in size; no square of it overflows
inline constexpr std::int64_t kMaxWaiting = 128;  // features whose columns are looked up together

// Features whose columns are not looked up yet.
struct WaitingFeatures {
    static constexpr std::int64_t kRoom = kMaxWaiting + 16;  // eight at once may be added, and written behind them

    std::int64_t n = 0;
    double value[kRoom];
    const char* name[kRoom];
    const Namespace* space[kRoom];
    std::uint32_t size[kRoom], key[kRoom];  // size: of the name

    // Removes the first of them.
    void remove(std::int64_t first) {
        if ((n -= first) == 0) return;
        const auto move = [&](auto* list) { std::copy_n(list + first, n, list); };
        move(value), move(name), move(space), move(size), move(key);
    }
};

// target: one number, which is no class.
enum class LabelCount { ignored, any, one, several, target };

inline bool is_single(LabelCount count) { return count == LabelCount::one || count == LabelCount::target; }

inline constexpr const char* kSkipUnlabelled = "; use --missing-label skip to leave out rows without one";

// What tables write for missing values besides words that are always recognized: text, or numbers in any spelling.
class MissingMarks {
  public:
    MissingMarks(const std::vector<std::string>& marks = {}) : words_(marks) {
        for (const std::string& mark : words_)
            if (double x; read_decimal(mark.c_str(), x) == mark.c_str() + mark.size()) numbers_.push_back(x);
    }

    bool empty() const { return words_.empty(); }
    bool has(double x) const { return std::find(numbers_.begin(), numbers_.end(), x) != numbers_.end(); }

    // The byte behind text must not continue a number.
    bool has(std::string_view text) const {
        if (empty()) return false;
        if (std::find(words_.begin(), words_.end(), text) != words_.end()) return true;
        double x;
        return !numbers_.empty() && read_decimal(text.data(), x) == text.data() + text.size() && has(x);
    }

  private:
    std::vector<std::string> words_;
    std::vector<double> numbers_;
};

struct ReaderOptions {
    double largest;  // allowed absolute value
    std::int64_t max_columns;
    LabelCount labels;
    bool skip_errors;                  // skip invalid rows
    bool l2;                           // scale every row to unit L2 norm
    int bits;                          // of hashes of names; FeatureTable::kExact: names are kept
    std::vector<std::string> classes;  // all allowed labels; empty: any
    std::size_t n_kept;
    bool zeros = false;  // numbers that are 0 are entries of a row, in formats with named columns
    bool own_columns =
        false;  // one of several readers: the features that are new to it get their columns later (numbering.hpp)
    bool strict = false;  // JSON lines: what is not a feature must be UTF-8, and a number a finite one, too
    Simd path = usual_simd();
    bool skip_unlabelled = false;  // skip rows without a label, whatever is done with invalid ones
    MissingMarks missing = {};     // formats with named columns
    bool whole_labels = false;     // commas separate labels only if rows are known to have several
};

// Whether what is written as labels is one label, even if it has commas.
inline bool is_whole(const ReaderOptions& options) {
    return options.labels == LabelCount::one || (options.whole_labels && options.labels != LabelCount::several);
}

// Collects the rows of one batch after the other. A row is begun and filled, and then ended or rolled back.
class RowWriter {
  public:
    explicit RowWriter(ReaderOptions options)
        : options(std::move(options)), features_(this->options.bits, this->options.max_columns),
          labels_(this->options.classes), order_(this->options.path) {}

    const ReaderOptions options;

    FeatureTable& features() { return features_; }
    std::size_t n_labels() const { return labels_.size(); }

    // Makes the features known by now permanent; those of a later batch are forgotten with it.
    void freeze() { frozen_ = features_.size(); }

    void begin_batch(std::int64_t first_line) {
        rows = ParsedRows();
        ++batch_;
        rows.pool = pool_;
        rows.first_line = first_line;
        rows.first_new = options.own_columns ? features_.first_provisional() : std::numeric_limits<std::int64_t>::max();
        rows.kept.resize(options.n_kept);
        if (frozen_ >= 0) forget(frozen_);
    }

    void begin_row(std::int64_t line) {
        line_ = line;
        row_start_ = rows.size;
        waiting_.n = 0;
        too_many_ = false;
        weight_ = 1.0;
        ascending_ = true;
        before_ = -1;
    }

    // Adds an entry to the row.
    CONFIDENTLY_INLINE void add(std::int64_t column, double value) {
        ascending_ &= column > before_;
        before_ = column;
        rows.add(static_cast<std::int32_t>(column), value);
    }

    CONFIDENTLY_INLINE void add(const Namespace& space, std::string_view name, double value) {
        add(column_of(space, name), value);
    }

    // The same for one of many features: its column is looked up some features later, when its memory has arrived. Name
    // and namespace must stay valid until the row ends or flush is called.
    CONFIDENTLY_INLINE void add_one_of_many(const Namespace& space, std::string_view name, double value) {
        add_one_of_many(space, name, murmur3(name, space.seed), value);
    }

    // The same with the hash of the name.
    CONFIDENTLY_INLINE void add_one_of_many(const Namespace& space, std::string_view name, std::uint32_t hash,
                                            double value) {
        if (waiting_.n == kMaxWaiting) flush();
        const std::uint32_t key = hash & features_.mask();
        features_.expect(key);
        const std::int64_t n = waiting_.n++;
        waiting_.space[n] = &space;
        waiting_.name[n] = name.data();
        waiting_.size[n] = static_cast<std::uint32_t>(name.size());
        waiting_.value[n] = value;
        waiting_.key[n] = key;
    }

    // Where more such features may be written, behind the n that wait.
    WaitingFeatures& waiting() { return waiting_; }

    // Adds as many of these. Columns are looked up when they would have been if each had been added alone.
    CONFIDENTLY_INLINE void add_waiting(int n) {
        waiting_.n += n;
        if (waiting_.n > kMaxWaiting) [[unlikely]]
            look_up(kMaxWaiting);
    }

    // Adds the n entries that were written behind the last one, to rows.columns and rows.values, as all entries of the
    // row.
    void added(std::int64_t n, bool ascending) {
        rows.size += n;
        ascending_ = ascending;
    }

    // Looks up the column of every feature that was added.
    void flush() { look_up(waiting_.n); }

    // The column of a feature, which is announced if it is new. It is valid until features are forgotten.
    CONFIDENTLY_INLINE std::int32_t column_of(const Namespace& space, std::string_view name) {
        flush();  // columns are numbered in the order of features
        return found(features_.key_of(space, name), space, name);
    }

    // How often features were forgotten, or got other columns.
    std::uint64_t forgotten() const { return forgotten_; }

    // Merges the entries from first on: each column once, with the value 1.
    void once(std::int64_t first) {
        rows.size = first + order_.sort(rows.columns.get() + first, rows.values.get() + first, rows.size - first,
                                        [](double& kept, double, bool) { kept = 1.0; });
        ascending_ = false;  // relative to the entries before
    }

    // Checks a value as written: it must be finite and not too large.
    void check(double value, std::string_view token, const char* kind = "feature", const char* remedy = "") const {
        if (std::fabs(value) <= options.largest) return;
        if (std::isnan(value)) fail(token, kind, "has a value that is not finite; leave it out, or impute it");
        char bound[32];
        std::snprintf(bound, sizeof bound, "%g", options.largest);
        fail(token, kind, "has a value above " + std::string(bound) + " in size; rescale it" + remedy);
    }

    // The byte behind the token must not continue a number.
    void label(std::string_view token) {
        if (known_label(token)) [[likely]]
            return;
        if (options.labels == LabelCount::target) invalid_target(token);
        std::pair<std::int32_t, bool> found;
        try {
            found = labels_.number_of(token);
        } catch (const std::invalid_argument& e) {
            fail(token, "label", e.what());
        }
        if (found.second) rows.new_labels.push_back({labels_.label(found.first), rows.n_rows(), line_});
        add_label(found.first);
    }

    // The same if the label is known as it is written, or a valid target; returns whether it is.
    bool known_label(std::string_view token) {
        if (options.labels == LabelCount::target) return read_target(token);
        const std::int32_t number = labels_.known(token);
        if (number >= 0) add_label(number);
        return number >= 0;
    }

    // A target, and the text of it that an error shows.
    void target(double y, std::string_view token) {
        if (!(std::fabs(y) <= kMaxTarget)) invalid_target(token);
        rows.labels.push_back(0);
        rows.targets.push_back(y);
    }

    // A row without a target, and what is written in its place.
    [[noreturn]] void no_target(std::string_view token) const {
        const std::string shown = token.empty() ? "" : ", which is " + excerpt(token);
        throw RowError{nullptr, "the target is missing" + shown + kSkipUnlabelled, true};
    }

    void weight(double w, std::string_view token) {
        if (!(w >= 0.0 && w <= kMaxExampleWeight)) fail(token, "weight", "is not a number from 0 to 1e9");
        if (w > 0.0 && w < kMinExampleWeight)
            fail(token, "weight", "is above 0 and below 1e-100; use 0 to leave the row out");
        weight_ = w;
    }

    // The weight as written; the byte behind the text must not continue a number.
    void weight(std::string_view text, std::string_view token) {
        double w = 0.0;
        weight(read_decimal(text.data(), w) == text.data() + text.size() ? w : -1.0, token);
    }

    // A cell of a column of numbers or dates that becomes a category, and the batch of the last one.
    void odd(const std::string& column, std::string_view text, std::int64_t& batch) {
        if (std::exchange(batch, batch_) != batch_ && rows.odd.size() < kMaxOdd)
            rows.odd.push_back({column, std::string(text), rows.n_rows(), &batch});
    }

    void keep(std::size_t which, std::string_view text) { rows.kept[which].add("", text); }

    // Checks the number of labels against the options.
    void end_row() {
        const auto n_labels = static_cast<std::int64_t>(rows.labels.size()) - rows.label_start.back();
        if (n_labels == 0 && options.skip_unlabelled && options.labels != LabelCount::ignored)
            throw RowError{nullptr, "the row has no label", true};
        if (n_labels != 1 && is_single(options.labels)) {
            const bool number = options.labels == LabelCount::target;
            throw RowError{nullptr,
                           "the row has " + (n_labels ? std::to_string(n_labels) : std::string("no")) +
                               (number ? " targets, expected one number"
                                       : " labels, expected one; if rows are multilabel, use --multilabel") +
                               (n_labels == 0 ? kSkipUnlabelled : ""),
                           n_labels == 0};
        }
        flush();  // the last that may fail: up to here the row can be rolled back
        if (too_many_) throw_too_many(options.max_columns);
        if (n_labels != 1 && options.labels == LabelCount::any && rows.multilabel_row < 0) {
            rows.multilabel_row = rows.n_rows();
            rows.multilabel_line = line_;
        }
        rows.label_start.push_back(static_cast<std::int64_t>(rows.labels.size()));
        finish_entries();
        if (weight_ != 1.0 && rows.weights.empty()) rows.weights.assign(rows.start.size() - 1, 1.0);
        if (weight_ != 1.0 || !rows.weights.empty()) rows.weights.push_back(weight_);
        rows.start.push_back(rows.size);
        for (Strings& column : rows.kept)
            if (column.size() < static_cast<std::size_t>(rows.n_rows())) column.add("", "");
    }

    // Undoes the row that was begun.
    void rollback_row() {
        const std::int64_t row = rows.n_rows();
        forgotten_ += too_many_;
        rows.size = row_start_;
        waiting_.n = 0;
        rows.labels.resize(static_cast<std::size_t>(rows.label_start.back()));
        rows.targets.resize(std::min(rows.targets.size(), static_cast<std::size_t>(row)));
        while (!rows.new_labels.empty() && rows.new_labels.back().row == row) {
            rows.new_labels.pop_back();
            labels_.forget_last();
        }
        for (; !rows.odd.empty() && rows.odd.back().row == row; rows.odd.pop_back()) *rows.odd.back().batch = 0;
        std::size_t n = rows.new_features.row.size();
        while (n > 0 && rows.new_features.row[n - 1] == row) --n;
        forget(features_.size() - static_cast<std::int64_t>(rows.new_features.row.size() - n));
        rows.new_features.row.resize(n);
        rows.new_features.key.resize(n);
        rows.new_features.names.truncate(n);
        for (Strings& column : rows.kept) column.truncate(static_cast<std::size_t>(row));
    }

    // Counts a row that was rolled back; throws if such rows are not skipped. what: with its place.
    void skip(std::int64_t line, const std::string& what, const RowError& error) {
        if (!options.skip_errors && !(error.no_label && options.skip_unlabelled)) throw std::invalid_argument(what);
        if (++rows.n_skipped <= kMaxSkippedShown) rows.skipped.push_back({line, what});
    }

    // Gives the features that are new in these rows their columns in the stream.
    void renumber(const std::vector<std::int32_t>& columns) {
        features_.renumber(columns);
        forgotten_ += !columns.empty();
    }

    ParsedRows take() { return std::move(rows); }

    ParsedRows rows;

  private:
    static constexpr double kMaxExampleWeight = 1e9;
    static constexpr double kMinExampleWeight = 1e-100;  // unless it is 0: a noise divided by it stays finite
    static constexpr std::int64_t kMaxSkippedShown = 5;
    static constexpr std::size_t kMaxOdd = 16;  // columns of a batch

    // Looks up the columns of the first n features that wait.
    void look_up(std::int64_t n) {
        rows.room(n + FeatureTable::kNearRoom);
        std::int32_t* columns = rows.columns.get() + rows.size;
        features_.near(waiting_.key, n, columns, options.path);
        for (std::int64_t k = 0; k < n; ++k)
            if (columns[k] < 0) [[unlikely]]
                columns[k] = found(waiting_.key[k], *waiting_.space[k], {waiting_.name[k], waiting_.size[k]});
        bool ascending = n == 0 || columns[0] > before_;
        for (std::int64_t k = 1; k < n; ++k) ascending &= columns[k] > columns[k - 1];
        std::copy_n(waiting_.value, n, rows.values.get() + rows.size);
        rows.size += n;
        if (n > 0) before_ = columns[n - 1];
        ascending_ &= ascending;
        waiting_.remove(n);
    }

    // Adds the target that is written, if it is valid; returns whether it is.
    bool read_target(std::string_view token) {
        double y = 0.0;
        if (token.empty() || read_decimal(token.data(), y) != token.data() + token.size()) return false;
        if (!(std::fabs(y) <= kMaxTarget)) return false;
        target(y, token);
        return true;
    }

    [[noreturn]] void invalid_target(std::string_view token) const {
        if (token.empty()) no_target("");
        double y = 0.0;
        if (is_not_finite(token)) fail(token, "target", "is not finite");
        const bool number = read_decimal(token.data(), y) == token.data() + token.size();
        fail(token, "target",
             number ? "is above 1e50 in size; rescale the targets"
                    : "is not a number; if it means that the target is missing, use --missing " + std::string(token) +
                          " --missing-label skip");
    }

    void add_label(std::int32_t number) {
        std::vector<std::int32_t>& labels = rows.labels;
        const auto first = labels.begin() + static_cast<std::ptrdiff_t>(rows.label_start.back());
        if (std::find(first, labels.end(), number) == labels.end()) labels.push_back(number);
    }

    void finish_entries() {
        std::int32_t* columns = rows.columns.get() + row_start_;
        double* values = rows.values.get() + row_start_;
        if (!ascending_) rows.size = row_start_ + order_.sort_and_sum(columns, values, rows.size - row_start_);
        if (rows.size == row_start_) return;
        const std::int64_t largest = rows.columns[rows.size - 1];
        if (largest >= rows.first_new) return rows.unfinished.push_back(rows.n_rows());
        if (options.l2) normalize(values, rows.size - row_start_);
        rows.n_columns = std::max(rows.n_columns, largest + 1);
    }

    // Forgets the features from the n-th on.
    void forget(std::int64_t n) {
        forgotten_ += features_.size() > n;
        features_.truncate(n);
    }

    CONFIDENTLY_INLINE std::int32_t found(std::uint32_t key, const Namespace& space, std::string_view name) {
        const auto [column, is_new] = features_.column(key, space, name);
        return is_new ? announced(column, key, space, name) : column;
    }

    // A new feature's column. One without room for it gets any column: the row is invalid, whether it is skipped or
    // ends.
    std::int32_t announced(std::int32_t column, std::uint32_t key, const Namespace& space, std::string_view name) {
        too_many_ |= column < 0;
        if (column < 0) return 0;
        rows.new_features.add(rows.n_rows(), key, space.prefix, name);
        return column;
    }

    FeatureTable features_;
    WaitingFeatures waiting_;
    LabelTable labels_;
    std::int64_t frozen_ = -1;
    std::uint64_t forgotten_ = 0;
    std::int64_t batch_ = 0, line_ = 0, row_start_ = 0, before_ = -1;
    double weight_ = 1.0;
    bool ascending_ = true;
    bool too_many_ = false;  // the row has new features for which there is no room
    std::shared_ptr<MemoryPool> pool_ = std::make_shared<MemoryPool>();
    RowOrder order_;
};

}  // namespace confidently
