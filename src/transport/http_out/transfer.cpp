#include "transport/http_out/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace waybill::http_out {
namespace {

/// Thread-safe, and never undone: libcurl's own advice for programs that use it to their end.
void init_once() {
    static const CURLcode done = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (done != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
}

constexpr std::size_t kHeaders = 100;

struct Peer {
    std::optional<IpAddress> address{};
    std::uint16_t port = 0;
};

Peer peer_of(const sockaddr& name) {
    if (name.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &name, sizeof v4);
        IpAddress address;
        address.bytes[10] = address.bytes[11] = 0xff;
        std::memcpy(address.bytes.data() + 12, &v4.sin_addr, 4);
        return {address, ntohs(v4.sin_port)};
    }
    if (name.sa_family != AF_INET6) return {};
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);
    IpAddress address;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    return {address, ntohs(v6.sin6_port)};
}

}  // namespace

Transfer::Transfer(Request request, OnResult on_result, std::uint64_t number)
    : request_(std::move(request)),
      on_result_(std::move(on_result)),
      number_(number),
      easy_((init_once(), ::curl_easy_init()), ::curl_easy_cleanup),
      list_(nullptr, ::curl_slist_free_all) {
    CURL* const easy = easy_.get();
    const auto add = [&](const std::string& line) {
        list_.reset(::curl_slist_append(list_.release(), line.c_str()));
    };
    // Without "100-continue" a body is sent at once.
    add("Expect:");
    for (const auto& [name, value] : request_.headers) {
        add(value.empty() ? name + ";" : name + ": " + value);
    }
    ::curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
    ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (request_.method != "GET") {
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                           static_cast<curl_off_t>(request_.body.size()));
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.data());
    }
    ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list_.get());
    if (!request_.key_pin.empty()) {
        ::curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, request_.key_pin.c_str());
        ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    ::curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    ::curl_easy_setopt(
        easy, CURLOPT_TIMEOUT_MS,
        static_cast<long>(
            std::chrono::duration_cast<std::chrono::milliseconds>(request_.timeout).count()));
    ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
    if (!request_.egress) return;
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_socket);
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_connection);
    ::curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
}

bool Transfer::may_go_to(const std::optional<IpAddress>& address, std::uint16_t port) {
    // One of its addresses was refused: a name that means such a place is not tried at its others.
    if (result_.verdict != Verdict::allowed) return false;
    result_.verdict = address ? judge(*request_.egress, *address, port) : Verdict::bad_url;
    if (result_.verdict == Verdict::allowed) return true;
    result_.error =
        (address ? to_string(*address) + " is " : "") + std::string{name_of(result_.verdict)};
    return false;
}

/// What is judged here is what is connected to: no name is looked up again.
curl_socket_t Transfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    const Peer peer = peer_of(address->addr);
    if (!static_cast<Transfer*>(self)->may_go_to(peer.address, peer.port)) return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// Also of a connection that was kept: what is allowed may have changed since it was made.
int Transfer::on_connection(void* self, char* peer, char*, int peer_port, int) {
    const bool may = static_cast<Transfer*>(self)->may_go_to(parse_ip(peer),
                                                             static_cast<std::uint16_t>(peer_port));
    return may ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t bytes = size * count;
    const std::size_t room = static_cast<std::size_t>(transfer.request_.response_bytes_max) -
                             transfer.result_.body.size();
    transfer.result_.body.append(data, std::min(bytes, room));
    if (bytes <= room) return bytes;
    transfer.full_ = true;
    return 0;
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view line{data, size * count};
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && transfer.result_.headers.size() < kHeaders) {
        const std::size_t from = line.find_first_not_of(" \t", colon + 1);
        const std::size_t to = line.find_last_not_of(" \t\r\n");
        transfer.result_.headers.add(std::string{line.substr(0, colon)},
                                     from == std::string_view::npos || to < from
                                         ? std::string{}
                                         : std::string{line.substr(from, to - from + 1)});
    }
    return size * count;
}

Result Transfer::finish(CURLcode code) {
    long status = 0;
    ::curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    // A body that was cut at its limit is an answer all the same.
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && full_)) {
        result_.status = static_cast<unsigned>(status);
    } else if (result_.verdict == Verdict::allowed) {
        result_.error = ::curl_easy_strerror(code);
    }
    return std::move(result_);
}

Result perform(const Request& request) {
    Transfer transfer{request, {}, 0};
    return transfer.finish(::curl_easy_perform(transfer.handle()));
}

}  // namespace waybill::http_out
