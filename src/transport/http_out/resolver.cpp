#include "transport/http_out/resolver.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <ares.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/http_out/peer.hpp"
#include "waybill/system.hpp"

namespace waybill::http_out {
namespace {

constexpr int kTryMilliseconds = 2'000;  // the first; each next one is twice as long
constexpr int kTries = 3;
constexpr std::chrono::seconds kFreshLeast{1};
constexpr std::chrono::seconds kFreshMost{60};
constexpr std::chrono::minutes kKept{10};
constexpr std::chrono::seconds kSettingsEvery{5};
constexpr std::chrono::milliseconds kTimersEvery{50};
constexpr std::size_t kNamesKept = 4'096;
constexpr int kSocketsAtOnce = 64;

void init_names_once() {
    static const int done = ::ares_library_init(ARES_LIB_INIT_ALL);
    if (done != ARES_SUCCESS) throw std::runtime_error("names cannot be looked up");
}

/// When /etc/resolv.conf was changed, in nanoseconds.
std::int64_t settings_changed() {
    struct stat file {};
    if (::stat("/etc/resolv.conf", &file) != 0) return 0;
    return file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec;
}

/// There is no such name, or it has no address: servers were asked and said so.
bool is_final(int status) {
    return status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_ENONAME ||
           status == ARES_EBADNAME;
}

}  // namespace

Resolver::Resolver(std::string servers)
    : servers_(std::move(servers)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw std::runtime_error("names cannot be looked up: no epoll");
    init_names_once();
    open();
}

Resolver::~Resolver() {
    is_ending_ = true;
    close();
    ::close(epoll_);
}

void Resolver::open() {
    ares_options options{};
    options.timeout = kTryMilliseconds;
    options.tries = kTries;
    options.sock_state_cb = &Resolver::on_socket;
    options.sock_state_cb_data = this;
    settings_ = settings_changed();
    const int made = ::ares_init_options(
        &channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (made != ARES_SUCCESS) throw std::runtime_error(::ares_strerror(made));
    if (servers_.empty()) return;
    const int set = ::ares_set_servers_ports_csv(channel_, servers_.c_str());
    if (set != ARES_SUCCESS) {
        close();
        throw std::runtime_error("name servers \"" + servers_ + "\": " + ::ares_strerror(set));
    }
}

void Resolver::close() {
    ::ares_destroy(std::exchange(channel_, nullptr));
}

/// c-ares reads them once; a laptop changes its network, a container its neighbours.
void Resolver::look_at_settings(LocalTime now) {
    if (!servers_.empty() || !lookups_.empty() || now < settings_seen_ + kSettingsEvery) return;
    settings_seen_ = now;
    if (settings_changed() == settings_) return;
    close();
    open();
}

void Resolver::find(const std::string& name, OnFound on_found) {
    const LocalTime now = system_clock().now();
    const auto known = known_.find(name);
    if (known != known_.end() && now < known->second.fresh_until) {
        return on_found({.addresses = known->second.addresses});
    }
    look_at_settings(now);
    if (lookups_.empty()) timers_seen_ = now;
    const auto [place, is_new] = lookups_.try_emplace(name);
    if (is_new) {
        place->second = std::make_unique<Lookup>();
        place->second->resolver = this;
        place->second->name = name;
    }
    Lookup* const lookup = place->second.get();
    lookup->waiting.push_back(std::move(on_found));
    if (!is_new) return;
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ::ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &Resolver::on_answer, lookup);
}

/// c-ares would say when exactly, but walks over all names for that.
LocalTime Resolver::due() const {
    return lookups_.empty() ? local_never : timers_seen_ + kTimersEvery;
}

void Resolver::turn(bool is_readable) {
    if (lookups_.empty()) return;
    if (is_readable) {
        std::array<epoll_event, kSocketsAtOnce> events{};
        const int count = ::epoll_wait(epoll_, events.data(), kSocketsAtOnce, 0);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events.at(static_cast<std::size_t>(i));
            const bool reads = (event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0;
            const bool writes = (event.events & EPOLLOUT) != 0;
            ::ares_process_fd(channel_, reads ? event.data.fd : ARES_SOCKET_BAD,
                              writes ? event.data.fd : ARES_SOCKET_BAD);
        }
    }
    const LocalTime now = system_clock().now();
    if (now < timers_seen_ + kTimersEvery) return;
    timers_seen_ = now;
    ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void Resolver::on_socket(void* self, int socket, int reads, int writes) {
    const int epoll = static_cast<Resolver*>(self)->epoll_;
    if (reads == 0 && writes == 0) {
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
        return;
    }
    epoll_event event{.events = 0, .data = {.fd = socket}};
    if (reads != 0) event.events |= EPOLLIN;
    if (writes != 0) event.events |= EPOLLOUT;
    if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0) {
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    }
}

void Resolver::on_answer(void* data, int status, int, ares_addrinfo* answer) {
    const std::unique_ptr<ares_addrinfo, void (*)(ares_addrinfo*)> owned{answer,
                                                                         ::ares_freeaddrinfo};
    const Lookup& lookup = *static_cast<Lookup*>(data);
    Resolver& resolver = *lookup.resolver;
    if (resolver.is_ending_) return;
    const std::string name = lookup.name;
    resolver.end(name, resolver.taken(name, status, answer, system_clock().now()));
}

void Resolver::end(const std::string& name, const Found& found) {
    const auto place = lookups_.find(name);
    const std::unique_ptr<Lookup> lookup = std::move(place->second);
    lookups_.erase(place);
    for (const OnFound& on_found : lookup->waiting) on_found(found);
}

Found Resolver::taken(const std::string& name, int status, const ares_addrinfo* answer,
                      LocalTime now) {
    Found found;
    Duration fresh = kFreshMost;
    if (status == ARES_SUCCESS && answer != nullptr) {
        for (const auto* node = answer->nodes; node != nullptr; node = node->ai_next) {
            const Peer peer = peer_of(*node->ai_addr);
            if (!peer.address) continue;
            found.addresses.push_back(*peer.address);
            fresh = std::min<Duration>(fresh, std::chrono::seconds{std::max(node->ai_ttl, 0)});
        }
    }
    if (!found.addresses.empty()) {
        make_room(now);
        known_[name] = {.addresses = found.addresses,
                        .fresh_until = now + std::max<Duration>(fresh, kFreshLeast),
                        .kept_until = now + kKept};
        return found;
    }
    const auto known = known_.find(name);
    if (known != known_.end() && !is_final(status) && now < known->second.kept_until) {
        return {.addresses = known->second.addresses};
    }
    if (known != known_.end()) known_.erase(known);
    found.error =
        name + ": " + (status == ARES_SUCCESS ? "it has no address" : ::ares_strerror(status));
    return found;
}

void Resolver::make_room(LocalTime now) {
    if (known_.size() < kNamesKept) return;
    std::erase_if(known_, [&](const auto& one) { return one.second.fresh_until <= now; });
    if (known_.size() >= kNamesKept) known_.clear();
}

}  // namespace waybill::http_out
