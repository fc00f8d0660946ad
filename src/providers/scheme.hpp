#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/provider.hpp"

/// A provider as data. One engine (verify.cpp, mapping.cpp) reads it; most providers are nothing
/// else.
namespace waybill::providers {

enum class Algorithm : std::uint8_t {
    hmac_sha1,
    hmac_sha256,
    hmac_sha512,
    sha256_of_secret_first,  ///< the hash of the secret and the signed string
    token,                   ///< no signature: the header is the secret
    ed25519,
    p256,
    rsa,
};

enum class Encoding : std::uint8_t { hex, base64, text };

/// What the characters of a secret mean.
enum class KeyForm : std::uint8_t {
    text,      ///< its bytes; of Stripe's too, with the whsec_ in front
    hex,       ///< hex digits
    base64,    ///< base64, after a whsec_ if there is one
    standard,  ///< whsec_ and base64; whpk_ and an Ed25519 key; anything else as text or as base64
    pem,       ///< a certificate or a public key
};

/// How the signature stands in its place.
enum class Syntax : std::uint8_t {
    bare,      ///< alone
    prefixed,  ///< after `label`
    pairs,     ///< "t=1,v1=…": the values of `label`, separated by `separator`
    versions,  ///< "v1,… v1a,…": Standard Webhooks
};

enum class TimeUnit : std::uint8_t { seconds, milliseconds, rfc3339 };

/// What one request is to be checked against. Places are as in Source, and "pair:t" is a value
/// of the signature header itself.
struct Scheme {
    Algorithm algorithm = Algorithm::hmac_sha256;
    Encoding encoding = Encoding::hex;
    KeyForm key = KeyForm::text;
    Syntax syntax = Syntax::bare;
    /// Where the signature is; several places with | between them: any of them may be right.
    std::string_view signature{};
    std::string_view label{};
    char separator = ',';
    /// Where the time of sending is; empty: nowhere.
    std::string_view timestamp{};
    TimeUnit unit = TimeUnit::seconds;
    Duration tolerance = std::chrono::minutes{5};
    /// Where the {id} of the signed string is.
    std::string_view id{};
    std::string_view signed_string = "{body}";
    /// For what a template cannot say: all strings of which one must be signed. Empty: the request
    /// lacks something.
    std::vector<std::string> (*signed_strings)(const Arrival& arrival) = nullptr;
};

/// Where an event says what it is. Places with | between them: the first that is there. With +
/// between them: all of them, joined by a dot. "=text" is always there.
struct Mapping {
    std::string_view type{};
    std::string_view id{};
    std::string_view lane{};
    std::string_view tenant{};
    std::string_view correlation{};
};

enum class Handshake : std::uint8_t {
    none,
    asana,
    cloudevents,
    discord,
    dropbox,
    event_grid,
    meta,
    microsoft_graph,
    notion,
    okta,
    slack,
    trello,
    twitch,
    x,
    zoom,
};

/// One provider.
struct Entry {
    std::string_view key{};
    /// The first whose signature is there, or the first. The second may be left out.
    std::array<Scheme, 2> schemes{};
    Mapping mapping{};
    Handshake handshake = Handshake::none;
    /// The scheme is the source's own affair.
    Scheme (*configured)(const Source& source) = nullptr;
    /// Without secrets, whoever calls from this host is believed.
    bool open_on_loopback = false;
    /// The signature says nothing, or too little, of the body: no id in it is signed.
    bool body_is_loose = false;
    /// It has no ids and says the same again when it happens again: no two requests are one event.
    bool repeats_itself = false;
    /// What a bad signature is answered with. 0: as everybody.
    unsigned bad_signature_status = 0;
};

}  // namespace waybill::providers
