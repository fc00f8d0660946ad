#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http_in/address_limits.hpp"
#include "transport/http_in/request_reader.hpp"
#include "waybill/http.hpp"
#include "waybill/problems.hpp"
#include "waybill/runtime.hpp"
#include "waybill/time.hpp"

/// The door for HTTP requests: sockets, TLS, framing, deadlines and limits. What a request means is
/// its handler's affair.
namespace waybill::http_in {

/// PEM files.
struct TlsFiles {
    std::string certificate{};
    std::string key{};

    bool operator==(const TlsFiles&) const = default;
};

/// Where to listen and what a client may cost.
struct Options {
    /// An address, or a name that resolves to one.
    std::string host = "127.0.0.1";
    /// 0: any free one.
    std::uint16_t port = 8080;
    std::optional<TlsFiles> tls{};
    RequestLimits request{};
    AddressOptions per_address{};
    /// Requests to these paths are not counted for their address: who looks whether the server lives
    /// must not be told that it does not.
    std::vector<std::string> uncounted_paths{};
    /// Whoever comes when there are this many is answered 503. 1 … 1,000,000.
    std::uint32_t connections_max = 10'000;
    /// Requests being handled; the next one is answered 503. 1 … 1,000,000.
    std::uint32_t requests_max = 20'000;
    /// For the TLS handshake.
    Duration tls_deadline = std::chrono::seconds{5};
    /// From the first byte of a request to the end of its head. Then 408.
    Duration header_deadline = std::chrono::seconds{10};
    /// For the rest of a request. Then 408.
    Duration body_deadline = std::chrono::seconds{30};
    /// A body that has come more slowly than this once `body_rate_grace` is over is not waited for
    /// any longer: 408. Bytes per second; 0: no such limit.
    std::uint64_t body_rate_min = 1024;
    Duration body_rate_grace = std::chrono::seconds{5};
    /// Between two requests of a connection, and before the first. Then it is closed.
    Duration idle_deadline = std::chrono::seconds{15};
    /// For the handler. Then 503: what became of the request is not known.
    Duration answer_deadline = std::chrono::seconds{60};
    /// For the client to take its answer.
    Duration write_deadline = std::chrono::seconds{10};

    bool operator==(const Options&) const = default;
};

/// All problems of the options, each "key: what is wrong". Looks at nothing but these values.
Problems check(const Options& options);
/// Why this machine cannot listen on that host, whatever the port; empty: it can.
std::string problem_of_host(const std::string& host);

/// A certificate and its key that were read.
class Tls;
/// Throws ConfigError, "tls.cert: what is wrong" or "tls.key: …", for what cannot be served with.
std::shared_ptr<Tls> read_tls(const TlsFiles& files);
/// What its public key is pinned by, as libcurl writes it: "sha256//BASE64".
std::string key_pin(Tls& tls);
/// A certificate that is not valid now; empty: it is.
std::string advice_on(Tls& tls, StoreTime now);

/// One answered request, for the log. Neither header values nor bodies.
struct Access {
    std::string_view remote{};
    /// Empty when the request was refused before they were known.
    std::string_view method{};
    /// Without the query, where people put tokens.
    std::string_view path{};
    unsigned status = 0;
    /// A refusal's code, or what the handler said with its answer.
    std::string_view outcome{};
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    /// From its first byte until it was complete, and from then until it was answered.
    Duration reading{};
    Duration handling{};
};

/// The right and the duty to answer one request. Dropped without an answer it answers 503.
///
/// Thread safety: any thread.
/// Lifetime:      may outlive the door; the answer then goes nowhere.
class Reply {
public:
    class Pending;
    explicit Reply(std::shared_ptr<Pending> pending) : pending_(std::move(pending)) {}

    /// The first answer counts; later ones are ignored. `outcome` is for the log.
    void operator()(HttpResponse response, std::string outcome = {}) const noexcept;

private:
    std::shared_ptr<Pending> pending_;
};

/// Called on the door's own thread, so it must not block: it starts something that answers later.
using Handler = std::function<void(HttpRequest request, Reply reply)>;
/// Called on the door's own thread, too.
using OnAccess = std::function<void(const Access& access)>;

/// Listens from its construction on.
///
/// Thread safety: stop() and the getters from any thread.
/// Lifetime:      what the handler uses outlives it. The destructor stops at once.
/// Errors:        throws ConfigError for options it cannot listen with; later trouble concerns one
///                connection and ends it.
class HttpIn {
public:
    HttpIn(Options options, Handler handler, OnAccess on_access = {}, Clock* clock = nullptr);
    ~HttpIn();
    HttpIn(const HttpIn&) = delete;
    HttpIn& operator=(const HttpIn&) = delete;

    std::uint16_t port() const;
    std::uint64_t connections() const;
    /// For requests and connections that begin later.
    void set_limits(const RequestLimits& limits, const AddressOptions& per_address);
    /// For connections that begin later. Only where there was one before.
    void set_tls(std::shared_ptr<Tls> tls);
    /// No new connection; what was read, wholly or in part, is answered within `grace`; idle
    /// connections are closed at once.
    void stop(Duration grace);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace waybill::http_in
