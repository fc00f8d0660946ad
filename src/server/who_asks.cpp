#include "server/who_asks.hpp"

#include <string_view>

#include "core/credentials.hpp"
#include "core/text.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {
namespace {

std::optional<std::string_view> shown_token(const HttpRequest& request) {
    const std::string* const header = request.headers.find("Authorization");
    return header != nullptr ? credentials(*header, "Bearer") : std::nullopt;
}

}  // namespace

std::optional<std::string> token_name(const HttpRequest& request, const ServerConfig& config,
                                      const std::string& local_token) {
    const auto token = shown_token(request);
    if (!token) return std::nullopt;
    std::optional<std::string> name;
    if (signing::same_bytes(*token, local_token)) name = "local";
    for (std::size_t i = 0; i < config.admin_tokens.size(); ++i) {
        if (!signing::same_bytes(*token, config.admin_tokens[i])) continue;
        name = "admin_tokens[" + std::to_string(i) + "]";
    }
    return name;
}

std::string actor_of(const HttpRequest& request, const std::string& token_name) {
    const std::string* const said = request.headers.find("Waybill-Actor");
    if (said == nullptr || said->empty()) return token_name;
    return clean_text(*said, 200) + " (" + token_name + ")";
}

std::variant<Publisher, std::string> publisher_of(const HttpRequest& request,
                                                  const ClaimsConfig& claims, StoreTime now) {
    const auto token = shown_token(request);
    const bool is_publish = request.method == "POST" && request.path() == "/v1/messages";
    if (!token || !is_publish || claims.jwt_secret.empty()) {
        return "send Authorization: Bearer TOKEN";
    }
    auto known = read_token(claims, *token, now);
    if (const auto* problem = std::get_if<std::string>(&known)) return "the token " + *problem;
    return known;
}

}  // namespace waybill::server
