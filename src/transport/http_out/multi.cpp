#include "transport/http_out/multi.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/assert.hpp"
#include "waybill/system.hpp"

namespace waybill::http_out {
namespace {

constexpr int kEventsAtOnce = 256;
constexpr std::chrono::hours kLongest{1};

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void add_readable(int epoll, int descriptor) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) fail("requests to others");
}

/// Rounded up: a turn that comes too early would only be another turn.
int milliseconds_until(LocalTime until, LocalTime now) {
    if (until <= now) return 0;
    const Duration left = std::min<Duration>(until - now, kLongest);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Multi::Multi()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (epoll_ < 0 || wake_ < 0) fail("requests to others");
    add_readable(epoll_, wake_);
    for (Part& part : parts_) {
        part.whole = this;
        part.multi.reset(::curl_multi_init());
        CURLM* const multi = part.multi.get();
        if (multi == nullptr) fail("requests to others");
        ::curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Multi::on_socket);
        ::curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &part);
        ::curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Multi::on_timer);
        ::curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &part);
        // Requests that share a connection of HTTP/2 share its fate, and libcurl gives one that hangs to every next
        // request.
        ::curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    }
}

Multi::~Multi() {
    // It still speaks of sockets while it closes its connections.
    for (Part& part : parts_) part.multi.reset();
    if (epoll_ >= 0) ::close(epoll_);
    if (wake_ >= 0) ::close(wake_);
}

void Multi::watch(int descriptor) {
    watched_ = descriptor;
    add_readable(epoll_, descriptor);
}

void Multi::limit_connections(std::size_t count) {
    if (count == connections_) return;
    connections_ = count;
    for (const Part& part : parts_) {
        ::curl_multi_setopt(part.multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(count));
    }
}

void Multi::add(CURL* easy, std::size_t host) {
    WAYBILL_ASSERT(::curl_multi_add_handle(part_of(host).multi.get(), easy) == CURLM_OK);
}

void Multi::remove(CURL* easy, std::size_t host) {
    WAYBILL_ASSERT(::curl_multi_remove_handle(part_of(host).multi.get(), easy) == CURLM_OK);
}

bool Multi::turn(LocalTime until) {
    bool is_readable = false;
    std::array<epoll_event, kEventsAtOnce> events{};
    const LocalTime due = std::ranges::min_element(parts_, {}, &Part::due)->due;
    const int milliseconds = milliseconds_until(std::min(until, due), system_clock().now());
    const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, milliseconds);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events.at(static_cast<std::size_t>(i));
        if (event.data.fd == wake_) {
            eventfd_t ignored = 0;
            ::eventfd_read(wake_, &ignored);
            continue;
        }
        if (event.data.fd == watched_) {
            is_readable = true;
            continue;
        }
        Watched& watched = sockets_[static_cast<std::size_t>(event.data.fd)];
        if (watched.wanted == 0) {
            listen_to(event.data.fd, watched, 0);
            continue;
        }
        act(*watched.part, event.data.fd,
            ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0));
    }
    const LocalTime now = system_clock().now();
    for (Part& part : parts_) {
        if (part.due > now) continue;
        part.due = local_never;
        act(part, CURL_SOCKET_TIMEOUT, 0);
    }
    return is_readable;
}

void Multi::act(Part& part, int socket, int events) {
    int running = 0;
    ::curl_multi_socket_action(part.multi.get(), socket, events, &running);
}

void Multi::wake() {
    ::eventfd_write(wake_, 1);
}

std::optional<Multi::Ended> Multi::ended() {
    int left = 0;
    for (; asked_ < parts_.size(); ++asked_) {
        while (const CURLMsg* message = ::curl_multi_info_read(parts_[asked_].multi.get(), &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            return Ended{message->easy_handle, message->data.result};
        }
    }
    asked_ = 0;
    return std::nullopt;
}

int Multi::on_socket(CURL*, curl_socket_t socket, int what, void* data, void*) {
    auto& part = *static_cast<Part*>(data);
    Multi& multi = *part.whole;
    std::uint32_t events = 0;
    if (what != CURL_POLL_REMOVE && (what & CURL_POLL_IN) != 0) events |= EPOLLIN;
    if (what != CURL_POLL_REMOVE && (what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
    Watched& watched = multi.watched_at(socket);
    watched.part = &part;
    watched.wanted = events;
    const bool is_idle = events == 0 && watched.at_epoll == EPOLLIN && watched.is_connection;
    if (!is_idle && events != watched.at_epoll) multi.listen_to(socket, watched, events);
    return 0;
}

/// It may fail: a connection that was given up while it was being made is closed by libcurl 7.88 before it says so, and
/// then the kernel has forgotten it, too. Nothing is made of that: libcurl would take it for the end of all requests of
/// the part, and tell twice of those that have just ended. (Where the kernel has no room to watch another one, that
/// request ends at its deadline.)
void Multi::listen_to(int socket, Watched& watched, std::uint32_t events) {
    const int what = events == 0             ? EPOLL_CTL_DEL
                     : watched.at_epoll != 0 ? EPOLL_CTL_MOD
                                             : EPOLL_CTL_ADD;
    watched.at_epoll = events;
    epoll_event event{.events = events, .data = {.fd = socket}};
    if (::epoll_ctl(epoll_, what, socket, &event) != 0) watched = {.part = watched.part};
}

Multi::Watched& Multi::watched_at(int socket) {
    const auto place = static_cast<std::size_t>(socket);
    if (place >= sockets_.size()) sockets_.resize(place + 1);
    return sockets_[place];
}

void Multi::opened(int socket) {
    Watched& watched = watched_at(socket);
    // One that was closed without a word had its number, and libcurl may believe that we still watch it.
    const std::uint32_t wanted = watched.is_connection ? watched.wanted : 0;
    watched = {.part = watched.part, .is_connection = true, .wanted = wanted};
    if (wanted != 0) listen_to(socket, watched, wanted);
}

/// The kernel no longer watches it, and something else may get its number.
void Multi::closed(int socket) {
    watched_at(socket) = {};
}

int Multi::on_timer(CURLM*, long milliseconds, void* data) {
    auto& part = *static_cast<Part*>(data);
    part.due = milliseconds < 0 ? local_never
                                : system_clock().now() + std::chrono::milliseconds{milliseconds};
    return 0;
}

}  // namespace waybill::http_out
