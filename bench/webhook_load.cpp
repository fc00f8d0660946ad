#include "webhook_load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;

int connect_to(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw std::runtime_error("nobody listens");
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

void send_whole(int socket, const std::string& text) {
    if (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
        throw std::runtime_error("the connection ended");
    }
}

}  // namespace

SlowConnections::SlowConnections(std::uint16_t port, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        sockets_.push_back(connect_to(port));
        if (i % 3 == 0) send_whole(sockets_.back(), "POST /webhooks/stripe HTTP/1.1\r\nX-Drip: ");
        if (i % 3 == 1) {
            send_whole(
                sockets_.back(),
                "POST /webhooks/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\nab");
        }
    }
    drip_ = std::jthread{[this](const std::stop_token& stop) { drip(stop); }};
}

/// Each of them gets a byte about every second; the idle ones none.
void SlowConnections::drip(const std::stop_token& stop) {
    for (std::size_t i = 0; !stop.stop_requested() && !sockets_.empty(); ++i) {
        const std::size_t at = i % sockets_.size();
        if (at % 3 != 2) ::send(sockets_[at], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (i % 10 == 0) ::usleep(10'000);
    }
}

SlowConnections::~SlowConnections() {
    drip_ = {};
    for (const int socket : sockets_) ::close(socket);
}

LoadResult send_all(std::uint16_t port, const std::vector<std::string>& requests,
                    std::size_t connections) {
    struct Connection {
        int socket = -1;
        Clock::time_point sent_at{};
    };
    LoadResult result;
    result.latencies_us.reserve(requests.size());
    const int epoll = ::epoll_create1(0);
    std::vector<Connection> all(connections);
    std::size_t next = 0;
    const auto began = Clock::now();
    for (Connection& one : all) {
        one.socket = connect_to(port);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &one;
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, one.socket, &event);
        if (next < requests.size()) {
            one.sent_at = Clock::now();
            send_whole(one.socket, requests[next++]);
        }
    }
    std::array<epoll_event, 64> events{};
    std::array<char, 4096> buffer{};
    for (std::size_t answered = 0; answered < requests.size();) {
        const int ready =
            ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 10'000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) throw std::runtime_error("no answer came");
        for (int i = 0; i < ready; ++i) {
            Connection& one =
                *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
            // Answers are small and come in one piece.
            const ssize_t size = ::recv(one.socket, buffer.data(), buffer.size(), 0);
            if (size < 12) throw std::runtime_error("the connection ended");
            result.latencies_us.push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - one.sent_at).count());
            const bool accepted = std::string_view{buffer.data() + 9, 3} == "202";
            ++(accepted ? result.accepted : result.others);
            ++answered;
            if (next < requests.size()) {
                one.sent_at = Clock::now();
                send_whole(one.socket, requests[next++]);
            }
        }
    }
    result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    for (const Connection& one : all) ::close(one.socket);
    ::close(epoll);
    std::sort(result.latencies_us.begin(), result.latencies_us.end());
    return result;
}

}  // namespace waybill::bench
