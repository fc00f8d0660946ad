#include "server/claims.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "waybill/json.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {
namespace {

using json::Value;

constexpr std::size_t kTokenBytesMax = 8'192;
/// Clocks differ.
constexpr double kLeewaySeconds = 30;

/// RFC 7515: base64 for URLs, without padding.
std::optional<std::string> from_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
    std::string plain{text};
    std::ranges::replace(plain, '-', '+');
    std::ranges::replace(plain, '_', '/');
    plain.append((4 - plain.size() % 4) % 4, '=');
    return signing::from_base64(plain);
}

/// Nothing: it is not an object in base64.
std::optional<Value> part(std::string_view text) {
    const auto decoded = from_base64url(text);
    if (!decoded) return std::nullopt;
    try {
        Value value = json::parse(*decoded);
        value.as_object();
        return value;
    } catch (const json::ReadError&) {
        return std::nullopt;
    }
}

/// The text of a claim; whole numbers are texts too. Nothing: it is not there, or is neither.
std::optional<std::string> claim_text(const Value& claims, const std::string& name) {
    const Value* const claim = claims.find(name);
    if (claim == nullptr) return std::nullopt;
    return claim->visit([](const auto& value) -> std::optional<std::string> {
        using Kind = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Kind, std::string>) {
            return value.empty() ? std::nullopt : std::optional{value};
        } else if constexpr (std::is_same_v<Kind, std::int64_t>) {
            return std::to_string(value);
        } else {
            return std::nullopt;
        }
    });
}

/// NumericDate: seconds, perhaps with a fraction.
std::optional<double> time_of(const Value& claim) {
    return claim.visit([](const auto& value) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>> &&
                      !std::is_same_v<std::decay_t<decltype(value)>, bool>) {
            return static_cast<double>(value);
        } else {
            return std::nullopt;
        }
    });
}

/// Empty: it is its time.
std::string problem_of_time(const Value& claims, StoreTime now) {
    const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
    if (const Value* const ends = claims.find("exp")) {
        const auto time = time_of(*ends);
        if (!time) return "has an exp that is not a number";
        if (!(seconds < *time + kLeewaySeconds)) return "has expired";
    }
    if (const Value* const begins = claims.find("nbf")) {
        const auto time = time_of(*begins);
        if (!time) return "has an nbf that is not a number";
        if (!(seconds >= *time - kLeewaySeconds)) return "is not valid yet";
    }
    return {};
}

/// Empty: it is signed as we ask. What the token itself says of its algorithm is not an offer.
std::string problem_of_signature(std::string_view signed_part, std::string_view signature,
                                 const std::string& secret) {
    const std::optional<Value> header = part(signed_part.substr(0, signed_part.find('.')));
    if (!header) return "is not a JWT";
    if (claim_text(*header, "alg") != "HS256") return "is not signed with HS256";
    if (header->find("crit") != nullptr) return "asks for an extension that is not known here";
    const auto bytes = from_base64url(signature);
    if (!bytes) return "is not a JWT";
    const std::array pieces{signed_part};
    const std::string expected = signing::hmac(signing::Hash::sha256, secret, pieces);
    return signing::same_bytes(expected, *bytes) ? "" : "has a signature that is not right";
}

}  // namespace

std::variant<Publisher, std::string> read_token(const ClaimsConfig& config, std::string_view token,
                                                StoreTime now) {
    const bool is_compact = token.size() <= kTokenBytesMax && std::ranges::count(token, '.') == 2;
    if (!is_compact) return "is not a JWT";
    const std::string_view signed_part = token.substr(0, token.rfind('.'));
    const std::string_view signature = token.substr(signed_part.size() + 1);
    std::string problem = problem_of_signature(signed_part, signature, config.jwt_secret);
    if (!problem.empty()) return problem;

    const std::optional<Value> claims = part(signed_part.substr(signed_part.find('.') + 1));
    if (!claims) return "has no claims that can be read";
    problem = problem_of_time(*claims, now);
    if (!problem.empty()) return problem;
    Publisher publisher;
    if (!config.tenant.empty()) publisher.tenant = claim_text(*claims, config.tenant);
    if (!config.user.empty()) publisher.user = claim_text(*claims, config.user);
    if (!config.tenant.empty() && !publisher.tenant) return "has no claim " + config.tenant;
    if (!config.user.empty() && !publisher.user) return "has no claim " + config.user;
    return publisher;
}

}  // namespace waybill::server
