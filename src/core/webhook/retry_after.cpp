#include <algorithm>
#include <array>
#include <chrono>

#include "core/text.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kDigitsMax = 18;

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> kLongDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

/// Takes a date apart by a pattern. Once something is wrong it stays wrong.
class DateReader {
public:
    explicit DateReader(std::string_view text) : rest_(text) {}

    template <std::size_t N>
    unsigned one_of(const std::array<std::string_view, N>& names) {
        for (std::size_t i = 0; i < N; ++i) {
            if (!rest_.starts_with(names[i])) continue;
            rest_.remove_prefix(names[i].size());
            return static_cast<unsigned>(i);
        }
        good_ = false;
        return 0;
    }
    void text(std::string_view expected) {
        good_ = good_ && rest_.starts_with(expected);
        rest_.remove_prefix(std::min(expected.size(), rest_.size()));
    }
    int digits(std::size_t count) {
        const auto value = plain_number(rest_.substr(0, count), count);
        good_ = good_ && value && rest_.size() >= count;
        rest_.remove_prefix(std::min(count, rest_.size()));
        return static_cast<int>(value.value_or(0));
    }
    /// Of asctime: "5" stands after a space.
    int padded_day() {
        if (!rest_.starts_with(' ')) return digits(2);
        text(" ");
        return digits(1);
    }
    Duration clock() {
        const int hour = digits(2);
        text(":");
        const int minute = digits(2);
        text(":");
        const int second = digits(2);
        good_ = good_ && hour < 24 && minute < 60 && second < 61;
        return hours{hour} + minutes{minute} + seconds{second};
    }
    bool is_whole() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

struct Date {
    int year = 0;
    unsigned month = 0;
    int day = 0;
    Duration clock{};
};

std::optional<StoreTime> moment(const Date& date, const DateReader& reader) {
    const std::chrono::year_month_day day{std::chrono::year{date.year},
                                          std::chrono::month{date.month + 1},
                                          std::chrono::day{static_cast<unsigned>(date.day)}};
    if (!reader.is_whole() || !day.ok()) return std::nullopt;
    return StoreTime{std::chrono::sys_days{day}.time_since_epoch() + date.clock};
}

/// Sun, 06 Nov 1994 08:49:37 GMT
std::optional<StoreTime> fixed_date(std::string_view text) {
    DateReader reader{text};
    Date date;
    reader.one_of(kDays);
    reader.text(", ");
    date.day = reader.digits(2);
    reader.text(" ");
    date.month = reader.one_of(kMonths);
    reader.text(" ");
    date.year = reader.digits(4);
    reader.text(" ");
    date.clock = reader.clock();
    reader.text(" GMT");
    return moment(date, reader);
}

/// Sunday, 06-Nov-94 08:49:37 GMT. Two digits that would be more than fifty years ahead are of the
/// century before.
std::optional<StoreTime> rfc850_date(std::string_view text, StoreTime now) {
    DateReader reader{text};
    Date date;
    reader.one_of(kLongDays);
    reader.text(", ");
    date.day = reader.digits(2);
    reader.text("-");
    date.month = reader.one_of(kMonths);
    reader.text("-");
    const int two_digits = reader.digits(2);
    reader.text(" ");
    date.clock = reader.clock();
    reader.text(" GMT");

    const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(
        std::chrono::sys_time<Duration>{now.time_since_epoch()})};
    const int this_year = static_cast<int>(today.year());
    date.year = this_year - this_year % 100 + two_digits;
    if (date.year > this_year + 50) date.year -= 100;
    return moment(date, reader);
}

/// Sun Nov  6 08:49:37 1994
std::optional<StoreTime> asctime_date(std::string_view text) {
    DateReader reader{text};
    Date date;
    reader.one_of(kDays);
    reader.text(" ");
    date.month = reader.one_of(kMonths);
    reader.text(" ");
    date.day = reader.padded_day();
    reader.text(" ");
    date.clock = reader.clock();
    reader.text(" ");
    date.year = reader.digits(4);
    return moment(date, reader);
}

std::optional<Duration> asked(std::string_view text, StoreTime now) {
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number) {
        // More digits than a duration can have are not nonsense: they ask for very long.
        const auto count = plain_number(text, kDigitsMax);
        constexpr std::int64_t kMost = std::chrono::duration_cast<seconds>(Duration::max()).count();
        return count && *count <= kMost ? Duration{seconds{*count}} : Duration::max();
    }
    std::optional<StoreTime> until = fixed_date(text);
    if (!until) until = rfc850_date(text, now);
    if (!until) until = asctime_date(text);
    return until ? std::optional{*until - now} : std::nullopt;
}

}  // namespace

std::optional<Duration> retry_after(const HttpHeaders& headers, StoreTime now,
                                    RetryAfterBounds bounds) {
    const std::string* const value = headers.find("Retry-After");
    if (value == nullptr) return std::nullopt;
    std::string_view text = *value;
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    text = text.substr(0, text.find_last_not_of(" \t") + 1);
    const std::optional<Duration> delay = asked(text, now);
    if (!delay) return std::nullopt;
    return std::max(bounds.least, std::min(bounds.most, *delay));
}

}  // namespace waybill::webhook
