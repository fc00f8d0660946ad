#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "waybill/provider.hpp"

namespace waybill::providers {

/// A request that must be taken for what it is, whatever else changes here.
struct KnownAnswer {
    std::string_view provider{};
    bool is_official = false;
    std::string_view secret{};
    std::string_view webhook_id{};
    std::string_view public_url{};
    std::string_view target = "/";
    /// "Name: value\n" each.
    std::string_view headers{};
    std::string_view body{};
    /// Seconds since 1970.
    std::int64_t at = 0;
    std::string_view type{};
    std::string_view id{};
    /// The signature is right and the event is refused for another reason: the sample has no type.
    std::string_view refused{};
    /// Another body is another signature.
    bool covers_body = true;
};

std::span<const KnownAnswer> official_answers();
std::span<const KnownAnswer> computed_answers();
std::span<const KnownAnswer> other_answers();

/// The request of an answer, and the source that takes it.
HttpRequest request_of(const KnownAnswer& answer);
Source source_of(const KnownAnswer& answer);
StoreTime time_of(const KnownAnswer& answer);

}  // namespace waybill::providers
