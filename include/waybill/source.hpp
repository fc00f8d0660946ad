#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "waybill/time.hpp"

namespace waybill {

/// How the provider "generic" finds and checks a signature. Other providers know it themselves.
struct SignatureOptions {
    /// Empty: X-Signature-256; of "api-key": X-Api-Key.
    std::string header{};
    /// Before the signature, in this case exactly: "sha256=".
    std::string prefix{};
    /// "sha1", "sha256" or "sha512": the hash of the HMAC.
    std::string algorithm = "sha256";
    /// "hex" or "base64".
    std::string encoding = "hex";
    /// What is signed: text with {body}, {timestamp}, {method}, {url}, {path} and {header:NAME}.
    /// The path is that of the request with its query, the URL is public_url.
    std::string signed_string = "{body}";
    /// Where the time of sending is: "header:NAME" or "json:PATH". Empty: nowhere, nothing is stale.
    std::string timestamp{};
    /// "s", "ms" or "rfc3339".
    std::string timestamp_unit = "s";
    /// What a secret is: "text" (its bytes), "hex" or "base64" (a prefix whsec_ is left out).
    std::string secret_form = "text";

    bool operator==(const SignatureOptions&) const = default;
};

/// What becomes of a body with Content-Encoding: gzip. Where it is taken it is decompressed within
/// bounds, and the message is what was inside.
enum class Gzip : std::uint8_t {
    refused,         ///< 415
    signed_as_sent,  ///< the signature covers the compressed bytes
    signed_inside,   ///< the signature covers what was compressed
};

/// A sender of webhooks, as configured. Places are written "header:NAME", "query:NAME" or
/// "json:PATH", where a path is "order.id" or a JSON pointer, "/order/id".
struct Source {
    /// Its place in the URL, POST /webhooks/{name}, and the `source` of its messages. 1 … 64 of
    /// [A-Za-z0-9_.-]; compared without regard to case.
    std::string name{};
    /// The key of a provider; providers::keys() has them all.
    std::string provider = "generic";
    /// Any of them may match. At most 8.
    std::vector<std::string> secrets{};
    /// How old or early a signed timestamp may be. Nothing: as the provider says.
    std::optional<Duration> tolerance{};
    /// Where its messages go.
    std::string box = "inbox";
    /// A fixed path besides /webhooks/{name}. Empty: none.
    std::string path{};
    /// The URL the sender was told to call, for providers that sign it: a proxy may have changed
    /// what arrives here.
    std::string public_url{};
    /// What the sender must show in its handshake (Meta: hub.verify_token). Empty: none succeeds.
    std::string verify_token{};
    /// The sender's name for this webhook, where it is signed (PayPal).
    std::string webhook_id{};

    /// Places that differ from the provider's own. Empty: its own.
    std::string event_type{};
    std::string event_id{};
    std::string lane{};
    std::string tenant{};
    /// Headers that are kept with the message, besides those the provider keeps.
    std::vector<std::string> keep_headers{};
    /// The request is a CloudEvent, in binary or structured mode; it says its own id and type.
    bool cloudevents = false;
    Gzip gzip = Gzip::refused;
    /// For "generic"; "api-key" takes its header too.
    SignatureOptions signature{};

    bool operator==(const Source&) const = default;
};

}  // namespace waybill
