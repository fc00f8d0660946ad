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

std::string to_note(const SubscriptionStanding& standing);
/// Nothing: it cannot be read.
std::optional<SubscriptionStanding> standing_from_note(const std::string& text);
/// What stands for a URL where the URL itself, which may have a token in it, is nobody's business.
std::string endpoint_of(const std::string& url);

}  // namespace waybill::deliver
