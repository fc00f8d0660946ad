#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "waybill/http.hpp"
#include "waybill/message.hpp"
#include "waybill/provider.hpp"
#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

/// Webhooks as Waybill sends them: which headers, signed how, and the receiver's half, for services
/// written in C++. All of it is pure but the two functions that draw a new secret.
namespace waybill::webhook {

/// Headers that say what a request is and prove who sent it. A request may carry both.
enum class HeaderSet : std::uint8_t {
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature` over
    /// `id.timestamp.body`.
    standard,
    /// `X-Outbox-Signature` over the body alone, and what the message is in `X-Outbox-…`. Nothing in it
    /// but the body is signed: whoever captured a request can send it again under another id.
    outbox,
};

/// "standard", "outbox".
std::string_view to_string(HeaderSet set);
/// Nothing: there is no such set.
std::optional<HeaderSet> parse_header_set(std::string_view text);

// ---- Secrets ----------------------------------------------------------------------------------
//
// A secret is a text. For the standard set:
//   whsec_BASE64  an HMAC key, the bytes that BASE64 stands for; signs as v1
//   whsk_BASE64   an Ed25519 private key, its 32 bytes of seed, or seed and public key; signs as v1a
//   whpk_BASE64   its public half, 32 bytes: the receiver's
//   anything else an HMAC key, the bytes of the text; signs as v1
// For the outbox set it is always an HMAC key, the bytes of the text as written, `whsec_` and all.

/// What keeps a secret from signing for this set, for who wrote it; the secret itself is not in it.
/// Empty: nothing.
std::string problem_of_secret(std::string_view secret, HeaderSet set);
/// The same of all secrets and sets of one subscription. Secrets may be of different kinds: one that
/// signs for every set is enough, one that signs for none is a problem. Empty: nothing.
std::string problem_of_secrets(std::span<const std::string> secrets,
                               std::span<const HeaderSet> sets);

/// `whsec_` and 32 random bytes.
std::string make_secret();

/// Who has the public half can check and cannot sign.
struct KeyPair {
    /// `whsk_…`: the sender's alone.
    std::string private_key{};
    /// `whpk_…`
    std::string public_key{};

    bool operator==(const KeyPair&) const = default;
};
/// A new pair for Ed25519.
KeyPair make_key_pair();
/// The `whpk_…` of a `whsk_…`. Nothing: it is none.
std::optional<std::string> public_key_of(std::string_view private_key);

// ---- Sending ----------------------------------------------------------------------------------

/// Of a header that a subscription adds.
inline constexpr std::size_t header_value_bytes_max = 4'096;

/// Names that no subscription may set: those of the connection (RFC 9110, 7.6.1), those this library
/// sets itself (`Content-Type`, `webhook-…`, `X-Outbox-…`, `X-Waybill-…`, `traceparent`).
bool is_reserved_header(std::string_view name);
/// What keeps a subscription from adding this header: a reserved name, one that caches or cloud
/// providers act upon (`Cache-Control`, `X-Amz-…`), or a name or value that is not fit for HTTP.
/// Empty: nothing.
std::string problem_of_header(std::string_view name, std::string_view value);

/// One attempt to deliver a message to a subscription.
struct Outgoing {
    const Message& message;
    Uuid subscription{};
    /// The first is 1.
    std::uint32_t attempt = 1;
    /// By the wall clock: receivers compare it with theirs.
    StoreTime now{};
    /// Newest first. While one rotates, `webhook-signature` has one signature for each; the outbox set has
    /// room for one, by the newest that can. Empty: unsigned.
    std::span<const std::string> secrets{};
    std::span<const HeaderSet> sets{};
    /// The subscription's own; what problem_of_header() refuses is left out. Null: none.
    const HttpHeaders* own = nullptr;
};

/// All headers of the request but `Host` and `Content-Length`. Nothing: there are secrets, and none can
/// sign for one of the sets; problem_of_secrets() says why. A request that was to be signed is never
/// sent unsigned.
std::optional<HttpHeaders> headers_of(const Outgoing& outgoing);

/// `X-Outbox-Delivery-Id`: the same for the same attempt, whoever makes it. The first 16 bytes of the
/// SHA-256 over the message's id, the subscription's (16 bytes each, in the order of their digits) and the
/// attempt (4 bytes, most significant first), as a UUID of version 8.
Uuid delivery_id(const Message& message, const Uuid& subscription, std::uint32_t attempt);

/// Within what a receiver's Retry-After is believed.
struct RetryAfterBounds {
    Duration least{};
    Duration most = std::chrono::hours{24};
};
/// How long the receiver asks to be left alone, within the bounds: a number of seconds, or a date in any
/// of the three forms of RFC 9110, 5.6.7. A date in the past is `least`. Nothing: it does not say, or
/// not in these forms.
std::optional<Duration> retry_after(const HttpHeaders& headers, StoreTime now,
                                    RetryAfterBounds bounds = {});

// ---- Receiving --------------------------------------------------------------------------------

/// What a receiver knows.
struct Expected {
    /// Any may match, so that the sender can rotate. For the standard set also `whpk_…`.
    std::span<const std::string> secrets{};
    /// One set, by the receiver's own choice: a request that could choose would choose the weaker.
    HeaderSet set = HeaderSet::standard;
    /// How old a request may be, or how far ahead. `forever`: any. The outbox set's time is not signed,
    /// so there it only catches what is late, not what is sent again.
    Duration tolerance = std::chrono::minutes{5};
    StoreTime now{};
};

/// It comes from who has the secret, and is fresh.
struct Verified {
    /// Of the message: the same however often it is sent. With the subscription's id, if there is one,
    /// the key under which to remember that it was handled.
    std::string message_id{};
    StoreTime sent_at{};
    /// Which of the secrets matched: once it is always the first, the others can go.
    std::size_t secret = 0;

    bool operator==(const Verified&) const = default;
};

/// Whether a request is what its headers claim; `body` is the bytes as they came, before anybody has
/// parsed them. Answer a Rejected with 400. Comparing takes the same time wherever the difference is.
std::variant<Verified, Rejected> verify(const HttpHeaders& headers, std::string_view body,
                                        const Expected& expected);

}  // namespace waybill::webhook
