#pragma once

#include <array>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::test {

/// A receiver that does not accept, and whose queue is full: whoever connects is not even refused.
class FullQueue {
public:
    FullQueue() {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof name;
        ::bind(listening_, reinterpret_cast<const sockaddr*>(&name), size);
        ::listen(listening_, 0);
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name), &size);
        port_ = ntohs(name.sin_port);
        for (int& other : others_) {
            other = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            ::connect(other, reinterpret_cast<const sockaddr*>(&name), size);
        }
    }
    ~FullQueue() {
        for (const int other : others_) ::close(other);
        ::close(listening_);
    }
    FullQueue(const FullQueue&) = delete;
    FullQueue& operator=(const FullQueue&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

private:
    int listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::array<int, 4> others_{};
    int port_ = 0;
};

}  // namespace waybill::test
