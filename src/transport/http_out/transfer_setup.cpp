#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "transport/http_out/transfer.hpp"
#include "transport/http_out/url.hpp"

/// How libcurl is told what to do.
namespace waybill::http_out {
namespace {

/// Thread-safe, and never undone: libcurl's own advice for programs that use it to their end.
void init_once() {
    static const CURLcode done = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (done != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
}

/// Per transfer and connection: answers are small, and there are thousands of them.
constexpr long kReadBufferBytes = 4 << 10;
constexpr long kUploadBufferBytes = 16 << 10;

/// libcurl's own times are there for the worst case: our deadlines come first.
constexpr Duration kSlack = std::chrono::seconds{1};
constexpr Duration kShortestTry = std::chrono::milliseconds{100};

/// libcurl takes 0 for "its own", and no more than fits an int.
long milliseconds(Duration duration) {
    return static_cast<long>(std::clamp<std::int64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(), 1,
        std::numeric_limits<int>::max()));
}

void append(std::unique_ptr<curl_slist, void (*)(curl_slist*)>& list, const std::string& line) {
    list.reset(::curl_slist_append(list.release(), line.c_str()));
}

std::string text_of(const IpAddress& address) {
    return address.is_v4() ? to_string(address) : "[" + to_string(address) + "]";
}

}  // namespace

Easy make_easy() {
    init_once();
    return {.handle = {::curl_easy_init(), ::curl_easy_cleanup}};
}

Transfer::Transfer(Easy easy, Request request, OnResult on_result, std::uint64_t number,
                   const HttpOutOptions& options, const std::optional<UrlParts>& parts,
                   Multi& multi, LocalTime begun)
    : request_(std::move(request)),
      on_result_(std::move(on_result)),
      number_(number),
      begun_(begun),
      multi_(multi),
      easy_(std::move(easy)),
      headers_(request_.headers),
      pinned_(nullptr, ::curl_slist_free_all) {
    if (parts) {
        port_ = parts->port;
        host_ = std::hash<std::string>{}(parts->host) + port_;
        if (parts->scheme == "https" && request_.tls.key_pin.empty()) certified_ = parts->host;
        // With a proxy and nothing to judge by, looking it up is the proxy's affair.
        const bool is_ours = request_.proxy.empty() || request_.egress;
        if (is_ours && !parse_ip(parts->host)) name_ = parts->host;
    }
    Easy::Told wanted{.method = request_.method,
                      .tls = request_.tls,
                      .proxy = request_.proxy,
                      .http2 = request_.http2,
                      .has_name = !name_.empty()};
    if (easy_.told != wanted) {
        ::curl_easy_reset(handle());
        set_common(options);
        easy_.told = std::move(wanted);
    }
    set_request();
    set_listener();
}

/// What the next request of its kind need not be told again.
void Transfer::set_common(const HttpOutOptions& options) {
    CURL* const easy = handle();
    ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    ::curl_easy_setopt(easy, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
    ::curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kUploadBufferBytes);
    ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReadBufferBytes);
    ::curl_easy_setopt(
        easy, CURLOPT_MAXAGE_CONN,
        static_cast<long>(
            std::chrono::ceil<std::chrono::seconds>(options.connection_idle).count()));
    set_tls();
    set_way();
}

void Transfer::set_request() {
    CURL* const easy = handle();
    ::curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
    if (request_.method != "GET") {
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                           static_cast<curl_off_t>(request_.body.size()));
        // Null would mean: read it from somewhere else.
        ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                           request_.body.empty() ? "" : request_.body.data());
    }
    ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.list());
    // Of the request before it.
    ::curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 0L);
    ::curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 0L);
}

void Transfer::set_tls() {
    CURL* const easy = handle();
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

/// How it gets there. All deadlines are ours: libcurl has none for each part.
void Transfer::set_way() {
    CURL* const easy = handle();
    ::curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &Transfer::on_handshake);
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
    ::curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Transfer::on_close);
    ::curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &multi_);
    ::curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_connection);
    ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
}

/// Who hears of it.
void Transfer::set_listener() {
    CURL* const easy = handle();
    for (const CURLoption whose : {CURLOPT_PRIVATE, CURLOPT_SSL_CTX_DATA, CURLOPT_OPENSOCKETDATA,
                                   CURLOPT_PREREQDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA}) {
        ::curl_easy_setopt(easy, whose, this);
    }
    ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
}

/// What libcurl gets for its next try. No name is looked up again: it gets an address with it, or one of each
/// family, which it lets race. (It can take a whole list, but 7.88 waits for a timer before it goes on to the next.)
void Transfer::prepare(LocalTime now) {
    CURL* const easy = handle();
    ready_ = {};
    pinned_.reset();
    if (!addresses_.empty() && !request_.proxy.empty()) {
        append(pinned_, "::" + text_of(addresses_.front()) + ":");
        ::curl_easy_setopt(easy, CURLOPT_CONNECT_TO, pinned_.get());
    } else if (!addresses_.empty()) {
        const IpAddress& first = addresses_[tried_++];
        std::string line = "+" + name_ + ":" + std::to_string(port_) + ":" + text_of(first);
        // Nobody is far away here, so that there is nothing to race for.
        const bool is_alone = tried_ == addresses_.size() ||
                              is_loopback_address(to_string(first)) ||
                              addresses_[tried_].is_v4() == first.is_v4();
        if (!is_alone) line += "," + text_of(addresses_[tried_++]);
        append(pinned_, line);
        ::curl_easy_setopt(easy, CURLOPT_RESOLVE, pinned_.get());
    }
    // Who does not answer leaves half of the time to the others.
    const Duration left = std::max(request_.deadlines.connect - (now - begun_), Duration{});
    const bool is_last = addresses_.empty() || tried_ == addresses_.size();
    ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                       milliseconds(is_last ? left + kSlack : std::max(left / 2, kShortestTry)));
}

/// Without what dies with this one. libcurl takes its list of addresses only when it begins, so that of a request that ended
/// before it would still point there, and a reset does not change that.
Easy Transfer::take_handle() {
    if (pinned_) {
        ::curl_easy_setopt(handle(), CURLOPT_RESOLVE, nullptr);
        ::curl_easy_setopt(handle(), CURLOPT_CONNECT_TO, nullptr);
    }
    return std::move(easy_);
}

long Transfer::milliseconds_in_all() const {
    return milliseconds(request_.deadlines.total + kSlack);
}

}  // namespace waybill::http_out
