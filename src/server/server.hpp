#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/config/config.hpp"
#include "server/log.hpp"
#include "server/store_access.hpp"

namespace waybill::server {

/// The receiving half of Waybill as a process: a store, an engine, a door.
///
/// Thread safety: reload and stop by one thread, the getters by any.
/// Lifetime:      the log outlives it. The destructor stops.
/// Errors:        ConfigError and StoreError before it listens; later trouble goes to the log and to
///                /readyz.
class Server {
public:
    /// On what the configuration names, unless it is given a store that is open.
    Server(Config config, Log& log, std::unique_ptr<StoreAccess> store = nullptr);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    std::uint16_t port() const;
    /// Where it is reached from this host: http://127.0.0.1:8080
    std::string url() const;
    /// Where it listens: http://0.0.0.0:8080
    std::string address() const;

    /// Sources, targets, boxes, secrets and limits of a new configuration take over; what needs a
    /// restart is named in the log. Throws ConfigError, also where no source would be left, and then
    /// nothing has changed. Waits for what still runs under the configuration before this one.
    void reload(const Config& config);
    /// A reload would not wait.
    bool may_reload() const;
    /// Answers what was read, ends what runs, gives back the rest.
    void stop();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace waybill::server
