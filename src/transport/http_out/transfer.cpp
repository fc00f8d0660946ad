#include "transport/http_out/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/wording.hpp"
#include "transport/http_out/failure.hpp"

namespace waybill::http_out {
namespace {

/// Thread-safe, and never undone: libcurl's own advice for programs that use it to their end.
void init_once() {
    static const CURLcode done = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (done != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
}

/// Kept of an answer; more are read and dropped.
constexpr std::size_t kHeaders = 100;
/// Of all headers of an answer, the interim ones' and trailers too.
constexpr std::size_t kHeaderBytes = 32 << 10;
/// "100 Continue", "103 Early Hints"
constexpr int kInterimAnswers = 16;
/// Per transfer and connection: answers are small, and there are thousands of them.
constexpr long kReadBufferBytes = 4 << 10;
constexpr long kUploadBufferBytes = 16 << 10;

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

long milliseconds(Duration duration) {
    return static_cast<long>(
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

/// A line break in a header would be another header.
bool is_clean(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
    });
}

bool has_address(const std::string& url) {
    const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed{::curl_url(), ::curl_url_cleanup};
    char* host = nullptr;
    if (::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
        ::curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
        return false;
    }
    const std::unique_ptr<char, void (*)(void*)> owned{host, ::curl_free};
    const std::string_view text{host};
    return parse_ip(text.starts_with('[') ? text.substr(1, text.size() - 2) : text).has_value();
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

Transfer::Transfer(Request request, OnResult on_result, std::uint64_t number,
                   const HttpOutOptions& options, LocalTime begun)
    : request_(std::move(request)),
      on_result_(std::move(on_result)),
      number_(number),
      begun_(begun),
      easy_((init_once(), ::curl_easy_init()), ::curl_easy_cleanup),
      list_(nullptr, ::curl_slist_free_all) {
    set_request();
    set_tls();
    set_way();
    set_answer();
    ::curl_easy_setopt(
        easy_.get(), CURLOPT_MAXAGE_CONN,
        static_cast<long>(
            std::chrono::ceil<std::chrono::seconds>(options.connection_idle).count()));
}

void Transfer::set_request() {
    CURL* const easy = easy_.get();
    const auto add = [&](const std::string& line) {
        list_.reset(::curl_slist_append(list_.release(), line.c_str()));
    };
    // Without "100-continue" a body is sent at once.
    add("Expect:");
    if (request_.headers.find("Content-Type") == nullptr) add("Content-Type:");
    for (const auto& [name, value] : request_.headers) {
        add(value.empty() ? name + ";" : name + ": " + value);
    }
    ::curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
    ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (request_.method != "GET") {
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                           static_cast<curl_off_t>(request_.body.size()));
        // Null would mean: read it from somewhere else.
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                           request_.body.empty() ? "" : request_.body.data());
    }
    ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list_.get());
    ::curl_easy_setopt(easy, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
    ::curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kUploadBufferBytes);
    ::curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
}

void Transfer::set_tls() {
    CURL* const easy = easy_.get();
    const Tls& tls = request_.tls;
    const auto set = [&](CURLoption option, const std::string& text) {
        if (!text.empty()) ::curl_easy_setopt(easy, option, text.c_str());
    };
    ::curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    // With a folder of certificates beside the file, libcurl would read both anew for every connection.
    ::curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    set(CURLOPT_CAINFO, tls.ca_file);
    set(CURLOPT_SSLCERT, tls.certificate_file);
    set(CURLOPT_SSLKEY, tls.key_file);
    set(CURLOPT_KEYPASSWD, tls.key_password);
    if (!tls.key_pin.empty()) {
        set(CURLOPT_PINNEDPUBLICKEY, tls.key_pin);
        ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    ::curl_easy_setopt(
        easy, CURLOPT_HTTP_VERSION,
        static_cast<long>(request_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
}

/// How it gets there. All deadlines are ours, as libcurl has none of its own for each part; its time for
/// connecting says how long it tries one of several addresses.
void Transfer::set_way() {
    CURL* const easy = easy_.get();
    const auto slack = std::chrono::seconds{1};
    ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                       milliseconds(request_.deadlines.connect + slack));
    ::curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &Transfer::on_handshake);
    ::curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
    ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // A name that is being looked up does not hold up whoever gives it up.
    ::curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    ::curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    if (request_.proxy.empty()) {
        ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    } else {
        ::curl_easy_setopt(easy, CURLOPT_PROXY, request_.proxy.c_str());
        ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
        ::curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
        ::curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    }
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_socket);
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_connection);
    ::curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
}

