#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/provider.hpp"

/// The senders we know. Link waybill::providers.
namespace waybill::providers {

/// The provider of this key, in either case; null: there is none. They live as long as the program.
std::shared_ptr<const Provider> find(std::string_view key);
/// All keys, sorted.
std::vector<std::string_view> keys();

/// What there is to know of a provider, for people.
struct Info {
    std::string_view key{};
    /// "HMAC-SHA256 (hex) of {timestamp}.{body} in Stripe-Signature"
    std::string scheme{};
    /// Where its events say what they are; empty: nowhere.
    std::string type{};
    std::string id{};
    std::string lane{};
    std::string tenant{};
    bool id_is_signed = false;
    /// Of its timestamp; zero: it sends none.
    Duration tolerance{};
    /// The handshake it answers; empty: none.
    std::string handshake{};
};
/// Nothing: there is no provider of this key.
std::optional<Info> info(std::string_view key);

/// Known answers of all providers, recomputed: a few milliseconds. Empty: all is well.
Problems self_test();

/// Half of a provider of your own: who sent it. Nothing: it may pass.
using Validator = std::function<std::optional<Rejected>(const Arrival&)>;
/// The other half: what it says.
using Mapper = std::function<Verdict(const Arrival&)>;
/// Both together.
std::shared_ptr<const Provider> compose(std::string key, Validator validator, Mapper mapper);

/// One thing that was tried on the way to a verdict.
struct Step {
    /// "signature header", "secret 1", "timestamp" …
    std::string what{};
    bool good = false;
    std::string found{};
};

/// `request` with the headers its sender would sign it with, by the first secret: for tests and
/// `waybill send`. `id` goes where the provider has one in a header. Nothing: the provider keeps its
/// signature in the body, or signs with a key that we only have the public half of.
std::optional<HttpRequest> sign(HttpRequest request, const Source& source, const std::string& id,
                                StoreTime now);

/// What a provider saw and tried.
struct Evidence {
    std::vector<Step> steps{};
    /// The bytes whose signature was computed.
    std::optional<std::string> signed_string{};
    /// The time now less that of the request; negative: it is from the future.
    std::optional<Duration> skew{};
};

/// Why a webhook is refused, or that it is not.
struct Explanation {
    Verdict verdict{};
    Evidence evidence{};
    /// What to do about it. Empty: nothing.
    std::string likely_cause{};
};

/// For people with a captured request: which step failed, and why probably.
Explanation explain(const HttpRequest& request, const Source& source, StoreTime now);
/// As `waybill verify` prints it: several lines, secrets masked.
std::string to_text(const Explanation& explanation);

}  // namespace waybill::providers
