#include "core/complete.hpp"

#include <utility>

#include "core/sha256.hpp"
#include "waybill/append.hpp"
#include "waybill/message_check.hpp"
#include "waybill/scope.hpp"

namespace waybill {
namespace {

std::string joined(const Problems& problems) {
    std::string text = "the message is refused:";
    for (const std::string& problem : problems) text += "\n  " + problem;
    return text;
}

}  // namespace

InvalidMessage::InvalidMessage(Problems problems)
    : std::invalid_argument(joined(problems)), problems_(std::move(problems)) {}

Append complete(Message message, const BoxOptions& options, Clock& clock, Random& random) {
    stamp(message);
    if (Problems problems = check(message, options); !problems.empty()) {
        throw InvalidMessage{std::move(problems)};
    }
    // One owner must see all that may collapse, so they share a lane, and with it a slot.
    if (message.lane.empty()) message.lane = message.collapse_key;
    if (message.id.is_nil()) {
        message.id = uuid7(clock.wall(), random);
    } else if (message.dedup_key.empty()) {
        message.dedup_key = to_string(message.id);
    }
    Append item{.dedup_scope = message.box, .dedup_window = options.dedup_window};
    if (!message.dedup_key.empty()) item.body_hash = sha256_bytes(message.body);
    item.message = std::make_shared<const Message>(std::move(message));
    return item;
}

}  // namespace waybill