void Transfer::set_answer() {
    CURL* const easy = easy_.get();
    ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReadBufferBytes);
    ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
}

std::optional<Result> Transfer::refusal() {
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
    const Verdict verdict = judge_url(*request_.egress, request_.url);
    if (verdict == Verdict::allowed) {
        if (request_.proxy.empty() || has_address(request_.url)) return std::nullopt;
        return refuse(Verdict::bad_url, "its addresses are not known before the proxy has them");
    }
    return refuse(verdict, "the URL is " + std::string{name_of(verdict)});
}

bool Transfer::may_go_to(const std::optional<IpAddress>& address, std::uint16_t port) {
    if (!request_.egress || !request_.proxy.empty()) return true;
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
    auto& transfer = *static_cast<Transfer*>(self);
    const Peer peer = peer_of(address->addr);
    if (!transfer.may_go_to(peer.address, peer.port)) return CURL_SOCKET_BAD;
    const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (made < 0) transfer.stopped_ = std::string{"no socket: "} + std::strerror(errno);
    return made;
}

/// Also of a connection that was kept: what is allowed may have changed since it was made.
int Transfer::on_connection(void* self, char* peer, char*, int peer_port, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.result_.address = peer;
    const bool may = transfer.may_go_to(parse_ip(peer), static_cast<std::uint16_t>(peer_port));
    return may ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/// TCP is done: from here the time for connecting must not end it any more.
CURLcode Transfer::on_handshake(CURL* easy, void*, void* self) {
    const auto& transfer = *static_cast<Transfer*>(self);
    ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                       milliseconds(transfer.request_.deadlines.total) + 1'000);
    return CURLE_OK;
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
    header_bytes_ += line.size();
    if (header_bytes_ > kHeaderBytes) {
        stopped_ =
            "the answer has more than " + detail::grouped(kHeaderBytes) + " bytes of headers";
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
    ::curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    constexpr long kSwitching = 101;  // which nobody asked for: it is the last we hear
    if (status >= 200 || status == kSwitching) {
        result_.status = static_cast<unsigned>(status);
        answered_ = true;
        return;
    }
    ++interim_answers_;
    result_.headers = {};
}

Progress Transfer::progress() const {
    const auto moment = [&](CURLINFO which) {
        curl_off_t microseconds = 0;
        ::curl_easy_getinfo(easy_.get(), which, &microseconds);
        return Duration{microseconds};
    };
    return {.name = moment(CURLINFO_NAMELOOKUP_TIME_T),
            .connected = moment(CURLINFO_CONNECT_TIME_T),
            .ready = moment(CURLINFO_PRETRANSFER_TIME_T),
            .first_byte = moment(CURLINFO_STARTTRANSFER_TIME_T)};
}

Look Transfer::look(LocalTime now) const {
    return http_out::look(request_.deadlines, progress(), now - begun_);
}

Result Transfer::end(Failure failure, std::string error, LocalTime now) {
    const Progress way = progress();
    result_.timings = timings_of(way, now - begun_);
    result_.phase = phase_of(way);
    if (answered_) {
        // What it said stands: asking again because its body was slow would deliver twice.
        result_.cut = failure != Failure::none;
        if (!result_.cut) result_.phase = Phase::done;
        long version = 0;
        ::curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
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
    ::curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_CONNECTCODE, &tunnel);
    if (tunnel >= 300 && !answered_) {
        return end(Failure::connect, "the proxy answered " + std::to_string(tunnel), now);
    }
    if (!stopped_.empty()) return end(failure_of(code), stopped_, now);
    const bool is_told = error_.front() != '\0';
    return end(failure_of(code), is_told ? error_.data() : ::curl_easy_strerror(code), now);
}

Result Transfer::give_up(Duration limit, LocalTime now) {
    return end(Failure::timeout, timed_out(phase_of(progress()), limit), now);
}

Result Transfer::cancel(LocalTime now) {
    return end(Failure::cancelled, "cancelled", now);
}

}  // namespace waybill::http_out
