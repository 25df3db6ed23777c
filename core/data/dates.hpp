// Dates and times as text of ISO 8601, also with slashes, or as time since 1970, and the features that they become.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/decimal.hpp"
#include "data/rows_out.hpp"
#include "data/steady_feature.hpp"

namespace confidently {

inline constexpr std::int64_t kSecondsPerDay = 86'400, kSeconds2000 = 946'684'800;  // from 1970 to 2000
inline constexpr double kSecondsPerYear = 365.2425 * kSecondsPerDay;

struct Moment {
    bool has_date = false;  // otherwise only the hour is known
    double time = 0.0;      // years since the beginning of 2000, in UTC
    double hour = 0.0;      // as written, from 0 to 24, a leap second at midnight; 0 without a time
    double weekday = 0.0;   // as written, from 1, Monday, to 7; 0 without a date, or without its year
};

// Reads the text from its beginning on.
class MomentReader {
  public:
    explicit MomentReader(std::string_view text) : text_(text) {}

    // A date or a time as the format says, as of strftime: %d, %m, %Y, %y, %b, %a, %H, %I, %M, %S, %f, %p, %z, other
    // characters as they are; a space stands for several, and before %p also for none. A date without a year is one of
    // 2000, of an unknown weekday.
    std::optional<Moment> read(std::string_view format) {
        int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
        bool dated = false, half = false, afternoon = false;
        for (std::size_t k = 0; k < format.size(); ++k) {
            bool there = true;
            if (format[k] != '%' || k + 1 == format.size()) {
                there = skip(format[k]) || format.substr(k).starts_with(" %p");
                while (format[k] == ' ' && skip(' ')) {
                }
            } else {
                switch (format[++k]) {
                    case 'd': there = short_digits(31, day); break;
                    case 'm': there = short_digits(12, month); break;
                    case 'b': there = month_name(month); break;
                    case 'Y': there = dated = digits(4, 9999, year); break;
                    case 'y':
                        there = dated = digits(2, 99, year);
                        year += year < 69 ? 2000 : 1900;  // as POSIX has it
                        break;
                    case 'H': there = short_digits(23, hour); break;
                    case 'I': there = half = short_digits(12, hour); break;
                    case 'M': there = digits(2, 59, minute); break;
                    case 'S': there = digits(2, 60, second); break;
                    case 'p': there = half_of_day(afternoon); break;
                    case 'a': there = weekday_name(); break;
                    case 'f': there = fraction_digits(); break;
                    case 'z': there = !at_end() && offset(); break;
                    default: there = format[k] == '%' && skip('%');
                }
            }
            if (!there) return std::nullopt;
        }
        const bool of_no_year = !dated && month && day;
        if (!at_end() || ((dated || of_no_year) && !set_date(dated ? year : 2000, month, day))) return std::nullopt;
        if (of_no_year) weekday_ = 0;
        if (half) hour = hour % 12 + (afternoon ? 12 : 0);
        second_ = 3600 * hour + 60 * minute + second;
        return moment(dated || of_no_year);
    }

    // date, time, or date T time, where a space may stand for the T; a time may have an offset from UTC.
    std::optional<Moment> read() {
        Moment moment;
        moment.has_date = date();
        if (moment.has_date ? !at_end() && !((skip('T') || skip('t') || skip(' ')) && time(true)) : !time(false))
            return std::nullopt;
        if (!at_end()) return std::nullopt;
        return this->moment(moment.has_date);
    }

  private:
    Moment moment(bool has_date) const {
        Moment moment;
        moment.has_date = has_date;
        const double second = static_cast<double>(second_) + static_cast<double>(nanosecond_) / 1e9;
        const std::int64_t since_2000 = days_ * kSecondsPerDay + second_ - offset_ - kSeconds2000;
        moment.time = (static_cast<double>(since_2000) + static_cast<double>(nanosecond_) / 1e9) / kSecondsPerYear;
        moment.hour = second / 3600.0;
        moment.weekday = weekday_;
        return moment;
    }

    bool at_end() const { return at_ == text_.size(); }

    bool skip(char c) {
        const bool there = !at_end() && text_[at_] == c;
        at_ += there;
        return there;
    }

    bool skip_word(std::string_view word) {
        const bool there = text_.substr(at_).starts_with(word);
        at_ += there ? word.size() : 0;
        return there;
    }

    // Reads so many digits, a number up to most.
    bool digits(std::size_t n, int most, int& value) {
        if (text_.size() - at_ < n) return false;
        value = 0;
        for (const std::size_t end = at_ + n; at_ != end; ++at_) {
            if (!is_digit(text_[at_])) return false;
            value = 10 * value + (text_[at_] - '0');
        }
        return value <= most;
    }

