#include "support/name_server.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace waybill::test {
namespace {

constexpr int kA = 1;
constexpr int kAlias = 5;
constexpr int kAaaa = 28;
constexpr std::size_t kHead = 12;

std::string two_bytes(std::size_t number) {
    return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

std::string encoded(const std::string& name) {
    std::string text;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        text += static_cast<char>(end - at) + name.substr(at, end - at);
        at = end + 1;
    }
    return text + '\0';
}

/// The name of a question, in lower case, and where it ends.
std::pair<std::string, std::size_t> decoded(const std::string& query) {
    std::string name;
    std::size_t at = kHead;
    while (at < query.size() && query[at] != '\0') {
        const auto size = static_cast<std::size_t>(query[at]);
        name += (name.empty() ? "" : ".") + query.substr(at + 1, size);
        at += size + 1;
    }
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return {name, at + 1};
}

std::string record(const std::string& name, int type, std::uint32_t ttl, const std::string& data) {
    return name + two_bytes(static_cast<std::size_t>(type)) + two_bytes(1) + two_bytes(ttl >> 16) +
           two_bytes(ttl & 0xffff) + two_bytes(data.size()) + data;
}

}  // namespace

NameServer::NameServer(Answer answer, NameServerOptions options)
    : answer_(std::move(answer)), options_(std::move(options)) {
    // The same number for both is not always free.
    for (int i = 0; i < 50 && socket_ < 0; ++i) bind_both();
    if (socket_ < 0) throw std::runtime_error("no port for a name server");
    thread_ = std::jthread{[this] { serve(); }};
}

void NameServer::bind_both() {
    by_tcp_ = std::make_unique<Receiver>(
        [this](Connection& connection) {
            for (;;) {
                const std::string size = connection.read(2);
                if (size.size() < 2) return;
                const std::string query = connection.read(static_cast<unsigned char>(size[1]));
                const std::string answer = respond(query, 65'535);
                connection.send(two_bytes(answer.size()) + answer);
            }
        },
        ReceiverOptions{.address = options_.address, .port = options_.port});
    sockaddr_in name{};
    name.sin_family = AF_INET;
    ::inet_pton(AF_INET, options_.address.c_str(), &name.sin_addr);
    name.sin_port = htons(by_tcp_->port());
    port_ = by_tcp_->port();
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) {
        socket_ = socket;
    } else {
        ::close(socket);
    }
}

NameServer::~NameServer() {
    // Nobody can be woken from a socket that is not connected by shutting it down; by a word to it, they can.
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(port_);
    ::sendto(socket_, "", 0, 0, reinterpret_cast<const sockaddr*>(&name), sizeof name);
    thread_.join();
    ::close(socket_);
}

int NameServer::asked(const std::string& name) {
    const std::lock_guard lock{mutex_};
    return asked_[{name, kA}];
}

void NameServer::serve() {
    std::array<char, 4'096> buffer{};
    for (;;) {
        sockaddr_in from{};
        socklen_t size = sizeof from;
        const ssize_t count = ::recvfrom(socket_, buffer.data(), buffer.size(), 0,
                                         reinterpret_cast<sockaddr*>(&from), &size);
        if (count <= 0) return;
        const std::string answer =
            respond(std::string{buffer.data(), static_cast<std::size_t>(count)}, 512);
        if (answer.empty()) continue;
        ::sendto(socket_, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from),
                 size);
    }
}

std::string NameServer::respond(const std::string& query, std::size_t bytes_max) {
    const auto [name, end] = decoded(query);
    if (query.size() < end + 4) return {};
    const int type = static_cast<unsigned char>(query[end + 1]);
    int time = 0;
    {
        const std::lock_guard lock{mutex_};
        time = asked_[{name, type}]++;
    }
    const std::optional<NameAnswer> answer = answer_(name, time);
    if (!answer) return {};
    std::string records;
    std::size_t count = 0;
    std::string owner = "\xc0\x0c";  // the name in the question
    if (!answer->alias_of.empty()) {
        records += record(owner, kAlias, answer->ttl, encoded(answer->alias_of));
        owner = encoded(answer->alias_of);
        ++count;
    }
    for (const std::string& address : answer->addresses) {
        const bool is_v6 = address.find(':') != std::string::npos;
        if (type != (is_v6 ? kAaaa : kA)) continue;
        std::array<char, 16> bytes{};
        ::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data());
        records += record(owner, type, answer->ttl, {bytes.data(), is_v6 ? 16U : 4U});
        ++count;
    }
    const std::string question = query.substr(kHead, end + 4 - kHead);
    const bool is_cut = kHead + question.size() + records.size() > bytes_max;
    if (is_cut) {
        records.clear();
        count = 0;
    }
    return query.substr(0, 2) + (is_cut ? '\x83' : '\x81') +
           static_cast<char>(0x80 | answer->code) + two_bytes(1) + two_bytes(count) + two_bytes(0) +
           two_bytes(0) + question + records;
}

}  // namespace waybill::test
