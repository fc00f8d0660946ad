#pragma once

#include <string>

#include "waybill/subscription.hpp"

namespace waybill::deliver {

/// A subscription as the store keeps it, with its secrets.
std::string to_note(const Subscription& subscription);
/// What it does not know it leaves alone: a newer version may have written it. Throws json::ReadError.
Subscription from_note(const std::string& text);

}  // namespace waybill::deliver
