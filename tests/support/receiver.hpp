#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "support/certificate.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace waybill::test {

/// Our end of one connection that somebody made to a Receiver.
///
/// Thread safety: the thread that serves it.
class Connection {
public:
    Connection(int socket, ssl_st* ssl) : socket_(socket), ssl_(ssl) {}

    /// A request with its body, as it came; empty when the connection ends instead.
    std::string request();
    /// So many bytes, fewer when it ends.
    std::string read(std::size_t bytes);
    /// False: the other end does not take it any more.
    bool send(std::string_view bytes);
    /// True: the other end has gone. False: it has not, for so long.
    bool ends_within(std::chrono::milliseconds time);
    /// Until the other end goes.
    void hang();
    /// Ends it with a reset instead of an end.
    void reset();
    /// What was agreed on, "h2" or "http/1.1"; empty without TLS.
    std::string protocol() const;

private:
    std::size_t receive(char* data, std::size_t size);

    int socket_;
    ssl_st* ssl_;
    std::string received_{};
};

struct ReceiverOptions {
    std::string address = "127.0.0.1";
    /// 0: any.
    std::uint16_t port = 0;
    /// TLS, with this certificate.
    std::optional<CertificateFiles> certificate{};
    /// Whoever connects must show a certificate that this file signs. Empty: nobody must.
    std::string client_ca{};
    bool http2 = false;
    int tls_version_max = 0x0304;
    /// Nothing is said after TCP, not even in TLS.
    bool silent = false;
};

/// A server that does what a test says with every connection, on a thread of its own.
///
/// Thread safety: any thread.
/// Lifetime:      the destructor ends all connections and waits for whoever serves them.
class Receiver {
public:
    using Serve = std::function<void(Connection&)>;

    explicit Receiver(Serve serve, ReceiverOptions options = {});
    ~Receiver();
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    std::uint16_t port() const { return port_; }
    /// With its address as the host.
    std::string url(const std::string& path = "/") const;
    /// That were made to it, with or without success.
    int connections() const { return connections_; }
    /// That came as far as being served: after their TLS handshake.
    int served() const { return served_; }

private:
    struct Guest {
        int socket = -1;
        std::jthread thread{};
        std::atomic<bool> is_over = false;
    };
    void accept_all();
    void welcome(int socket);
    void serve_one(int socket);

    Serve serve_;
    ReceiverOptions options_;
    std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> tls_;
    int listening_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<int> served_ = 0;
    std::mutex mutex_{};  ///< guards the two below, and the end of each socket
    bool stopping_ = false;
    std::list<Guest> guests_{};
    std::jthread accepting_{};
};

/// A proxy that answers the request in its tunnel with 204 itself. For one request.
class Tunnel {
public:
    std::string url() const { return receiver_.url(); }
    /// The head of the CONNECT.
    std::string asked_for() { return asked_for_.get_future().get(); }
    /// What came through the tunnel.
    std::string passed_on() { return passed_on_.get_future().get(); }

private:
    std::promise<std::string> asked_for_{};
    std::promise<std::string> passed_on_{};
    Receiver receiver_{[this](Connection& connection) {
        asked_for_.set_value(connection.request());
        connection.send("HTTP/1.1 200 Tunnel\r\n\r\n");
        passed_on_.set_value(connection.request());
        connection.send("HTTP/1.1 204 No Content\r\n\r\n");
    }};
};

/// "HTTP/1.1 200 OK" with a body and its length.
std::string http_answer(int status, std::string_view body = {}, std::string_view headers = {});

/// Answers every request with it, on the same connection.
Receiver::Serve always(std::string answer);

/// Speaks so much of HTTP/2 that every request is answered with 200 and no body.
void serve_http2(Connection& connection);

}  // namespace waybill::test
