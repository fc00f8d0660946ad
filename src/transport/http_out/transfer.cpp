#include "transport/http_out/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "core/wording.hpp"
#include "transport/http_out/certificate_name.hpp"
#include "transport/http_out/failure.hpp"
#include "transport/http_out/peer.hpp"
#include "transport/http_out/url.hpp"
#include "waybill/system.hpp"

namespace waybill::http_out {
namespace {

/// Kept of an answer; more are read and dropped.
constexpr std::size_t kHeaders = 100;
/// Of all headers of an answer, the interim ones' and trailers too.
constexpr std::size_t kHeaderBytes = 32 << 10;
/// "100 Continue", "103 Early Hints"
constexpr int kInterimAnswers = 16;
/// A receiver that is at none of so many of its addresses is nowhere.
constexpr std::size_t kAddressesTried = 16;

/// A line break in a header would be another header.
bool is_clean(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
    });
}

std::string too_many_headers() {
    return "the answer has more than " + detail::grouped(kHeaderBytes) + " bytes of headers";
}

/// Of one family and of the other, for as long as there are both; not too many.
std::vector<IpAddress> in_turns(const std::vector<IpAddress>& addresses) {
    std::vector<IpAddress> order;
    std::array<std::size_t, 2> next{};
    const auto take = [&](bool is_v4) {
        std::size_t& at = next[is_v4 ? 1 : 0];
        while (at < addresses.size() && addresses[at].is_v4() != is_v4) ++at;
        if (at < addresses.size()) order.push_back(addresses[at++]);
    };
    for (std::size_t i = 0; i < addresses.size() && order.size() < kAddressesTried; ++i) {
        take(addresses.front().is_v4());
        take(!addresses.front().is_v4());
    }
    return order;
}

std::string version_text(long version) {
    switch (version) {
        case CURL_HTTP_VERSION_1_0: return "1.0";
        case CURL_HTTP_VERSION_1_1: return "1.1";
        case CURL_HTTP_VERSION_2_0: return "2";
        default: return {};
    }
}

}  // namespace

std::optional<Result> Transfer::refusal(const std::optional<UrlParts>& parts) {
    const auto refuse = [](Verdict verdict, std::string error) {
        return Result{.failure = Failure::blocked, .error = std::move(error), .verdict = verdict};
    };
    for (const auto& [name, value] : request_.headers) {
        if (!is_clean(name) || !is_clean(value)) {
            return refuse(Verdict::bad_header, "a header has control characters");
        }
    }
    if (!request_.egress) {
        const std::string problem = problem_of_url(request_.url);
        if (problem.empty()) return std::nullopt;
        return refuse(Verdict::bad_url, "the URL" + problem);
    }
    const Verdict verdict = judge_url(*request_.egress, request_.url, parts);
    if (verdict == Verdict::allowed) return std::nullopt;
    return refuse(verdict, "the URL is " + std::string{name_of(verdict)});
}

std::optional<Result> Transfer::take_addresses(const Found& found, LocalTime now) {
    if (!name_.empty() && found.addresses.empty()) return end(Failure::dns, found.error, now);
    named_ = std::max(now - begun_, Duration{1});
    // All of them: a name that means one place that is refused is not tried at its others.
    for (const IpAddress& address : found.addresses) {
        if (request_.egress && !is_allowed(address, port_)) {
            return end(Failure::blocked, {}, now);
        }
    }
    addresses_ = in_turns(found.addresses);
    prepare(now);
    return std::nullopt;
}

/// The connection was refused or took too long, and there are other places to go to.
bool Transfer::goes_on(CURLcode code, LocalTime now) {
    if (code != CURLE_COULDNT_CONNECT && code != CURLE_OPERATION_TIMEDOUT) return false;
    if (tried_ >= addresses_.size() || !request_.proxy.empty() || connected_ > Duration{} ||
        result_.verdict != Verdict::allowed || look(now).limit > Duration{}) {
        return false;
    }
    prepare(now);
    return true;
}

bool Transfer::is_allowed(const std::optional<IpAddress>& address, std::uint16_t port) {
    result_.verdict = address ? judge(*request_.egress, *address, port) : Verdict::bad_url;
    if (result_.verdict == Verdict::allowed) return true;
    result_.error =
        (address ? to_string(*address) + " is " : "") + std::string{name_of(result_.verdict)};
    return false;
}

/// A proxy is not judged: where it is to connect to was.
bool Transfer::may_go_to(const std::optional<IpAddress>& address, std::uint16_t port) {
    return !request_.egress || !request_.proxy.empty() || is_allowed(address, port);
}

/// What is judged here is what is connected to: no name is looked up again.
curl_socket_t Transfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(self);
    const Peer peer = peer_of(address->addr);
    if (!transfer.may_go_to(peer.address, peer.port)) return CURL_SOCKET_BAD;
    const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (made < 0) {
        transfer.stopped_ = std::string{"no socket: "} + std::strerror(errno);
    } else {
        transfer.multi_.opened(made);
    }
    // Also when one that was kept has ended without an answer: it connects anew.
    transfer.ready_ = {};
    transfer.connected_ = {};
    return made;
}

/// Of a connection, maybe long after the request that it was made for.
int Transfer::on_close(void* multi, curl_socket_t socket) {
    static_cast<Multi*>(multi)->closed(socket);
    return ::close(socket);
}

