#pragma once

#include <array>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::test {

/// A receiver whose queue is full: whoever connects is not even refused.
class FullQueue {
public:
    enum class From { the_start, fill };
    explicit FullQueue(From from = From::the_start) {
        name_.sin_family = AF_INET;
        name_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof name_;
        ::bind(listening_, reinterpret_cast<const sockaddr*>(&name_), size);
        ::listen(listening_, 0);
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name_), &size);
        if (from == From::the_start) fill();
    }
    ~FullQueue() {
        for (const int other : others_) ::close(other);
        ::close(listening_);
    }
    FullQueue(const FullQueue&) = delete;
    FullQueue& operator=(const FullQueue&) = delete;

    std::string url() const {
        return "http://127.0.0.1:" + std::to_string(ntohs(name_.sin_port)) + "/";
    }
    /// Waits for one that came before it was full; the caller's to close.
    int accept() const { return ::accept(listening_, nullptr, nullptr); }
    void fill() {
        for (int& other : others_) {
            other = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            ::connect(other, reinterpret_cast<const sockaddr*>(&name_), sizeof name_);
        }
    }

private:
    int listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name_{};
    std::array<int, 4> others_{-1, -1, -1, -1};
};

}  // namespace waybill::test
