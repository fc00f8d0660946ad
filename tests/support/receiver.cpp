#include "support/receiver.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::test {
namespace {

int choose_http2(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char*,
                 unsigned, void*) {
    static constexpr std::array<unsigned char, 2> h2{'h', '2'};
    *chosen = h2.data();
    *size = h2.size();
    return SSL_TLSEXT_ERR_OK;
}

SSL_CTX* tls_of(const ReceiverOptions& options) {
    if (!options.certificate) return nullptr;
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the other end has left.
    SSL_CTX* const tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_security_level(tls, 0);
    SSL_CTX_set_min_proto_version(tls, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(tls, options.tls_version_max);
    SSL_CTX_use_certificate_file(tls, options.certificate->certificate.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(tls, options.certificate->key.c_str(), SSL_FILETYPE_PEM);
    if (options.http2) SSL_CTX_set_alpn_select_cb(tls, &choose_http2, nullptr);
    if (!options.client_ca.empty()) {
        SSL_CTX_load_verify_locations(tls, options.client_ca.c_str(), nullptr);
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return tls;
}

std::uint16_t port_of(int socket) {
    sockaddr_in6 name{};  // the port of both kinds is at the same place
    socklen_t size = sizeof name;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
    return ntohs(name.sin6_port);
}

int listen_at(const ReceiverOptions& options) {
    const bool is_v6 = options.address.find(':') != std::string::npos;
    const int socket = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (is_v6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(options.port);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(options.port);
    ::inet_pton(is_v6 ? AF_INET6 : AF_INET, options.address.c_str(),
                is_v6 ? static_cast<void*>(&v6.sin6_addr) : static_cast<void*>(&v4.sin_addr));
    const auto* const name =
        is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    if (::bind(socket, name, is_v6 ? sizeof v6 : sizeof v4) != 0 || ::listen(socket, 1024) != 0) {
        ::close(socket);
        throw std::runtime_error("cannot listen at " + options.address);
    }
    return socket;
}

/// The number after "content-length:", 0 without one.
std::size_t length_of_body(std::string head) {
    for (char& c : head) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const std::size_t at = head.find("\r\ncontent-length:");
    return at == std::string::npos ? 0 : std::stoull(head.substr(at + 17));
}

}  // namespace

std::size_t Connection::receive(char* data, std::size_t size) {
    if (ssl_ != nullptr) {
        const int count = SSL_read(ssl_, data, static_cast<int>(size));
        ERR_clear_error();
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    const ssize_t count = ::recv(socket_, data, size, 0);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

std::string Connection::read(std::size_t bytes) {
    std::array<char, 16'384> buffer{};
    while (received_.size() < bytes) {
        const std::size_t count = receive(buffer.data(), buffer.size());
        if (count == 0) break;
        received_.append(buffer.data(), count);
    }
    std::string text = received_.substr(0, bytes);
    received_.erase(0, text.size());
    return text;
}

std::string Connection::request() {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
        const std::string more = read(1);
        if (more.empty()) return {};
        head += more;
    }
    const std::size_t length = length_of_body(head);
    std::string body = read(length);
    return body.size() < length ? std::string{} : head + body;
}

bool Connection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t most = std::min<std::size_t>(bytes.size(), 1 << 20);
        ssize_t sent = 0;
        if (ssl_ != nullptr) {
            sent = SSL_write(ssl_, bytes.data(), static_cast<int>(most));
            ERR_clear_error();
        } else {
            sent = ::send(socket_, bytes.data(), most, MSG_NOSIGNAL);
        }
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool Connection::ends_within(std::chrono::milliseconds time) {
    pollfd waiting{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) != 0;
}

void Connection::hang() {
    pollfd waiting{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    ::poll(&waiting, 1, -1);
}

void Connection::reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

std::string Connection::protocol() const {
    if (ssl_ == nullptr) return {};
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return size == 0 ? "http/1.1" : std::string{reinterpret_cast<const char*>(name), size};
}

Receiver::Receiver(Serve serve, ReceiverOptions options)
    : serve_(std::move(serve)),
      options_(std::move(options)),
      tls_(tls_of(options_), SSL_CTX_free),
      listening_(listen_at(options_)),
      port_(port_of(listening_)),
      accepting_([this] { accept_all(); }) {}

Receiver::~Receiver() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        for (const Guest& guest : guests_) ::shutdown(guest.socket, SHUT_RDWR);
    }
    ::shutdown(listening_, SHUT_RDWR);
    accepting_.join();
    ::close(listening_);
    for (Guest& guest : guests_) {
        guest.thread.join();
        ::close(guest.socket);
    }
}

std::string Receiver::url(const std::string& path) const {
    const bool is_v6 = options_.address.find(':') != std::string::npos;
    return (options_.certificate ? "https://" : "http://") +
           (is_v6 ? "[" + options_.address + "]" : options_.address) + ":" + std::to_string(port_) +
           path;
}

void Receiver::accept_all() {
    for (;;) {
        const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (socket < 0) return;
        welcome(socket);
    }
}

void Receiver::welcome(int socket) {
    ++connections_;
    const std::lock_guard lock{mutex_};
    if (stopping_) {
        ::close(socket);
        return;
    }
    for (auto guest = guests_.begin(); guest != guests_.end();) {
        if (!guest->is_over) {
            ++guest;
            continue;
        }
        guest->thread.join();
        ::close(guest->socket);
        guest = guests_.erase(guest);
    }
    Guest& guest = guests_.emplace_back();
    guest.socket = socket;
    guest.thread = std::jthread{[this, &guest] {
        serve_one(guest.socket);
        guest.is_over = true;
    }};
}

void Receiver::serve_one(int socket) {
    SSL* const ssl = tls_ && !options_.silent ? SSL_new(tls_.get()) : nullptr;
    Connection connection{socket, ssl};
    if (ssl != nullptr) SSL_set_fd(ssl, socket);
    if (options_.silent) {
        connection.hang();
    } else if (ssl == nullptr || SSL_accept(ssl) == 1) {
        ++served_;
        serve_(connection);
    }
    ERR_clear_error();
    SSL_free(ssl);
    const std::lock_guard lock{mutex_};  // whoever ends all of us looks at our number
    linger asked{};
    socklen_t size = sizeof asked;
    ::getsockopt(socket, SOL_SOCKET, SO_LINGER, &asked, &size);
    if (asked.l_onoff == 0) {
        ::shutdown(socket, SHUT_RDWR);
        return;
    }
    // Only a close resets; its number must stay ours until nobody can mean it any more.
    const int nothing = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::dup3(nothing, socket, O_CLOEXEC);
    ::close(nothing);
}

std::string http_answer(int status, std::string_view body, std::string_view headers) {
    return "HTTP/1.1 " + std::to_string(status) + " Said\r\n" + std::string{headers} +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

Receiver::Serve always(std::string answer) {
    return [answer = std::move(answer)](Connection& connection) {
        while (!connection.request().empty() && connection.send(answer)) continue;
    };
}

void serve_http2(Connection& connection) {
    constexpr std::size_t kPreface = 24;
    constexpr char kHeaders = 1;
    constexpr char kData = 0;
    constexpr char kEndStream = 1;
    connection.read(kPreface);
    connection.send(std::string_view{"\0\0\0\4\0\0\0\0\0", 9});  // our settings: none
    for (;;) {
        const std::string head = connection.read(9);
        if (head.size() < 9) return;
        const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
        connection.read((std::size_t{byte(0)} << 16) | (std::size_t{byte(1)} << 8) | byte(2));
        if (head[3] == 4 && head[4] == 0) {  // theirs: agreed
            connection.send(std::string_view{"\0\0\0\4\1\0\0\0\0", 9});
        }
        if ((head[3] != kHeaders && head[3] != kData) || (head[4] & kEndStream) == 0) continue;
        // ":status: 200" is entry 8 of the table that both ends know; end of headers, end of stream.
        std::string answer{"\0\0\1\1\5", 5};
        answer += head.substr(5, 4) + '\x88';
        connection.send(answer);
    }
}

}  // namespace waybill::test
