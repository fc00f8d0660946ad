#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::bench {

inline void allow_many_files() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

/// A receiver that costs as little as possible: one thread answers every request with 200, or with nothing at all.
///
/// Lifetime: the destructor ends its thread and its connections.
class HttpSink {
public:
    explicit HttpSink(bool answers = true) : answers_(answers) {
        listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof name;
        if (::bind(listening_, reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
            ::listen(listening_, 4'096) != 0) {
            throw std::runtime_error("cannot listen");
        }
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name), &size);
        port_ = ntohs(name.sin_port);
        watch(listening_);
        thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
    }
    ~HttpSink() {
        thread_.request_stop();
        thread_.join();
        for (const auto& [socket, received] : received_) ::close(socket);
        ::close(listening_);
        ::close(epoll_);
    }
    HttpSink(const HttpSink&) = delete;
    HttpSink& operator=(const HttpSink&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

private:
    static constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    void watch(int socket) const {
        epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
    }
    void run(const std::stop_token& stop) {
        ::pthread_setname_np(::pthread_self(), "sink");
        std::array<epoll_event, 256> events{};
        while (!stop.stop_requested()) {
            const int count = ::epoll_wait(epoll_, events.data(), events.size(), 50);
            for (int i = 0; i < count; ++i) {
                const int socket = events.at(static_cast<std::size_t>(i)).data.fd;
                if (socket == listening_) {
                    welcome();
                } else {
                    serve(socket);
                }
            }
        }
    }
    void welcome() {
        for (;;) {
            const int socket =
                ::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (socket < 0) return;
            const int yes = 1;
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            received_[socket] = {};
            watch(socket);
        }
    }
    void serve(int socket) {
        const ssize_t count = ::recv(socket, buffer_.data(), buffer_.size(), 0);
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            received_.erase(socket);
            ::close(socket);
            return;
        }
        if (!answers_) return;
        std::string& received = received_[socket];
        received.append(buffer_.data(), static_cast<std::size_t>(count));
        for (;;) {
            const std::size_t head = received.find("\r\n\r\n");
            if (head == std::string::npos) return;
            const std::size_t whole = head + 4 + length_in(received);
            if (received.size() < whole) return;
            received.erase(0, whole);
            ::send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
        }
    }
    static std::size_t length_in(std::string_view text) {
        constexpr std::string_view kName = "Content-Length: ";
        const std::size_t at = text.find(kName);
        std::size_t length = 0;
        if (at == std::string_view::npos) return 0;
        const std::string_view digits = text.substr(at + kName.size(), 12);
        std::from_chars(digits.data(), digits.data() + digits.size(), length);
        return length;
    }

    bool answers_;
    std::array<char, 65'536> buffer_{};
    int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    int listening_ = -1;
    std::uint16_t port_ = 0;
    std::unordered_map<int, std::string> received_{};
    std::jthread thread_{};
};

}  // namespace waybill::bench
