#include "server/subscription_page.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "server/answer.hpp"
#include "server/subscription_desk.hpp"
#include "server/subscription_json.hpp"
#include "server/unusable.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kInFile = "file-";
constexpr std::string_view kInStore = "store-";

/// Where a page begins.
struct Place {
    /// So many of the configuration were shown.
    std::size_t fixed = 0;
    /// Of the store, all up to here. Nothing: none.
    std::optional<Uuid> stored{};
};

Place place_of(const std::string& cursor) {
    if (cursor.empty()) return {};
    if (cursor.starts_with(kInStore)) {
        if (const auto id = parse_uuid(cursor.substr(kInStore.size()))) {
            return {.fixed = SIZE_MAX, .stored = id};
        }
    } else if (cursor.starts_with(kInFile)) {
        Place place;
        const char* const end = cursor.data() + cursor.size();
        const auto [stopped, error] =
            std::from_chars(cursor.data() + kInFile.size(), end, place.fixed);
        if (error == std::errc{} && stopped == end) return place;
    }
    throw InvalidCursor{"cursor: is none that a list of subscriptions gave"};
}

/// `type=order.placed` finds who gets such, `type=order.*` also who wants one of those only.
bool is_listed(const Subscription& one, const Filter& filter) {
    return (filter.box.empty() || one.box == filter.box) &&
           (filter.type.empty() || matches(filter.type, one.type) ||
            matches(one.type, filter.type)) &&
           (filter.tenant.empty() || one.tenant == filter.tenant);
}

}  // namespace

Page<Subscription> page_of(const std::vector<Subscription>& fixed, std::vector<Subscription> stored,
                           const std::string& cursor, std::uint32_t rows_max) {
    const Place place = place_of(cursor);
    std::erase_if(stored,
                  [&](const Subscription& one) { return place.stored && one.id <= *place.stored; });
    std::ranges::sort(stored, {}, &Subscription::id);
    const std::size_t begin = std::min(place.fixed, fixed.size());
    const std::size_t of_file = std::min<std::size_t>(fixed.size() - begin, rows_max);
    const std::size_t of_store = std::min<std::size_t>(stored.size(), rows_max - of_file);
    const bool is_last = begin + of_file == fixed.size() && of_store == stored.size();
    Page<Subscription> page;
    page.items.assign(fixed.begin() + static_cast<std::ptrdiff_t>(begin),
                      fixed.begin() + static_cast<std::ptrdiff_t>(begin + of_file));
    stored.resize(of_store);
    std::ranges::move(stored, std::back_inserter(page.items));
    if (is_last) return page;
    page.next = of_store > 0 ? std::string{kInStore} + to_string(page.items.back().id)
                             : std::string{kInFile} + std::to_string(begin + of_file);
    return page;
}

HttpResponse SubscriptionDesk::list(const Listing& listing) {
    const auto config = config_();
    SubscriptionBook its_book = book(config.get());
    auto fixed = config ? in_force(config->subscriptions, its_book) : std::vector<Subscription>{};
    auto stored = its_book.list();
    for (auto* const all : {&fixed, &stored}) {
        std::erase_if(*all, [&](const auto& one) { return !is_listed(one, listing.filter); });
    }
    const auto page = page_of(fixed, std::move(stored), listing.cursor, listing.rows_max);
    std::map<Uuid, SubscriptionFailing> failing;
    for (auto& [id, how] : its_book.failing()) failing.emplace(id, std::move(how));
    json::Array items;
    for (const Subscription& one : page.items) {
        const auto how = failing.find(one.id);
        items.emplace_back(
            to_json(one, how == failing.end() ? nullptr : &how->second, system_clock().wall()));
    }
    json::Object object{{"items", std::move(items)}};
    if (!page.next.empty()) object.emplace_back("next", page.next);
    return json_response(200, object);
}

}  // namespace waybill::server
