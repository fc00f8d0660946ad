#pragma once

#include <string_view>

/// Hosts as text. Nothing is looked up.
namespace waybill {

/// An address, not a name, that only this host can reach: 127.0.0.0/8, ::1, and the former as IPv6
/// writes it.
bool is_loopback_address(std::string_view address);

/// An IPv4 or IPv6 address, or what may be the name of a host.
bool is_address_or_name(std::string_view host);

}  // namespace waybill
