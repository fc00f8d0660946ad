#pragma once

#include <string_view>

#include "server/waiting.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/halted_lanes.hpp"
#include "waybill/instances.hpp"
#include "waybill/json.hpp"

/// What the catalogue knows, as JSON.
namespace waybill::server {

json::Value to_json(const MessageSummary& summary);
/// `open`: its deliveries that have not ended.
json::Value to_json(const MessageDetail& detail, const std::vector<OpenDelivery>& open);
json::Value to_json(const DeadLetterDetail& letter);
json::Value to_json(const HaltedLane& lane);
json::Value to_json(const Target& target);
json::Value to_json(const InstanceSeen& instance);

/// open, parked, done, dead; any is empty.
std::string_view state_name(Filter::State state);

}  // namespace waybill::server
