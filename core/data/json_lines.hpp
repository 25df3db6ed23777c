// JSON lines: one object per line.
//
//   number, true, false       the feature named by the key, with the number, 1 or 0 as its value; 0 is left out unless
//   zeros are wanted string                    the feature key=string, with the value 1 string of a date          the
//   features key.time, key.hour and key.weekday, if the key is one of dates null, ""                  nothing object
//   its members; their keys follow the object's, separated by a dot list                      of strings: a bag,
//   key=string each; of numbers and lists: by position, key.0, key.1, ...;
//                             of objects: the members of all of them, equal features summed
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "data/json_keys.hpp"
#include "data/json_text.hpp"
#include "data/missing.hpp"
#include "data/units.hpp"

namespace confidently {

class JsonLinesFormat {
  public:
    static constexpr bool utf8 = false;  // what is read is checked; what is dropped may be anything

    JsonLinesFormat(json::KeyOptions keys, NgramOptions ngrams)
        : label_(keys.label), numbers_(keys.numbers), keys_(std::move(keys)), ngrams_(ngrams) {}

    const char* parse_line(const char* p, const char* text_end, std::int64_t line, RowWriter& rows) {
        const char* first = skip_spaces(p);
        if (*first == '\n') return first;
        rows.begin_row(line);
        if (*first != '{') no_object(first);
        keys_.begin_row();
        text_end_ = text_end;
        has_label_ = false;
        const char* end = skip_spaces(object(first, keys_.root(), 0, rows));
        if (*end != '\n')
            throw RowError{end,
                           json::shown(end) + " follows the object of the row; JSON lines have one object per line"};
        const LabelCount count = rows.options.labels;
        if (!has_label_ && count != LabelCount::ignored && count != LabelCount::several) {
            const bool number = count == LabelCount::target;
            throw RowError{nullptr,
                           std::string("the row has no ") + (number ? "target" : "label") + ": nothing at the key " +
                               excerpt(label_) + "; name the label's key with --label" +
                               (number ? "" : ", or use --multilabel if rows are multilabel") + kSkipUnlabelled,
                           true};
        }
        rows.end_row();
        return end;
    }

  private:
    using Key = json::Key;
    using Role = json::Role;

    [[noreturn]] static void no_object(const char* p) {
        if (*p == '[')
            throw RowError{p,
                           "a list begins here; JSON lines have one object per line, without commas between them; "
                           "convert it (jq -c .[])"};
        throw RowError{p, json::shown(p) + " is not a JSON object; JSON lines have one object { ... } per line"};
    }

    const char* object(const char* p, Key& parent, int depth, RowWriter& rows) {
        depth = json::deeper(p, depth);
        const std::uint64_t number = ++n_objects_;
        Key** guess = &parent.first;  // most rows have their keys in the same order
        return json::read_members(p + 1, [&](const char* name) {
            const char* end = *guess ? behind_name(name, (*guess)->name) : nullptr;
            Key& key = end ? **guess : find(name, end, parent, guess);
            if (key.object == number && !key.opaque)
                throw RowError{name - 1, "the key " + excerpt(key.name) + " appears twice in its object"};
            key.object = number;
            guess = &key.next;
            return value(json::behind_colon(end), key, depth, rows);
        });
    }

    // Returns the pointer behind the closing quote if the string at p is this name, otherwise nullptr.
    const char* behind_name(const char* p, std::string_view name) const {
        const auto there = static_cast<std::size_t>(text_end_ - p);
        const bool same = name.size() < there && p[name.size()] == '"' && std::memcmp(p, name.data(), name.size()) == 0;
        return same ? p + name.size() + 1 : nullptr;
    }

    Key& find(const char* p, const char*& end, Key& parent, Key** guess) {
        end = p;
        const std::string_view name = json::read_string(end, text_end_, room_);
        Key& key = keys_.child(parent, name, p - 1);
        if (name.data() == p) *guess = &key;  // otherwise it has escapes, and is not written as it reads
        return key;
    }

    const char* value(const char* p, Key& key, int depth, RowWriter& rows) {
        const char* end =
            key.opaque ? json::skip_value(p, text_end_, depth, rows.options.strict) : read(p, key, depth, rows);
        if (key.keep >= 0) keep(p, end, key, rows);
        return end;
    }

    void keep(const char* p, const char* end, const Key& key, RowWriter& rows) {
        const auto which = static_cast<std::size_t>(key.keep);
        if (rows.rows.kept[which].size() > static_cast<std::size_t>(rows.rows.n_rows()))
            throw RowError{p, "there is more than one " + excerpt(key.path) + " in the row, and only one can be kept"};
        if (*p == '"')
            rows.keep(which, json::read_string(++p, text_end_, room_));
        else
            rows.keep(which, *p == 'n' ? std::string_view() : std::string_view(p, static_cast<std::size_t>(end - p)));
    }

    const char* read(const char* p, Key& key, int depth, RowWriter& rows) {
        const bool ignored = key.role == Role::label && rows.options.labels == LabelCount::ignored;
        if (ignored) return json::skip_value(p, text_end_, depth, rows.options.strict);
        switch (*p) {
            case '{':
                if (key.role == Role::label) return labels(p, depth, rows);
                if (key.role == Role::weight) no_weight(p);
                return object(p, key, depth, rows);
            case '[': return list(p, key, depth, rows);
            case '"': return string(p, key, rows);
            case 'n': return json::read_word(p, "null");
            case 't': return boolean(p, "true", key, rows);
            case 'f': return boolean(p, "false", key, rows);
            default: return number(p, key, rows);
        }
    }

