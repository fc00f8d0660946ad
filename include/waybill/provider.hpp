#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "waybill/http.hpp"
#include "waybill/message.hpp"
#include "waybill/problems.hpp"
#include "waybill/source.hpp"
#include "waybill/time.hpp"

/// The seam to those who send webhooks: who signs what, and where an event says what it is.
namespace waybill {

namespace providers {
struct Evidence;
}

/// A request as a provider sees it.
struct Arrival {
    const HttpRequest& request;
    const Source& source;
    /// When it arrived, by the wall clock: a request that was kept can be verified later.
    StoreTime now{};
    /// Where to write down what was tried; null in production.
    providers::Evidence* evidence = nullptr;
    /// What was in a body that came compressed and is signed as it came. Null: the body says it.
    const std::string* decompressed = nullptr;

    /// Where the event says what it is. What is signed is `request.body`.
    std::string_view content() const { return decompressed ? *decompressed : request.body; }
};

/// A webhook that is what it claims to be.
struct Parsed {
    std::string type{};
    /// The sender's own id. Empty: it has none, and the body's hash stands in.
    std::string id{};
    /// The signature covers the id. If not, a replay under another id looks like another event.
    bool id_is_signed = false;
    /// Without an id: equal bodies are one event. Not so of senders that say the same again when it
    /// happens again.
    bool body_is_identity = true;
    /// The thing it is about: messages of one entity are handled in order.
    std::string lane{};
    std::string tenant{};
    std::string correlation_id{};
    /// When it happened, as the sender says. Epoch: not said.
    StoreTime occurred_at{};
    /// Kept with the message.
    Attributes attributes{};
    /// Which of the source's secrets matched.
    std::optional<std::size_t> secret{};

    bool operator==(const Parsed&) const = default;
};

/// Why a webhook is refused.
struct Rejected {
    enum class Reason : std::uint8_t {
        missing,       ///< a header or field that must be there is not
        malformed,     ///< a header or field does not have its form
        mismatch,      ///< no signature is right with any secret
        stale,         ///< signed, but too long ago or too far ahead
        unreadable,    ///< signed, but the body cannot be read
        forbidden,     ///< not from there, or not with that token
        misconfigured  ///< our own fault: the sender shall try again
    };
    Reason reason = Reason::malformed;
    /// For the person at the other end; no secret in it.
    std::string message{};
    /// What this sender must be answered with. 0: what everybody is.
    unsigned status = 0;

    bool operator==(const Rejected&) const = default;
};

/// "bad-signature", "stale" …: the stable code of the answer.
std::string_view to_string(Rejected::Reason reason);

/// An event, a refusal, or the answer to a handshake, which is never stored.
using Verdict = std::variant<Parsed, Rejected, HttpResponse>;

/// One kind of sender. A pure function with a name: the same arrival always gets the same verdict.
///
/// Thread safety: any thread.
/// Lifetime:      outlives every Intake that knows it.
/// Errors:        what the sender sent is a verdict; what it throws is answered with 500.
class Provider {
public:
    virtual ~Provider() = default;

    /// What a source's `provider` says; lower case.
    virtual std::string_view key() const = 0;
    /// All that keeps a source from working, for who wrote its configuration.
    virtual Problems check(const Source& source) const = 0;
    /// Signature first, then freshness, then what the event says.
    virtual Verdict receive(const Arrival& arrival) const = 0;
};

}  // namespace waybill
