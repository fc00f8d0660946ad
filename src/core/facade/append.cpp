#include "waybill/append.hpp"

#include <iterator>
#include <utility>

#include "core/complete.hpp"
#include "core/facade/parts.hpp"
#include "core/runtime/system_random.hpp"
#include "core/wording.hpp"

namespace waybill {

Append Waybill::Parts::prepare(Message message) {
    if (message.box.empty() && boxes.size() == 1) message.box = boxes.front().name;
    const auto found = by_name.find(message.box);
    if (found == by_name.end() && message.box.empty()) {
        throw InvalidMessage{{"box: this application has several; say which one"}};
    }
    if (found == by_name.end()) {
        throw InvalidMessage{{"box: " + detail::in_quotes(message.box) +
                              " is not a box of this application; describe it with inbox(), "
                              "outbox() or box()"}};
    }
    return complete(std::move(message), found->second->options, clock, thread_random());
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

void Waybill::append_async(Message message, AppendCallback answered) {
    parts_->declare_once();
    std::vector<Append> one;
    one.push_back(parts_->prepare(std::move(message)));
    parts_->appends.append(std::move(one), [answered = std::move(answered)](
                                               const std::vector<AppendResult>& results,
                                               const std::exception_ptr& error) {
        answered(error ? AppendAnswer{.error = error} : AppendAnswer{.result = results.front()});
    });
}

bool Waybill::is_overloaded() const {
    return parts_->appends.is_full();
}

}  // namespace waybill
