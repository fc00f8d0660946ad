#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "transport/http_out/egress.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

/// A request to somebody else, and what came of it, as plain values.
namespace waybill::http_out {

/// How far a request has come.
enum class Phase : std::uint8_t {
    name,     ///< its host is looked up
    connect,  ///< TCP, and the tunnel of a proxy
    tls,
    first_byte,  ///< it is sent, and the answer awaited
    answer,      ///< the answer is read
    done,
};
std::string_view name_of(Phase phase);

/// Each is the longest time for its part; none may be 0.
struct Deadlines {
    /// The name and TCP; with a proxy, also its tunnel.
    Duration connect = std::chrono::seconds{10};
    Duration tls = std::chrono::seconds{10};
    /// From the connection to the first line of the answer: while the request is sent and thought about.
    Duration first_byte = std::chrono::seconds{30};
    /// For all of it, from the name to the last byte of the answer.
    Duration total = std::chrono::seconds{30};

    bool operator==(const Deadlines&) const = default;
};

/// TLS 1.2 or newer, always checked.
struct Tls {
    /// This key and no other, whoever signed it and whatever name is in its certificate. Empty: a certificate
    /// that is trusted, for the host of the URL.
    std::string key_pin{};
    /// Whom to trust, as PEM. Empty: whom the system trusts.
    std::string ca_file{};
    /// What we show of ourselves, as PEM. Empty: nothing.
    std::string certificate_file{};
    std::string key_file{};
    std::string key_password{};

    bool operator==(const Tls&) const = default;
};

/// One request. Redirects are not followed, proxies of the environment are not used, nothing is decompressed.
struct Request {
    std::string method = "POST";
    std::string url{};
    HttpHeaders headers{};
    std::string_view body{};
    /// Keeps what `body` points to.
    std::shared_ptr<const void> owner{};
    Deadlines deadlines{};
    Tls tls{};
    /// "http://[user:password@]host:port": everything goes through its tunnels (CONNECT). It is not judged itself;
    /// where it is asked to connect to is, as without it.
    std::string proxy{};
    /// HTTP/2 where the other end speaks it too, over TLS. Otherwise HTTP/1.1.
    bool http2 = true;
    /// The URL is judged by it, every address before a connection is made, and again before a request goes out on
    /// one. Null: anywhere.
    std::shared_ptr<const Egress> egress{};
    /// More of the answer's body is not read.
    std::uint64_t response_bytes_max = std::uint64_t{64} << 10;
};

/// Why there is no answer. Its name is in attempts, logs and metrics.
enum class Failure : std::uint8_t {
    none,
    dns,      ///< the host has no address
    connect,  ///< no connection to any of its addresses, or no tunnel through the proxy
    tls,
    timeout,  ///< `Result::phase` says in which part
    http,     ///< connected, and what came is no answer
    blocked,  ///< nothing was sent; `Result::verdict` says why
    cancelled,
};
std::string_view name_of(Failure failure);

/// How long each part took; 0: it was not needed, or not reached.
struct Timings {
    Duration name{};
    Duration connect{};
    Duration tls{};
    Duration first_byte{};
    Duration total{};

    bool operator==(const Timings&) const = default;
};

/// What came back. Once the final status and all headers have come, that is the answer, whatever becomes of its body.
struct Result {
    /// 0: no answer came; `failure` and `error` say why.
    unsigned status = 0;
    HttpHeaders headers{};
    /// Up to `response_bytes_max`, as it came: compressed, if the other end wanted so.
    std::string body{};
    /// The body's bytes that came, kept or not.
    std::uint64_t body_bytes = 0;
    /// There was, or may have been, more of the body: beyond the limit, too slow, or lost. `error` says which.
    bool cut = false;
    Failure failure = Failure::none;
    /// Where it ended.
    Phase phase = Phase::name;
    std::string error{};
    /// Not `allowed`: where nothing was sent to, and why.
    Verdict verdict = Verdict::allowed;
    Timings timings{};
    /// Whom it was sent to; with a proxy, that. Empty: no connection.
    std::string address{};
    /// "1.0", "1.1" or "2". Empty: no answer.
    std::string http_version{};
};

}  // namespace waybill::http_out
