#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/reading.hpp"
#include "providers/scheme.hpp"

namespace waybill::providers {

/// Signatures that are tried per request; who sends more is refused.
inline constexpr std::size_t candidates_max = 8;
/// Of a signature's header.
inline constexpr std::size_t signature_bytes_max = 8'192;

/// One signature of a request, decoded.
struct Candidate {
    /// "v1" or "v1a" in Standard Webhooks, else empty.
    std::string_view version{};
    std::string bytes{};
};

/// All that a request brings to be checked.
struct Claim {
    std::vector<Candidate> candidates{};
    /// As it stands there: it is signed so.
    std::string timestamp{};
    std::optional<StoreTime> sent_at{};
    std::string id{};
};

/// A claim in the form the scheme asks for, or why there is none.
std::variant<Claim, Rejected> read_claim(const Scheme& scheme, Reading& reading);

/// The time, where it is in a body that has to be believed first.
std::optional<Rejected> read_late_time(const Scheme& scheme, Reading& reading, Claim& claim);

/// A value of a "t=1,v1=…" list. Nothing: it is not there. Keys are trimmed, values never.
std::optional<std::string_view> pair_value(std::string_view list, char separator,
                                           std::string_view name);
/// Every part is one name, one equals sign and one value.
bool is_pair_list(std::string_view list, char separator);

}  // namespace waybill::providers
