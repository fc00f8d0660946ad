#pragma once

#include <optional>
#include <string>
#include <variant>

#include "server/claims.hpp"
#include "server/config/config.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

/// Who sends a request below /v1/. Pure.
namespace waybill::server {

/// What an operator's token is called: "local", "admin_tokens[0]". Nothing: it has none that is good.
std::optional<std::string> token_name(const HttpRequest& request, const ServerConfig& config,
                                      const std::string& local_token);

/// For the record: who they say they are, and by which token we believe it.
std::string actor_of(const HttpRequest& request, const std::string& token_name);

/// Of a request that publishes, with a token of the configured issuer; else why it is refused.
std::variant<Publisher, std::string> publisher_of(const HttpRequest& request,
                                                  const ClaimsConfig& claims, StoreTime now);

}  // namespace waybill::server
