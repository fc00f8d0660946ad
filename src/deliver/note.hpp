#pragma once

#include <optional>
#include <string>

#include "waybill/deliver.hpp"

namespace waybill::deliver {

/// A subscription as the store keeps it, with its secrets.
std::string to_note(const Subscription& subscription);
/// What it does not know it leaves alone: a newer version may have written it. Throws json::ReadError.
Subscription from_note(const std::string& text);

std::string to_note(const SubscriptionFailing& failing);
/// Nothing: it cannot be read.
std::optional<SubscriptionFailing> failing_from_note(const std::string& text);

}  // namespace waybill::deliver
