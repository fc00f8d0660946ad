#pragma once

#include <optional>

#include "providers/reading.hpp"
#include "providers/scheme.hpp"

/// What senders ask before they send: that the receiver exists, and wants it.
namespace waybill::providers {

/// For those that are not signed, or not as events are. Nothing: it is no handshake.
std::optional<Verdict> unsigned_handshake(Handshake kind, const Arrival& arrival, Reading& reading);
/// For those that are signed like events; the signature was right, by this secret.
std::optional<Verdict> signed_handshake(Handshake kind, const Arrival& arrival, Reading& reading,
                                        std::size_t secret);
/// In words, for people.
std::string_view to_string(Handshake kind);

}  // namespace waybill::providers
