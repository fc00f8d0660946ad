#include "support/postgres_proxy.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace waybill::test {
namespace {

constexpr std::size_t kTypeBytes = 1;
constexpr std::size_t kLengthBytes = 4;

std::uint32_t length_at(const std::string& bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return ntohl(value);
}

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive(int socket, std::string& into) {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    into.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
}

/// What a message of a client names: the text of a query or of an unnamed statement, the name of a prepared one.
std::string_view statement_of(std::string_view message) {
    const char type = message[0];
    std::string_view body = message.substr(kTypeBytes + kLengthBytes);
    const bool is_bind = type == 'B';
    const bool is_unnamed = type == 'P' && body.starts_with('\0');
    if (type != 'Q' && !is_bind && !is_unnamed) return {};
    // The portal's name, or none.
    if (type != 'Q') body.remove_prefix(body.find('\0') + 1);
    return body.substr(0, body.find('\0'));
}

/// As if the other host had gone: no goodbye.
void reset(int socket) {
    const linger at_once{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(socket);
}

}  // namespace

struct PostgresProxy::Link {
    int client = -1;
    int server = -1;
    std::string to_server{};  ///< not yet a whole message
    std::string swallowed{};  ///< of the answer that nobody hears
    bool has_started = false;
    bool is_swallowing = false;
    bool is_frozen = false;

    Link() = default;
    ~Link() {
        if (client >= 0) reset(client);
        if (server >= 0) ::close(server);
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
};

PostgresProxy::PostgresProxy(const std::string& socket_folder, int port)
    : upstream_(socket_folder + "/.s.PGSQL." + std::to_string(port)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw std::runtime_error("the proxy finds no port");
    }
    port_ = ntohs(address.sin_port);
    poke_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::make_unique<Background>([this](const std::stop_token& stop) { run(stop); });
}

PostgresProxy::~PostgresProxy() {
    thread_->stop();
    poke();
    thread_.reset();
    ::close(listener_);
    ::close(poke_);
}

std::string PostgresProxy::conninfo(const std::string& database) const {
    return "host=127.0.0.1 port=" + std::to_string(port_) +
           " sslmode=disable gssencmode=disable user=waybill dbname=" + database;
}

void PostgresProxy::poke() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(poke_, &one, sizeof one);
}

void PostgresProxy::swallow(const std::string& statement, int every) {
    const std::lock_guard lock{mutex_};
    swallow_[statement] = {.every = every};
}

void PostgresProxy::lose(const std::string& statement, int every) {
    const std::lock_guard lock{mutex_};
    lose_[statement] = {.every = every};
}

void PostgresProxy::withhold(const std::string& statement) {
    const std::lock_guard lock{mutex_};
    withhold_ = statement;
    has_withheld_ = false;
}

void PostgresProxy::silence(bool is_silent) {
    is_silent_ = is_silent;
    poke();
}

void PostgresProxy::cut() {
    is_cutting_ = true;
    poke();
}

void PostgresProxy::run(const std::stop_token& stop) {
    std::vector<std::unique_ptr<Link>> links;
    while (!stop.stop_requested()) serve(links);
}

void PostgresProxy::serve(std::vector<std::unique_ptr<Link>>& links) {
    std::vector<pollfd> sockets{{poke_, POLLIN, 0}, {listener_, POLLIN, 0}};
    const bool is_silent = is_silent_;
    for (const auto& link : links) {
        // In silence only the end of a connection is heard.
        const short wanted = is_silent ? 0 : POLLIN;
        sockets.push_back({link->client, wanted, 0});
        sockets.push_back({link->server, wanted, 0});
    }
    ::poll(sockets.data(), sockets.size(), -1);
    std::uint64_t pokes = 0;
    [[maybe_unused]] const auto read = ::read(poke_, &pokes, sizeof pokes);
    if (is_cutting_.exchange(false)) links.clear();
    for (std::size_t i = 0; i < links.size(); ++i) {
        const short client = sockets[2 + 2 * i].revents;
        const short server = sockets[3 + 2 * i].revents;
        bool lives = true;
        if (is_silent) {
            lives = (client & (POLLHUP | POLLERR)) == 0;
            if ((server & (POLLHUP | POLLERR)) != 0) {
                ::close(std::exchange(links[i]->server, -1));
            }
        } else {
            if (server != 0) lives = from_server(*links[i]);
            if (lives && client != 0) lives = from_client(*links[i]);
        }
        if (!lives) links[i].reset();
    }
    std::erase(links, nullptr);
    if (sockets[1].revents != 0) accept_one(links);
}

void PostgresProxy::accept_one(std::vector<std::unique_ptr<Link>>& links) {
    auto link = std::make_unique<Link>();
    link->client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (link->client < 0) return;
    ++accepted_;
    link->server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, upstream_.c_str(), sizeof address.sun_path - 1);
    if (::connect(link->server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        links.push_back(std::move(link));
    }
}

bool PostgresProxy::is_due(Rules& rules, std::string_view statement) {
    const std::lock_guard lock{mutex_};
    const auto rule = rules.find(statement);
    if (rule == rules.end() || rule->second.every == 0) return false;
    return ++rule->second.seen % rule->second.every == 0;
}

bool PostgresProxy::is_withheld(char type, std::string_view statement) {
    const std::lock_guard lock{mutex_};
    if (withhold_.empty()) return false;
    const bool is_it =
        type == 'P' ? statement.find(withhold_) != std::string_view::npos : statement == withhold_;
    if (is_it) withhold_.clear();
    return is_it;
}

/// Message by message, so that a statement is known before its answer comes.
bool PostgresProxy::from_client(Link& link) {
    if (!receive(link.client, link.to_server)) return false;
    for (;;) {
        const std::size_t type_bytes = link.has_started ? kTypeBytes : 0;
        if (link.to_server.size() < type_bytes + kLengthBytes) return true;
        const std::size_t whole = type_bytes + length_at(link.to_server, type_bytes);
        if (link.to_server.size() < whole) return true;
        if (link.has_started) {
            const std::string_view message{link.to_server.data(), whole};
            const std::string_view statement = statement_of(message);
            if (is_due(lose_, statement)) {
                ++lost_;
                return false;
            }
            if (is_due(swallow_, statement)) link.is_swallowing = true;
            if (is_withheld(message[0], statement)) link.is_frozen = true;
        }
        link.has_started = true;
        if (!send_all(link.server, std::string_view{link.to_server}.substr(0, whole))) return false;
        link.to_server.erase(0, whole);
    }
}

bool PostgresProxy::from_server(Link& link) {
    std::string bytes;
    if (!receive(link.server, bytes)) return false;
    if (!link.is_swallowing && !link.is_frozen) return send_all(link.client, bytes);
    // Until the server is ready for the next one: then what it did is done, and outside a transaction durable.
    link.swallowed += bytes;
    while (link.swallowed.size() >= kTypeBytes + kLengthBytes) {
        const std::size_t whole = kTypeBytes + length_at(link.swallowed, kTypeBytes);
        if (link.swallowed.size() < whole) return true;
        if (link.swallowed[0] == 'Z' && link.is_frozen) has_withheld_ = true;
        if (link.swallowed[0] == 'Z' && link.is_swallowing) {
            ++swallowed_;
            return false;
        }
        link.swallowed.erase(0, whole);
    }
    return true;
}

}  // namespace waybill::test
