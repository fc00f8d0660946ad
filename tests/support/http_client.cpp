#include "support/http_client.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/pacing.hpp"

namespace waybill::test {
namespace {

constexpr time_t kPatienceSeconds = 60;

std::string lower(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

}  // namespace

HttpClient::HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket_);
        throw std::runtime_error("nobody listens");
    }
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      interim_(other.interim_),
      received_(std::move(other.received_)) {}

HttpClient::~HttpClient() {
    if (socket_ >= 0) ::close(socket_);
}

bool HttpClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void HttpClient::finish_sending() {
    ::shutdown(socket_, SHUT_WR);
}

bool HttpClient::receive() {
    std::array<char, 16'384> buffer{};
    ssize_t size = 0;
    do {
        size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN) {
        throw std::runtime_error("no answer came");
    }
    if (size <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

bool HttpClient::ends() {
    while (receive()) {
    }
    return received_.empty();
}

std::optional<HttpAnswer> HttpClient::read(bool of_head_request) {
    for (;;) {
        std::size_t head = 0;
        while ((head = received_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) return std::nullopt;
        }
        HttpAnswer answer;
        answer.status = std::stoi(received_.substr(9, 3));
        std::size_t at = received_.find("\r\n") + 2;
        while (at < head + 2) {
            const std::size_t end = received_.find("\r\n", at);
            const std::size_t colon = received_.find(": ", at);
            answer.headers[lower(received_.substr(at, colon - at))] =
                received_.substr(colon + 2, end - colon - 2);
            at = end + 2;
        }
        received_.erase(0, head + 4);
        if (answer.status < 200) {
            ++interim_;
            continue;
        }
        const auto length = answer.headers.find("content-length");
        const std::size_t size =
            length == answer.headers.end() || of_head_request ? 0 : std::stoul(length->second);
        while (received_.size() < size) {
            if (!receive()) return std::nullopt;
        }
        answer.body = received_.substr(0, size);
        received_.erase(0, size);
        return answer;
    }
}

std::optional<HttpAnswer> HttpClient::ask(std::string_view request) {
    send(request);
    return read();
}

std::optional<HttpAnswer> HttpClient::get(std::string_view target) {
    return ask("GET " + std::string{target} + " HTTP/1.1\r\nHost: test\r\n\r\n");
}

std::optional<HttpAnswer> HttpClient::post(std::string_view target, std::string_view body,
                                           std::string_view headers) {
    return ask("POST " + std::string{target} +
               " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n" + std::string{headers} + "\r\n" + std::string{body});
}

HttpAnswer once_ready(std::uint16_t port) {
    HttpAnswer answer;
    const auto is_ready = [&] {
        answer = HttpClient{port}.get("/readyz").value_or(HttpAnswer{});
        return answer.status == 200;
    };
    look_until(is_ready, std::chrono::minutes{1});
    return answer;
}

}  // namespace waybill::test
