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
    explicit PostgresProxy(const std::string& socket_folder, int port = 5432);
    ~PostgresProxy();
    PostgresProxy(const PostgresProxy&) = delete;
    PostgresProxy& operator=(const PostgresProxy&) = delete;

    std::uint16_t port() const { return port_; }
    std::string conninfo(const std::string& database) const;

    /// Of the statements with this text, or prepared under this name, each `every`-th is carried out and
    /// its answer thrown away with the connection. 0: no longer.
    void swallow(const std::string& statement, int every);
    /// Of the same kind each `every`-th never arrives, and its connection is gone. 0: no longer.
    void lose(const std::string& statement, int every);
    /// How many statements were lost.
    std::uint64_t lost() const { return lost_; }
    /// Of the statements with this text, or prepared under this name, or sent unnamed with this in their text, the next
    /// one is carried out and its answer kept back: the connection stays open, and nothing passes on it any
    /// more. To the server that is a client that froze after it.
    void withhold(const std::string& statement);
    bool has_withheld() const { return has_withheld_; }
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
    using Rules = std::map<std::string, Rule, std::less<>>;
    bool is_due(Rules& rules, std::string_view statement);
    bool is_withheld(char type, std::string_view statement);
    void poke();

    std::string upstream_;
    int listener_ = -1;
    int poke_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> is_silent_ = false;
    std::atomic<bool> is_cutting_ = false;
    std::atomic<std::uint64_t> swallowed_ = 0;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::atomic<bool> has_withheld_ = false;
    std::atomic<std::uint64_t> lost_ = 0;
    std::mutex mutex_{};  ///< guards the three below
    std::string withhold_{};
    Rules swallow_{};
    Rules lose_{};
    std::unique_ptr<Background> thread_{};
};

}  // namespace waybill::test
