#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/receiver.hpp"

namespace waybill::test {

/// What a name server says of a name.
struct NameAnswer {
    /// Of both families; each question gets those of its own.
    std::vector<std::string> addresses{};
    std::uint32_t ttl = 0;
    /// 2: server failure, 3: no such name.
    int code = 0;
    /// It is another name for this one, whose addresses these are. Empty: it is not.
    std::string alias_of{};
};

struct NameServerOptions {
    std::string address = "127.0.0.1";
    /// 0: any.
    std::uint16_t port = 0;
};

/// A name server that says what a test wants: by UDP, and by TCP what is longer.
///
/// Thread safety: any thread.
class NameServer {
public:
    /// `time` is 0 when this name's addresses of a family are asked for first, 1 the second time …
    /// Nothing: no answer is sent.
    using Answer = std::function<std::optional<NameAnswer>(const std::string& name, int time)>;

    explicit NameServer(Answer answer, NameServerOptions options = {});
    ~NameServer();
    NameServer(const NameServer&) = delete;
    NameServer& operator=(const NameServer&) = delete;

    /// "127.0.0.1:40000"
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    /// How often its IPv4 addresses were asked for.
    int asked(const std::string& name);
    /// Connections that were made to it, for answers that are too long for UDP.
    int connections() const { return by_tcp_->connections(); }

private:
    void bind_both();
    void serve();
    std::string respond(const std::string& query, std::size_t bytes_max);

    Answer answer_;
    NameServerOptions options_;
    int socket_ = -1;
    std::uint16_t port_ = 0;
    std::mutex mutex_{};  ///< guards the map
    std::map<std::pair<std::string, int>, int> asked_{};
    std::unique_ptr<Receiver> by_tcp_{};
    std::jthread thread_{};
};

}  // namespace waybill::test
