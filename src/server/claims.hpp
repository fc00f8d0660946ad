#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/time.hpp"

/// Tokens that somebody else issues: a JWT says for whom a message is published.
namespace waybill::server {

/// Who may publish, and only for these.
struct Publisher {
    /// Nothing: whatever the body says.
    std::optional<std::string> tenant{};
    std::optional<std::string> user{};
    /// Where sources put what they verified: nobody else writes there with a token of another issuer.
    std::vector<std::string> closed_boxes{};

    bool operator==(const Publisher&) const = default;
};

/// A JWT (RFC 7519) signed with HS256 and nothing else; `exp` and `nbf` count where they are there. Every
/// claim that is configured must be in it. A problem is for the one who sent it: "has expired".
std::variant<Publisher, std::string> read_token(const ClaimsConfig& config, std::string_view token,
                                                StoreTime now);

}  // namespace waybill::server
