#include "core/guard_key.hpp"

#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/append.hpp"

namespace waybill {
namespace {

constexpr std::size_t kConsumerMax = 200;

}  // namespace

std::string guard_scope(const std::string& consumer, const std::string& type) {
    return "guard:" + std::to_string(consumer.size()) + ":" + consumer + type;
}

std::string guard_key(const std::string& consumer,
                      const std::function<std::string(const Message&)>& key_of,
                      WithoutKey without_key, const Message& message) {
    std::string key = key_of ? key_of(message) : std::string{};
    if (key.empty() && !message.id.is_nil()) key = to_string(message.id);
    if (key.empty() && without_key == WithoutKey::reject) {
        throw InvalidMessage{{"guard " + detail::in_quotes(consumer) +
                              ": the message has neither a key nor an id, so a second delivery "
                              "could not be told from the first"}};
    }
    return key;
}

Problems check_guard(const std::string& consumer, Duration keep, Duration busy_timeout) {
    Problems problems;
    if (consumer.empty() || consumer.size() > kConsumerMax || !is_plain_text(consumer)) {
        problems.push_back("guard: consumer " + detail::in_quotes(consumer) +
                           " is no name; use 1 … 200 characters of UTF-8 and keep it for good");
    }
    if (keep <= Duration{}) {
        problems.push_back("guard: keep must be more than zero, or forever");
    }
    if (busy_timeout < std::chrono::milliseconds{1} || busy_timeout > std::chrono::minutes{10}) {
        problems.push_back("guard: busy_timeout is " + detail::readable(busy_timeout) +
                           "; choose 1 ms to 10 min");
    }
    return problems;
}

}  // namespace waybill
