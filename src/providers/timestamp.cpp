#include "providers/timestamp.hpp"

#include <chrono>
#include <cstdio>

#include "core/text.hpp"
#include "providers/reading.hpp"

namespace waybill::providers {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Beyond the year 5000 no webhook was ever sent, and nothing overflows before.
constexpr std::size_t kSecondDigitsMax = 11;
constexpr std::size_t kMillisecondDigitsMax = 14;

/// Reads from the front of a text; once something is wrong it stays wrong.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    int digits(std::size_t count) {
        const auto value =
            count <= rest_.size() ? plain_number(rest_.substr(0, count), count) : std::nullopt;
        good_ = good_ && value;
        rest_.remove_prefix(std::min(count, rest_.size()));
        return static_cast<int>(value.value_or(0));
    }
    void one_of(std::string_view allowed) { taken_one_of(allowed); }
    char taken_one_of(std::string_view allowed) {
        const char first = rest_.empty() ? '\0' : rest_.front();
        good_ = good_ && first != '\0' && allowed.find(first) != std::string_view::npos;
        if (!rest_.empty()) rest_.remove_prefix(1);
        return first;
    }
    /// ".123456789", of which microseconds are kept.
    Duration fraction() {
        if (!rest_.starts_with('.')) return {};
        rest_.remove_prefix(1);
        std::int64_t micros = 0;
        std::size_t count = 0;
        for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++count) {
            if (count < 6) micros = micros * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        good_ = good_ && count > 0 && count <= 12;
        for (; count < 6; ++count) micros *= 10;
        return Duration{micros};
    }
    bool is_good() const { return good_; }
    bool is_at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

std::optional<StoreTime> parse_rfc3339(std::string_view text) {
    Reader reader{text};
    const int year = reader.digits(4);
    reader.one_of("-");
    const int month = reader.digits(2);
    reader.one_of("-");
    const int day = reader.digits(2);
    reader.one_of("Tt ");
    const int hour = reader.digits(2);
    reader.one_of(":");
    const int minute = reader.digits(2);
    reader.one_of(":");
    const int second = reader.digits(2);
    const Duration fraction = reader.fraction();
    const char zone = reader.taken_one_of("Zz+-");
    Duration offset{};
    if (zone == '+' || zone == '-') {
        offset = hours{reader.digits(2)};
        reader.one_of(":");
        offset += minutes{reader.digits(2)};
        if (zone == '-') offset = -offset;
    }
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    const bool is_time = hour < 24 && minute < 60 && second < 61 && date.ok();
    if (!reader.is_good() || !reader.is_at_end() || !is_time) return std::nullopt;
    const Duration since_epoch = std::chrono::sys_days{date}.time_since_epoch() + hours{hour} +
                                 minutes{minute} + seconds{second} + fraction - offset;
    return StoreTime{since_epoch};
}

}  // namespace

std::optional<StoreTime> parse_time(std::string_view text, TimeUnit unit) {
    if (unit == TimeUnit::rfc3339) return parse_rfc3339(text);
    const bool is_seconds = unit == TimeUnit::seconds;
    const auto value = plain_number(text, is_seconds ? kSecondDigitsMax : kMillisecondDigitsMax);
    if (!value) return std::nullopt;
    return StoreTime{is_seconds ? Duration{seconds{*value}} : Duration{milliseconds{*value}}};
}

std::string write_time(StoreTime time, TimeUnit unit) {
    const Duration since = time.time_since_epoch();
    if (unit == TimeUnit::seconds) {
        return std::to_string(std::chrono::floor<seconds>(since).count());
    }
    if (unit == TimeUnit::milliseconds) {
        return std::to_string(std::chrono::floor<milliseconds>(since).count());
    }
    const auto day = std::chrono::floor<std::chrono::days>(since);
    const std::chrono::year_month_day date{std::chrono::sys_days{day}};
    const std::chrono::hh_mm_ss clock{std::chrono::floor<seconds>(since - day)};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()));
    return text.data();
}

StoreTime floor_to(StoreTime time, TimeUnit unit) {
    const Duration since = time.time_since_epoch();
    switch (unit) {
        case TimeUnit::seconds: return StoreTime{std::chrono::floor<seconds>(since)};
        case TimeUnit::milliseconds: return StoreTime{std::chrono::floor<milliseconds>(since)};
        case TimeUnit::rfc3339: return time;
    }
    return time;
}

}  // namespace waybill::providers
