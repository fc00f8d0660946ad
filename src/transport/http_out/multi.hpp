#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <curl/curl.h>

#include "waybill/time.hpp"

namespace waybill::http_out {

/// libcurl's transfers on epoll: a turn costs what has happened, however many wait. They are divided among several of
/// libcurl's engines, by the host they go to: each looks at all its connections whenever a request ends, and many
/// that hang would cost all others their time.
///
/// Thread safety: one thread, except wake().
/// Errors:        throws std::system_error when it cannot be made.
class Multi {
public:
    Multi();
    ~Multi();
    Multi(const Multi&) = delete;
    Multi& operator=(const Multi&) = delete;

    /// Those in use and those that wait for use: beyond that, who waits longest is closed.
    void limit_connections(std::size_t count);
    /// `host`: whoever goes to the same may use the same connections.
    void add(CURL* easy, std::size_t host);
    void remove(CURL* easy, std::size_t host);

    /// Waits until something happens, somebody calls wake(), or it is `until`; then does what can be done.
    /// True: what is watched is readable.
    bool turn(LocalTime until);
    /// A socket was made for a connection of libcurl's; closed() is told of its end.
    void opened(int socket);
    void closed(int socket);
    void wake();
    /// A descriptor of the caller: a turn also ends when it is readable.
    void watch(int descriptor);

    struct Ended {
        CURL* easy = nullptr;
        CURLcode code = CURLE_OK;
    };
    /// One that has ended; it is to be removed.
    std::optional<Ended> ended();

private:
    struct Part {
        Multi* whole = nullptr;
        LocalTime due = local_never;
        std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi{nullptr, ::curl_multi_cleanup};
    };

    static int on_socket(CURL* easy, curl_socket_t socket, int what, void* part, void* of_socket);
    static int on_timer(CURLM* multi, long milliseconds, void* part);

    /// Most connections are used again at once, for the same: one that is idle stays where it is, until something comes
    /// that nobody asked for. Not those that are no connections: of their end nobody tells.
    struct Watched {
        Part* part = nullptr;
        bool is_connection = false;
        std::uint32_t at_epoll = 0;
        std::uint32_t wanted = 0;
    };

    Part& part_of(std::size_t host) { return parts_[host % parts_.size()]; }
    static void act(Part& part, int socket, int events);
    Watched& watched_at(int socket);
    void listen_to(int socket, Watched& watched, std::uint32_t events);

    int epoll_ = -1;
    int wake_ = -1;
    int watched_ = -1;
    /// By socket.
    std::vector<Watched> sockets_{};
    std::array<Part, 16> parts_{};
    std::size_t connections_ = 0;
    /// Where ended() goes on.
    std::size_t asked_ = 0;
};

}  // namespace waybill::http_out
