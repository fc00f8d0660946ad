#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/address.hpp"
#include "waybill/time.hpp"

struct ares_addrinfo;
struct ares_channeldata;

namespace waybill::http_out {

/// What a name means.
struct Found {
    /// In the order in which they are to be tried. Empty: `error` says why.
    std::vector<IpAddress> addresses{};
    std::string error{};
};
using OnFound = std::function<void(const Found& found)>;

/// Looks names up without a thread, so that thousands of them may hang: /etc/hosts, then the servers of
/// /etc/resolv.conf. What was found is kept for as long as its servers say, a minute at most; while they are out of
/// reach, ten minutes.
///
/// Thread safety: one thread.
/// Lifetime:      whoever still waits at its end is not told.
/// Errors:        throws std::runtime_error when it cannot be made; a name that is not found is a Found.
class Resolver {
public:
    /// "10.0.0.2,10.0.0.3:5353"; empty: the servers of /etc/resolv.conf, read again when it changes.
    explicit Resolver(std::string servers);
    ~Resolver();
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    /// Told from here if it is known, else from turn().
    void find(const std::string& name, OnFound on_found);

    /// Readable when turn() has something to do.
    int descriptor() const { return epoll_; }
    /// When turn() has something to do in any case.
    LocalTime due() const;
    void turn(bool is_readable);

private:
    struct Lookup {
        Resolver* resolver = nullptr;
        std::string name{};
        std::vector<OnFound> waiting{};
    };
    struct Known {
        std::vector<IpAddress> addresses{};
        LocalTime fresh_until{};
        LocalTime kept_until{};
    };

    static void on_socket(void* self, int socket, int reads, int writes);
    static void on_answer(void* lookup, int status, int timeouts, ares_addrinfo* answer);

    void open();
    void close();
    void look_at_settings(LocalTime now);
    void end(const std::string& name, const Found& found);
    Found taken(const std::string& name, int status, const ares_addrinfo* answer, LocalTime now);
    void make_room(LocalTime now);

    const std::string servers_;
    int epoll_;
    ares_channeldata* channel_ = nullptr;
    bool is_ending_ = false;
    std::int64_t settings_ = 0;
    LocalTime settings_seen_{};
    LocalTime timers_seen_{};
    std::unordered_map<std::string, std::unique_ptr<Lookup>> lookups_{};
    std::unordered_map<std::string, Known> known_{};
};

}  // namespace waybill::http_out
