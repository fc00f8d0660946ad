#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::test {

/// An answer as it came over a socket.
struct HttpAnswer {
    int status = 0;
    /// Names in lower case.
    std::map<std::string, std::string> headers{};
    std::string body{};
};

/// The bare other end of a connection to this host: it sends any bytes and reads answers.
///
/// Thread safety: none.
/// Errors:        throws std::runtime_error when it cannot connect, or waits longer than its patience.
class HttpClient {
public:
    explicit HttpClient(std::uint16_t port);
    ~HttpClient();
    HttpClient(HttpClient&& other) noexcept;
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// False: the other end does not take it any more.
    bool send(std::string_view bytes);
    /// The next answer; nothing when the connection ended instead. Interim answers are counted only.
    std::optional<HttpAnswer> read(bool of_head_request = false);
    /// The connection ends, and nothing comes before.
    bool ends();
    /// Nothing more will be sent.
    void finish_sending();
    int interim_answers() const { return interim_; }
    int descriptor() const { return socket_; }

    /// One request, one answer.
    std::optional<HttpAnswer> ask(std::string_view request);
    std::optional<HttpAnswer> get(std::string_view target);
    std::optional<HttpAnswer> post(std::string_view target, std::string_view body,
                                   std::string_view headers = {});

private:
    bool receive();

    int socket_ = -1;
    int interim_ = 0;
    std::string received_{};
};

/// What /readyz says once it says that the server is ready; what it said last where that takes too long.
HttpAnswer once_ready(std::uint16_t port);

}  // namespace waybill::test
