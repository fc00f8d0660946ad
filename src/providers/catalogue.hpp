#pragma once

#include <span>
#include <string>
#include <vector>

#include "providers/scheme.hpp"

/// The providers as data, by trade; registry.cpp puts them together.
namespace waybill::providers {

std::span<const Entry> payment_providers();
std::span<const Entry> developer_providers();
std::span<const Entry> message_providers();
std::span<const Entry> office_providers();
std::span<const Entry> standard_providers();

/// Strings no template can say, one file each. Empty: the request lacks something.
std::vector<std::string> adyen_strings(const Arrival& arrival);
std::vector<std::string> contentful_strings(const Arrival& arrival);
std::vector<std::string> hook0_strings(const Arrival& arrival);
std::vector<std::string> hubspot_old_strings(const Arrival& arrival);
std::vector<std::string> hubspot_strings(const Arrival& arrival);
std::vector<std::string> paypal_strings(const Arrival& arrival);
std::vector<std::string> twilio_strings(const Arrival& arrival);

/// Schemes that the source's own options describe.
Scheme generic_scheme(const Source& source);
Scheme api_key_scheme(const Source& source);
/// Everything wrong with those options.
Problems check_signature_options(const SignatureOptions& options);

}  // namespace waybill::providers
