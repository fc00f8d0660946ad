#pragma once

#include <functional>
#include <string>

#include "waybill/guard.hpp"
#include "waybill/message.hpp"
#include "waybill/problems.hpp"

/// The names of a guard's marks: the same in every store.
namespace waybill {

/// A mark is a dedup record. No box has a colon in its name, and the length keeps consumer and type
/// apart whatever they contain.
std::string guard_scope(const std::string& consumer, const std::string& type);

/// The business's own key, else the id; empty where neither is there and that is allowed. Throws
/// InvalidMessage.
std::string guard_key(const std::string& consumer,
                      const std::function<std::string(const Message&)>& key, WithoutKey without_key,
                      const Message& message);

Problems check_guard(const std::string& consumer, Duration keep, Duration busy_timeout);

}  // namespace waybill
