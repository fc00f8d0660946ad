#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "core/signing/public_key.hpp"
#include "core/text.hpp"
#include "core/webhook/signature_list.hpp"
#include "core/webhook/standard_key.hpp"
#include "waybill/signing.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using Kind = StandardKey::Kind;
using Reason = Rejected::Reason;

/// Beyond the year 5000 no webhook was ever sent.
constexpr std::size_t kSecondDigitsMax = 11;
constexpr std::size_t kSignaturesMax = 8;
constexpr std::string_view kOutboxLabel = "sha256=";

/// One signature of a request, decoded.
struct Offered {
    bool is_asymmetric = false;
    std::string bytes{};
};

/// What a request brings to be checked.
struct Claim {
    std::string id{};
    /// As it stands there: it is signed so.
    std::string timestamp{};
    StoreTime sent_at{};
    std::vector<Offered> offered{};
};

struct Names {
    std::string_view id;
    std::string_view timestamp;
    std::string_view signature;
};

constexpr Names names_of(HeaderSet set) {
    if (set == HeaderSet::standard) {
        return {"webhook-id", "webhook-timestamp", "webhook-signature"};
    }
    return {"X-Outbox-Message-Id", "X-Outbox-Timestamp", "X-Outbox-Signature"};
}

/// The value of a header that must be there, once or always the same.
std::variant<std::string, Rejected> needed(const HttpHeaders& headers, std::string_view name) {
    const std::string* const first = headers.find(name);
    if (first == nullptr || first->empty()) {
        return Rejected{Reason::missing, "there is no " + std::string{name}};
    }
    for (const HttpHeader& header : headers) {
        if (same_name(header.name, name) && header.value != *first) {
            return Rejected{Reason::malformed, std::string{name} + " is there twice and differs"};
        }
    }
    return *first;
}

std::vector<Offered> offered_in(HeaderSet set, std::string_view value) {
    std::vector<Offered> offered;
    if (set == HeaderSet::outbox) {
        if (!value.starts_with(kOutboxLabel)) return offered;
        if (auto bytes = signing::from_hex(value.substr(kOutboxLabel.size()))) {
            offered.push_back({false, *std::move(bytes)});
        }
        return offered;
    }
    for (const ListedSignature& listed : listed_signatures(value)) {
        auto bytes = signing::from_base64(listed.text);
        if (bytes) offered.push_back({listed.version == "v1a", *std::move(bytes)});
    }
    return offered;
}

std::variant<Claim, Rejected> read_claim(const HttpHeaders& headers, HeaderSet set) {
    const Names names = names_of(set);
    Claim claim;
    std::string signature;
    const std::array<std::pair<std::string_view, std::string*>, 3> fields{
        {{names.signature, &signature},
         {names.timestamp, &claim.timestamp},
         {names.id, &claim.id}}};
    for (const auto& [name, field] : fields) {
        auto value = needed(headers, name);
        if (auto* refused = std::get_if<Rejected>(&value)) return *std::move(refused);
        *field = std::get<std::string>(std::move(value));
    }
    const auto since_epoch = plain_number(claim.timestamp, kSecondDigitsMax);
    if (!since_epoch) {
        return Rejected{Reason::malformed,
                        std::string{names.timestamp} + " is not a number of seconds"};
    }
    claim.sent_at = StoreTime{std::chrono::seconds{*since_epoch}};
    claim.offered = offered_in(set, signature);
    if (claim.offered.empty()) {
        return Rejected{
            Reason::malformed,
            std::string{names.signature} + " has no signature of the form " +
                (set == HeaderSet::standard ? "\"v1,\" and base64" : "\"sha256=\" and hex digits")};
    }
    if (claim.offered.size() > kSignaturesMax) {
        return Rejected{Reason::malformed,
                        std::string{names.signature} + " has too many signatures"};
    }
    return claim;
}

/// A secret as the receiver's half of this set. `broken`: it is none.
StandardKey receiving_key(HeaderSet set, std::string_view secret) {
    if (set == HeaderSet::standard) return standard_key(secret);
    return secret.empty() ? StandardKey{} : StandardKey{Kind::hmac, std::string{secret}};
}

bool matches(const StandardKey& key, signing::Pieces pieces, const std::vector<Offered>& offered) {
    if (key.kind == Kind::hmac) {
        const std::string expected = signing::hmac(signing::Hash::sha256, key.bytes, pieces);
        return std::ranges::any_of(offered, [&](const Offered& one) {
            return !one.is_asymmetric && signing::same_bytes(one.bytes, expected);
        });
    }
    std::string whole;
    for (const std::string_view piece : pieces) whole += piece;
    const auto checker = signing::PublicKey::ed25519(key.bytes);
    return checker && std::ranges::any_of(offered, [&](const Offered& one) {
               return one.is_asymmetric && checker->verifies(whole, one.bytes);
           });
}

std::variant<std::size_t, Rejected> matching_secret(const Claim& claim, std::string_view body,
                                                    const Expected& expected) {
    const std::array<std::string_view, 5> all{claim.id, ".", claim.timestamp, ".", body};
    const signing::Pieces pieces =
        expected.set == HeaderSet::standard ? signing::Pieces{all} : signing::Pieces{all}.last(1);
    bool any_usable = false;
    for (std::size_t i = 0; i < expected.secrets.size(); ++i) {
        const StandardKey key = receiving_key(expected.set, expected.secrets[i]);
        if (key.kind == Kind::broken || key.kind == Kind::private_key) continue;
        any_usable = true;
        if (matches(key, pieces, claim.offered)) return i;
    }
    if (any_usable) return Rejected{Reason::mismatch, "the signature is not right with any secret"};
    return Rejected{Reason::misconfigured,
                    "there is no secret to check with: whsec_ and base64, whpk_ and the sender's "
                    "public key, or a plain text"};
}

}  // namespace

std::variant<Verified, Rejected> verify(const HttpHeaders& headers, std::string_view body,
                                        const Expected& expected) {
    auto read = read_claim(headers, expected.set);
    if (auto* refused = std::get_if<Rejected>(&read)) return *std::move(refused);
    Claim& claim = std::get<Claim>(read);
    auto secret = matching_secret(claim, body, expected);
    if (auto* refused = std::get_if<Rejected>(&secret)) return *std::move(refused);

    const auto skew = std::chrono::floor<std::chrono::seconds>(expected.now - claim.sent_at);
    const bool is_fresh = expected.tolerance == forever ||
                          (skew <= expected.tolerance && -skew <= expected.tolerance);
    if (!is_fresh) {
        const std::string far = std::to_string(std::abs(skew.count())) + " s ";
        return Rejected{Reason::stale,
                        "the request is " + far + (skew.count() < 0 ? "in the future" : "old")};
    }
    return Verified{std::move(claim.id), claim.sent_at, std::get<std::size_t>(secret)};
}

}  // namespace waybill::webhook
