#include "server/admin_query.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "server/config/units.hpp"
#include "waybill/http.hpp"

namespace waybill::server {
namespace {

std::string field(std::string_view query, std::string_view name) {
    return form_field(query, name).value_or(std::string{});
}

Filter::State parse_state(const std::string& word) {
    if (word.empty() || word == "any") return Filter::State::any;
    if (word == "open") return Filter::State::open;
    if (word == "parked") return Filter::State::parked;
    if (word == "done") return Filter::State::done;
    if (word == "dead") return Filter::State::dead;
    throw BadQuery{"state: \"" + word + "\" is not one of open, parked, done, dead"};
}

}  // namespace

StoreTime parse_time(std::string_view text) {
    const std::string copy{text};
    std::int64_t seconds = 0;
    const char* const end = copy.data() + copy.size();
    const auto [stopped, error] = std::from_chars(copy.data(), end, seconds);
    if (error == std::errc{} && stopped == end && seconds > 99'999) {
        return StoreTime{std::chrono::seconds{seconds}};
    }
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int used = 0;
    const int fields = std::sscanf(copy.c_str(), "%4d-%2u-%2u%nT%2d:%2d:%2dZ%n", &year, &month,
                                   &day, &used, &hour, &minute, &second, &used);
    const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                           std::chrono::day{day}};
    if ((fields != 3 && fields != 6) || static_cast<std::size_t>(used) != copy.size() ||
        !date.ok()) {
        throw BadQuery{"\"" + copy + "\" is not a time such as 2026-01-31T12:00:00Z"};
    }
    return StoreTime{std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{hour} +
                     std::chrono::minutes{minute} + std::chrono::seconds{second}};
}

Listing parse_listing(std::string_view query) {
    Listing listing;
    Filter& filter = listing.filter;
    filter.state = parse_state(field(query, "state"));
    filter.box = field(query, "box");
    filter.type = field(query, "type");
    filter.source = field(query, "source");
    filter.target = field(query, "target");
    filter.tenant = field(query, "tenant");
    filter.reason = field(query, "reason");
    listing.cursor = field(query, "cursor");
    if (const std::string since = field(query, "since"); !since.empty()) {
        filter.since = parse_time(since);
    }
    if (const std::string until = field(query, "until"); !until.empty()) {
        filter.until = parse_time(until);
    }
    if (const std::string limit = field(query, "limit"); !limit.empty()) {
        const char* const end = limit.data() + limit.size();
        const auto [stopped, error] = std::from_chars(limit.data(), end, listing.rows_max);
        if (error != std::errc{} || stopped != end || listing.rows_max == 0 ||
            listing.rows_max > 10'000) {
            throw BadQuery{"limit: must be 1 … 10000"};
        }
    }
    return listing;
}

Listing parse_listing_of_order(std::string_view query, std::vector<std::string> also) {
    std::vector<std::string> known{"state", "box",   "type",   "source", "target", "tenant",
                                   "since", "until", "reason", "limit",  "cursor"};
    known.insert(known.end(), also.begin(), also.end());
    for (std::string_view rest = query; !rest.empty();) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        const std::string name{pair.substr(0, pair.find('='))};
        if (name.empty() || std::ranges::find(known, name) != known.end()) continue;
        const std::string close = nearest(name, known);
        throw BadQuery{name + " is not a filter" +
                       (close.empty() ? "" : "; did you mean " + close + "?")};
    }
    return parse_listing(query);
}

std::string url_encoded(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
        if (plain) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += kDigits[byte >> 4];
            encoded += kDigits[byte & 15U];
        }
    }
    return encoded;
}

std::string url_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
        unsigned byte = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        const bool is_encoded = text[at] == '%' && digits.size() == 2 && error == std::errc{} &&
                                end == digits.data() + digits.size();
        decoded += is_encoded ? static_cast<char>(byte) : text[at];
        if (is_encoded) at += 2;
    }
    return decoded;
}

}  // namespace waybill::server
