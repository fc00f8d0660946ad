#include "waybill/append.hpp"

#include <iterator>
#include <utility>

#include "core/facade/parts.hpp"
#include "core/runtime/system_random.hpp"
#include "core/sha256.hpp"
#include "core/wording.hpp"
#include "waybill/message_check.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

std::string joined(const Problems& problems) {
    std::string text = "the message cannot be appended:";
    for (const std::string& problem : problems) text += "\n  " + problem;
    return text;
}

}  // namespace

InvalidMessage::InvalidMessage(Problems problems)
    : std::invalid_argument(joined(problems)), problems_(std::move(problems)) {}

/// A message as the store wants it: checked, with its box, lane, id and dedup key.
Append Waybill::Parts::prepare(Message message) {
    if (message.box.empty() && boxes.size() == 1) message.box = boxes.front().name;
    const auto found = by_name.find(message.box);
    if (found == by_name.end()) {
        throw InvalidMessage{{"box: " + detail::in_quotes(message.box) +
                              " is not a box of this application; describe it with inbox(), "
                              "outbox() or box()"}};
    }
    const BoxOptions& options = found->second->options;
    if (Problems problems = check(message, options); !problems.empty()) {
        throw InvalidMessage{std::move(problems)};
    }
    // One owner must see all that may collapse, so they share a lane, and with it a slot.
    if (message.lane.empty()) message.lane = message.collapse_key;
    if (message.id.is_nil()) {
        message.id = uuid7(system_clock().wall(), thread_random());
    } else if (message.dedup_key.empty()) {
        message.dedup_key = to_string(message.id);
    }
    Append item{.dedup_scope = message.box, .dedup_window = options.dedup_window};
    if (!message.dedup_key.empty()) item.body_hash = sha256_bytes(message.body);
    item.message = std::make_shared<const Message>(std::move(message));
    return item;
}

AppendResult Waybill::append(Message message) {
    std::vector<Message> one;
    one.push_back(std::move(message));
    return append_moved(std::move(one)).front();
}

std::vector<AppendResult> Waybill::append(std::span<const Message> messages) {
    return append_moved({messages.begin(), messages.end()});
}

std::vector<AppendResult> Waybill::append(std::initializer_list<Message> messages) {
    return append_moved(messages);
}

std::vector<AppendResult> Waybill::append_moved(std::vector<Message> messages) {
    parts_->declare_once();
    std::vector<Append> items;
    items.reserve(messages.size());
    for (Message& message : messages) items.push_back(parts_->prepare(std::move(message)));
    return parts_->appends.append(std::move(items));
}

}  // namespace waybill
