#include "waybill/append.hpp"

#include <iterator>
#include <utility>

#include "core/complete.hpp"
#include "core/facade/parts.hpp"
#include "core/runtime/system_random.hpp"
#include "core/wording.hpp"
#include "waybill/message_check.hpp"

namespace waybill {

namespace {

/// Its own problems too: whoever corrects the box should not meet them one after the other.
Problems problems_without_box(Message message) {
    Problems problems{message.box.empty()
                          ? "box: this application has several; say which one"
                          : "box: " + detail::in_quotes(message.box) +
                                " is not a box of this application; describe it with inbox(), "
                                "outbox() or box()"};
    message.box = "any";
    const Problems others = check(message, BoxOptions{});
    problems.insert(problems.end(), others.begin(), others.end());
    return problems;
}

}  // namespace

Append Waybill::Parts::prepare(Message message) {
    if (message.box.empty() && boxes.size() == 1) message.box = boxes.front().name;
    const auto found = by_name.find(message.box);
    if (found == by_name.end()) throw InvalidMessage{problems_without_box(std::move(message))};
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
    for (std::size_t i = 0; i < messages.size(); ++i) {
        try {
            items.push_back(parts_->prepare(std::move(messages[i])));
        } catch (const InvalidMessage& refused) {
            if (messages.size() == 1) throw;
            Problems problems = refused.problems();
            for (std::string& problem : problems) {
                problem = "message " + std::to_string(i + 1) + " of " +
                          std::to_string(messages.size()) + ": " + problem;
            }
            throw InvalidMessage{std::move(problems)};
        }
    }
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