    // One or two digits.
    bool short_digits(int most, int& value) {
        const bool two = at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
        return digits(two ? 2 : 1, most, value);
    }

    // The English name of a month, or its first three letters, in upper or lower case; perhaps with a point.
    bool month_name(int& month) {
        static constexpr std::string_view names[] = {"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
        std::string word;
        for (std::size_t k = at_; k < text_.size() && is_letter(text_[k]); ++k)
            word += static_cast<char>(text_[k] | 0x20);
        for (month = 1; month <= 12; ++month) {
            const std::string_view name = names[month - 1];
            if (word == name || word == name.substr(0, 3) || (word == "sept" && month == 9)) break;
        }
        at_ += word.size();
        skip('.');
        return month <= 12;
    }

    // The English name of a weekday, or its first three letters.
    bool weekday_name() {
        static constexpr std::string_view names = "montuewedthufrisatsun";
        const std::size_t first = at_;
        std::string word;
        for (; at_ < text_.size() && is_letter(text_[at_]); ++at_) word += static_cast<char>(text_[at_] | 0x20);
        return at_ - first >= 3 && names.find(word.substr(0, 3)) % 3 == 0;
    }

    // AM or PM, perhaps with points.
    bool half_of_day(bool& afternoon) {
        afternoon = skip('p') || skip('P');
        if (!afternoon && !skip('a') && !skip('A')) return false;
        const bool pointed = skip('.');
        return (skip('m') || skip('M')) && (!pointed || skip('.'));
    }

    static bool is_letter(char c) { return 'a' <= (c | 0x20) && (c | 0x20) <= 'z'; }

    // YYYY-MM-DD, YYYY/MM/DD, also without leading zeros, or YYYYMMDD; goes back if there is none.
    bool date() {
        int year = 0, month = 0, day = 0;
        const bool there = digits(4, 9999, year) && [&] {
            const char mark = at_end() || is_digit(text_[at_]) ? '\0' : text_[at_];
            const bool extended = skip('-') || skip('/');
            if (!extended) return digits(2, 12, month) && digits(2, 31, day);
            return short_digits(12, month) && skip(mark) && short_digits(31, day);
        }();
        if (there && set_date(year, month, day)) return true;
        at_ = 0;
        return false;
    }

    bool set_date(int year, int month, int day) {
        const std::chrono::year_month_day found{std::chrono::year(year),
                                                std::chrono::month(static_cast<unsigned>(month)),
                                                std::chrono::day(static_cast<unsigned>(day))};
        if (!found.ok()) return false;
        const std::chrono::sys_days number = found;
        days_ = number.time_since_epoch().count();
        weekday_ = static_cast<int>(std::chrono::weekday(number).iso_encoding());
        return true;
    }

    // hh:mm, hh:mm:ss and hh:mm:ss.fraction, also h for hh, and behind a date hhmm and so on.
    bool time(bool behind_date) {
        int hour = 0, minute = 0, second = 0;
        const std::size_t first = at_;
        if (!short_digits(23, hour)) return false;
        const bool is_short = at_ == first + 1, extended = skip(':');
        if ((!extended && (is_short || !behind_date)) || !digits(2, 59, minute)) return false;
        const bool has_seconds = extended ? skip(':') : !at_end() && is_digit(text_[at_]);
        if (has_seconds && !(digits(2, 60, second) && fraction())) return false;  // 60: a leap second
        second_ = 3600 * hour + 60 * minute + second;
        return offset();
    }

    bool fraction() { return (!skip('.') && !skip(',')) || fraction_digits(); }

    bool fraction_digits() {
        const std::size_t first = at_;
        for (std::int64_t unit = 100'000'000; !at_end() && is_digit(text_[at_]); ++at_, unit /= 10)
            nanosecond_ += unit * (text_[at_] - '0');
        return at_ > first;
    }

    // Z, UTC, GMT, +hh, +hhmm or +hh:mm, perhaps behind a space.
    bool offset() {
        if (at_end()) return true;
        skip(' ');
        if (skip('Z') || skip('z') || skip_word("UTC") || skip_word("GMT")) return true;
        const bool west = skip('-');
        int hour = 0, minute = 0;
        if ((!west && !skip('+')) || !digits(2, 23, hour)) return false;
        if ((skip(':') || (!at_end() && is_digit(text_[at_]))) && !digits(2, 59, minute)) return false;
        offset_ = (west ? -60 : 60) * (60 * hour + minute);
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::int64_t days_ = 0, second_ = 0, nanosecond_ = 0, offset_ = 0;  // seconds: of the day
    int weekday_ = 0;
};

// Seconds, milliseconds, microseconds or nanoseconds since 1970, by their size: seconds until the year 5138.
inline std::optional<Moment> moment_of_number(double number) {
    constexpr double most = 1e11, per_day = kSecondsPerDay;
    double seconds = number;
    for (int k = 0; k < 3 && std::fabs(seconds) >= most; ++k) seconds /= 1e3;
    if (!(std::fabs(seconds) < most)) return std::nullopt;
    const double day = std::floor(seconds / per_day);
    const auto weekday = (static_cast<std::int64_t>(day) % 7 + 10) % 7 + 1;  // 1970 began on a Thursday
    const double time = (seconds - static_cast<double>(kSeconds2000)) / kSecondsPerYear;
    return Moment{true, time, (seconds - day * per_day) / 3600.0, static_cast<double>(weekday)};
}

// Text of one of several formats, with a bar between two; the first that reads it counts.
inline std::optional<Moment> read_formats(std::string_view text, std::string_view formats) {
    for (;;) {
        const std::size_t bar = formats.find('|');
        if (const auto moment = MomentReader(text).read(formats.substr(0, bar))) return moment;
        if (bar == formats.npos) return std::nullopt;
        formats.remove_prefix(bar + 1);
    }
}

// With a format, text of the format or of ISO 8601, and no numbers. The byte behind text must not continue a number.
inline std::optional<Moment> read_moment(std::string_view text, std::string_view format = "") {
    if (!format.empty())
        if (const auto moment = read_formats(text, format)) return moment;
    if (const auto moment = MomentReader(text).read()) return moment;
    if (!format.empty()) return std::nullopt;
    double number;
    return read_decimal(text.data(), number) == text.data() + text.size() ? moment_of_number(number) : std::nullopt;
}

// Whether text is surely a date: not a number, nor a time, which may be a score or a duration.
inline bool is_date(std::string_view text, std::string_view format = "") {
    if (!format.empty() && read_formats(text, format)) return true;
    if (text.size() < 8) return false;
    const bool is_compact = text.size() > 11 && (text[8] == 'T' || (text[8] == ' ' && text[11] == ':'));
    if (text[4] != '-' && text[4] != '/' && !is_compact) return false;
    const auto moment = MomentReader(text).read();
    return moment && moment->has_date;
}

// The features of a column of dates and times: column.time, column.hour and column.weekday.
class DateFeatures {
  public:
    enum class PartUse { none, number, category };
    static constexpr std::size_t kParts = 3;
    using PartUses = std::array<PartUse, kParts>;
    static constexpr const char* kNames[] = {".time", ".hour", ".weekday"};
    static constexpr PartUses kNumbers{PartUse::number, PartUse::number, PartUse::number};

    DateFeatures(const std::string& column, const PartUses& uses, std::string format = "")
        : format_(std::move(format)), parts_{Part(column + kNames[0], uses[0]), Part(column + kNames[1], uses[1]),
                                             Part(column + kNames[2], uses[2])} {}

    // Returns false, and adds nothing, if the text is not a date or a time. The byte behind it must not continue a
    // number.
    bool add(std::string_view text, RowWriter& rows) {
        const auto moment = read_moment(text, format_);
        if (!moment) return false;
        if (moment->has_date) parts_[0].add(moment->time, rows);
        parts_[1].add(moment->hour, rows);
        if (moment->weekday > 0.0) parts_[2].add(moment->weekday, rows);
        return true;
    }

    // With a format, cells that are no dates are errors.
    bool has_format() const { return !format_.empty(); }
    const std::string& format() const { return format_; }

    std::string not_a_date(std::string_view text) const {
        return "cell " + excerpt(text) + " is not a date of the form " + excerpt(format_) +
               " (--date-format), nor of ISO 8601";
    }

  private:
    struct Part {
        Part(const std::string& name, PartUse use) : use(use), number(name), category(name + "=") {}

        void add(double value, RowWriter& rows) {
            if (use == PartUse::number) number.add(value, rows);
            if (use == PartUse::category)
                rows.add(category, std::to_string(static_cast<std::int64_t>(std::floor(value))), 1.0);
        }

        PartUse use;
        SteadyFeature number;
        Namespace category;
    };

    std::string format_;
    std::array<Part, kParts> parts_;
};

}  // namespace confidently
