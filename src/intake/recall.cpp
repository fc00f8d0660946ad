#include "intake/recall.hpp"

#include <algorithm>

#include "waybill/signing.hpp"

namespace waybill::intake {
namespace {

/// Bodies are read with their messages and may be large: few at a time.
constexpr std::uint32_t kPageRows = 64;

void note(const Message& message, std::vector<WeakBody>& found) {
    const auto hash = message.attributes.find("webhook.body_sha256");
    const auto id = message.attributes.find("webhook.id");
    if (hash == message.attributes.end() || id == message.attributes.end()) return;
    if (auto bytes = signing::from_hex(hash->second)) {
        found.push_back({message.source, *std::move(bytes), id->second});
    }
}

}  // namespace

std::vector<WeakBody> weak_bodies(Catalogue& catalogue, std::size_t count_max, Clock& clock,
                                  Duration time) {
    const LocalTime until = later(clock.now(), time);
    std::vector<WeakBody> found;
    std::string cursor;
    do {
        Page<MessageSummary> page = catalogue.browse({}, cursor, kPageRows);
        for (const MessageSummary& one : page.items) note(*one.message, found);
        cursor = std::move(page.next);
    } while (!cursor.empty() && found.size() < count_max && clock.now() < until);
    if (found.size() > count_max) found.resize(count_max);
    std::ranges::reverse(found);
    return found;
}

}  // namespace waybill::intake
