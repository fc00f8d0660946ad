#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/background.hpp"

namespace waybill::test {

/// Stands between a client and PostgreSQL and spoils the conversation: it swallows answers, falls silent
/// with open connections, or cuts them. It knows just enough of the protocol to tell one statement's
/// answer from another's.
///
/// Thread safety: any thread.
class PostgresProxy {
public:
    /// `socket_folder`: where the server's unix socket is.
    explicit PostgresProxy(const std::string& socket_folder);
    ~PostgresProxy();
    PostgresProxy(const PostgresProxy&) = delete;
    PostgresProxy& operator=(const PostgresProxy&) = delete;

    std::uint16_t port() const { return port_; }
    std::string conninfo(const std::string& database) const;

    /// Of the statements with this text, or prepared under this name, each `every`-th is carried out and
    /// its answer thrown away with the connection. 0: no longer.
    void swallow(const std::string& statement, int every);
    /// How many answers were swallowed.
    std::uint64_t swallowed() const { return swallowed_; }
    /// Nothing passes any more, in either direction; connections are accepted and stay open. What was
    /// stopped goes on with `false`.
    void silence(bool is_silent);
    /// How many have connected.
    std::uint64_t accepted() const { return accepted_; }
    /// Resets what is connected now.
    void cut();

private:
    struct Link;
    struct Rule {
        int every = 0;
        int seen = 0;
    };

    void run(const std::stop_token& stop);
    void serve(std::vector<std::unique_ptr<Link>>& links);
    void accept_one(std::vector<std::unique_ptr<Link>>& links);
    bool from_client(Link& link);
    bool from_server(Link& link);
    bool is_spoilt(char type, std::string_view body);
    void poke();

    std::string upstream_;
    int listener_ = -1;
    int poke_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> is_silent_ = false;
    std::atomic<bool> is_cutting_ = false;
    std::atomic<std::uint64_t> swallowed_ = 0;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::mutex mutex_{};  ///< guards rules_
    std::map<std::string, Rule, std::less<>> rules_{};
    std::unique_ptr<Background> thread_{};
};

}  // namespace waybill::test