/// Also of a connection that was kept: what is allowed may have changed since it was made.
int Transfer::on_connection(void* self, char* peer, char*, int peer_port, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.result_.address = peer;
    transfer.ready_ = system_clock().now() - transfer.begun_;
    // When a kept connection ends without an answer libcurl sends again, on the next one that is kept, up to five times:
    // once is enough, on a new one.
    ::curl_easy_setopt(transfer.handle(), CURLOPT_FRESH_CONNECT, 1L);
    const bool may = transfer.may_go_to(parse_ip(peer), static_cast<std::uint16_t>(peer_port));
    return may ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/// TCP is done: from here the time for connecting must not end it any more.
CURLcode Transfer::on_handshake(CURL* easy, void* context, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.connected_ = system_clock().now() - transfer.begun_;
    ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, transfer.milliseconds_in_all());
    const bool is_anybody = transfer.certified_.empty();
    return is_anybody || expect_name(context, transfer.certified_) ? CURLE_OK
                                                                   : CURLE_SSL_CONNECT_ERROR;
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t bytes = size * count;
    const std::size_t room = static_cast<std::size_t>(transfer.request_.response_bytes_max) -
                             transfer.result_.body.size();
    transfer.result_.body.append(data, std::min(bytes, room));
    transfer.result_.body_bytes += bytes;
    if (bytes <= room) return bytes;
    transfer.stopped_ = "the answer's body has more than " +
                        detail::grouped(transfer.request_.response_bytes_max) + " bytes";
    return 0;
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
    const std::string_view line{data, size * count};
    return static_cast<Transfer*>(self)->take_header(line) ? line.size() : 0;
}

bool Transfer::take_header(std::string_view line) {
    if (header_bytes_ == 0) first_byte_ = system_clock().now() - begun_;
    header_bytes_ += line.size();
    if (header_bytes_ > kHeaderBytes) {
        stopped_ = too_many_headers();
        return false;
    }
    if (answered_) return true;  // a trailer
    if (line == "\r\n" || line == "\n") {
        end_headers();
        if (interim_answers_ <= kInterimAnswers) return true;
        stopped_ = "more than " + std::to_string(kInterimAnswers) + " interim answers";
        return false;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || result_.headers.size() >= kHeaders) return true;
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    const std::size_t to = line.find_last_not_of(" \t\r\n");
    result_.headers.add(std::string{line.substr(0, colon)},
                        from == std::string_view::npos || to < from
                            ? std::string{}
                            : std::string{line.substr(from, to - from + 1)});
    return true;
}

void Transfer::end_headers() {
    long status = 0;
    ::curl_easy_getinfo(easy_.handle.get(), CURLINFO_RESPONSE_CODE, &status);
    constexpr long kSwitching = 101;  // which nobody asked for: it is the last we hear
    if (status >= 200 || status == kSwitching) {
        result_.status = static_cast<unsigned>(status);
        answered_ = true;
        return;
    }
    ++interim_answers_;
    result_.headers = {};
}

/// libcurl has moments of its own, but says when TCP was done only after TLS, takes the beginning of a long body's way for
/// the first byte of its answer, and those of a handle's last request for those of the next until that one begins.
Progress Transfer::progress() const {
    return {.name = named_,
            .connected = connected_ > Duration{} ? connected_ : ready_,
            .ready = ready_,
            .first_byte = first_byte_};
}

Look Transfer::look(LocalTime now) const {
    return http_out::look(request_.deadlines, progress(), now - begun_);
}

Result Transfer::end(Failure failure, std::string error, LocalTime now) {
    const Progress way = progress();
    result_.timings = timings_of(way, now - begun_);
    result_.phase = phase_of(way);
    long connections = 0;
    ::curl_easy_getinfo(easy_.handle.get(), CURLINFO_NUM_CONNECTS, &connections);
    if (connections == 0) result_.timings.connect = {};
    if (answered_) {
        // What it said stands: asking again because its body was slow would deliver twice.
        result_.cut = failure != Failure::none;
        if (!result_.cut) result_.phase = Phase::done;
        long version = 0;
        ::curl_easy_getinfo(easy_.handle.get(), CURLINFO_HTTP_VERSION, &version);
        result_.http_version = version_text(version);
    } else {
        result_.failure = failure;
        result_.headers = {};
    }
    if (result_.verdict == Verdict::allowed) result_.error = std::move(error);
    return std::move(result_);
}

Result Transfer::finish(CURLcode code, LocalTime now) {
    if (code == CURLE_OK) {
        if (answered_) return end(Failure::none, {}, now);
        return end(Failure::http, "the connection ended before an answer", now);
    }
    if (result_.verdict != Verdict::allowed) return end(Failure::blocked, {}, now);
    if (code == CURLE_OPERATION_TIMEDOUT) return give_up(request_.deadlines.connect, now);
    long tunnel = 0;
    ::curl_easy_getinfo(easy_.handle.get(), CURLINFO_HTTP_CONNECTCODE, &tunnel);
    if (tunnel >= 300 && !answered_) {
        return end(Failure::connect, "the proxy answered " + std::to_string(tunnel), now);
    }
    // A single line of an answer that is longer than libcurl's own limit, which is above ours: it says "Out of memory".
    if (code == CURLE_OUT_OF_MEMORY && ready_ > Duration{} && !answered_) {
        stopped_ = too_many_headers();
    }
    if (!stopped_.empty()) return end(failure_of(code), stopped_, now);
    const bool is_told = error_.front() != '\0';
    return end(failure_of(code), is_told ? error_.data() : ::curl_easy_strerror(code), now);
}

Result Transfer::give_up(Duration limit, LocalTime now) {
    leave_connection();
    return end(Failure::timeout, timed_out(phase_of(progress()), limit), now);
}

Result Transfer::cancel(LocalTime now) {
    leave_connection();
    return end(Failure::cancelled, "cancelled", now);
}

/// Also in HTTP/2, where an unfinished answer alone would not end it: it may hang for the next one, too.
void Transfer::leave_connection() {
    ::curl_easy_setopt(easy_.handle.get(), CURLOPT_FORBID_REUSE, 1L);
}

}  // namespace waybill::http_out