    // An object of labels, as spaCy's cats: those above 1/2 are the row's.
    const char* labels(const char* p, int depth, RowWriter& rows) {
        json::deeper(p, depth);
        has_label_ = true;
        return json::read_members(p + 1, [&](const char* at) {
            const char* name = at;
            const std::string text(json::read_string(at, text_end_, room_));
            const char* value = json::behind_colon(at);
            if (*value != 't' && *value != 'f' && *value != '-' && !is_digit(*value))
                throw RowError{
                    p, "the label is an object; expected a string, a number, a list of them, or numbers by label"};
            double x = *value == 't' ? 1.0 : 0.0;
            const char* end = *value == 't'   ? json::read_word(value, "true")
                              : *value == 'f' ? json::read_word(value, "false")
                                              : json::read_number(value, text_end_, x);
            if (x > 0.5) label(name - 1, text, rows);
            return end;
        });
    }

    const char* list(const char* p, Key& key, int depth, RowWriter& rows) {
        if (key.role == Role::weight) no_weight(p);
        depth = json::deeper(p, depth);
        has_label_ |= key.role == Role::label;
        std::size_t place = 0;
        return json::read_elements(p + 1, [&](const char* element) {
            const char c = *element;
            if (c == '[' && key.role == Role::label)
                throw RowError{element, "a label is a list; put all labels of a row in one list"};
            const bool may_have_places = (key.role == Role::feature && c != '"') || key.role == Role::number;
            const bool by_place = may_have_places && c != '{' && c != 'n';
            const std::size_t at = place++;
            return by_place ? value(element, keys_.element(key, at, element), depth, rows)
                            : read(element, key, depth, rows);
        });
    }

    const char* string(const char* p, Key& key, RowWriter& rows) {
        const char* end = p + 1;
        const std::string_view text = json::read_string(end, text_end_, room_);
        if (key.role == Role::weight) no_weight(p);
        if (!text.empty() && !rows.options.missing.has(text)) word(p, text, key, rows);
        return end;
    }

    const char* boolean(const char* p, std::string_view text, Key& key, RowWriter& rows) {
        const char* end = json::read_word(p, text);
        if (key.role == Role::weight) no_weight(p);
        if (key.role == Role::feature || key.role == Role::number)
            add(key, text == "true", rows);
        else
            word(p, key.role == Role::label ? (text == "true" ? "1" : "0") : text, key, rows);
        return end;
    }

    const char* number(const char* p, Key& key, RowWriter& rows) {
        double x;
        const char* end = json::read_number(p, text_end_, x);
        const std::string_view token(p, static_cast<std::size_t>(end - p));
        if (key.role == Role::weight) {
            rows.weight(x, token);
        } else if (rows.options.missing.has(x)) {
            return end;
        } else if (key.role == Role::feature || key.role == Role::number) {
            rows.check(x, token);
            add(key, x, rows);
        } else {
            if (rows.options.strict) json::require_finite(x, p, end);
            word(p, token, key, rows);
        }
        return end;
    }

    // A value that is not read as a number. p: its position, for messages; text may be elsewhere.
    void word(const char* p, std::string_view text, Key& key, RowWriter& rows) {
        if (key.role == Role::label) {
            label(p, text, rows);
        } else if (key.role == Role::text) {
            ngrams_.add(key.space(), text, rows);
        } else if (key.role == Role::number) {
            formatted(p, text, key, rows);
        } else if (key.cell) {
            cell(p, text, *key.cell, rows);
        } else if (key.role != Role::drop && !(key.dates && (is_missing(text) || key.dates->add(text, rows)))) {
            if (key.dates && key.dates->has_format()) throw RowError{p, key.dates->not_a_date(text)};
            rows.add(key.space(), text, 1.0);
        }
    }

    // A number in a string, with a unit.
    void formatted(const char* p, std::string_view text, Key& key, RowWriter& rows) {
        if (is_missing(text)) return;
        try {
            add(key, read_with_unit(text, numbers_, key.unit, rows), rows);
        } catch (RowError& error) {
            error.at = p;
            throw;
        }
    }

    // A string where a table has cells.
    void cell(const char* p, std::string_view text, CellColumn& column, RowWriter& rows) {
        try {
            column.written(text, ngrams_, rows);
        } catch (RowError& error) {
            error.at = p;
            throw;
        }
    }

    void label(const char* p, std::string_view text, RowWriter& rows) {
        has_label_ = true;
        try {
            if (rows.options.labels == LabelCount::target && is_missing(text)) rows.no_target(text);
            rows.label(text);
        } catch (RowError& error) {
            error.at = p;
            throw;
        }
    }

    static void add(const Key& key, double x, RowWriter& rows) {
        if (x == 0.0 && !rows.options.zeros) return;
        rows.add(kNoPrefix, key.path, x);
    }

    [[noreturn]] static void no_weight(const char* p) {
        throw RowError{p, "weight " + json::shown(p) + " is not a number"};
    }

    static inline const Namespace kNoPrefix{""};

    std::string label_;
    NumberFormat numbers_;
    json::Keys keys_;
    Ngrams ngrams_;
    const char* text_end_ = nullptr;
    std::string room_;  // for a string with escapes
    std::uint64_t n_objects_ = 0;
    bool has_label_ = false;
};

}  // namespace confidently
