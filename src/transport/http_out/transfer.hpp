#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "transport/http_out/deadlines.hpp"
#include "transport/http_out/http_out.hpp"
#include "transport/http_out/multi.hpp"
#include "transport/http_out/resolver.hpp"
#include "transport/http_out/sent_headers.hpp"
#include "transport/http_out/url.hpp"

namespace waybill::http_out {

/// A handle of libcurl. Making one costs more than using one again, and telling it what it knows costs, too.
struct Easy {
    /// What it was told that also holds for other requests.
    struct Told {
        std::string method{};
        Tls tls{};
        std::string proxy{};
        bool http2 = false;
        bool has_name = false;

        bool operator==(const Told&) const = default;
    };

    std::unique_ptr<CURL, void (*)(CURL*)> handle;
    std::optional<Told> told{};
};
Easy make_easy();

/// One request on its way through libcurl.
///
/// Thread safety: one thread.
/// Lifetime:      outlives the use of its handle.
class Transfer {
public:
    Transfer(Easy easy, Request request, OnResult on_result, std::uint64_t number,
             const HttpOutOptions& options, const std::optional<UrlParts>& parts, Multi& multi,
             LocalTime begun);
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    CURL* handle() { return easy_.handle.get(); }
    std::uint64_t number() const { return number_; }
    /// Requests to the same place have the same.
    std::size_t host() const { return host_; }
    LocalTime begun() const { return begun_; }

    /// Why it must not even begin; nothing when it may.
    std::optional<Result> refusal(const std::optional<UrlParts>& parts);
    /// What has to be looked up first. Empty: nothing.
    const std::string& name() const { return name_; }
    /// They are judged, and no others are connected to. A result: one of them is refused, or there are none.
    std::optional<Result> take_addresses(const Found& found, LocalTime now);
    /// It ended so, but not for good: it is to be given to libcurl again.
    bool goes_on(CURLcode code, LocalTime now);
    Look look(LocalTime now) const;

    /// What became of it, in one of three ways; it is not touched again.
    Result finish(CURLcode code, LocalTime now);
    Result give_up(Duration limit, LocalTime now);
    Result cancel(LocalTime now);
    void answer(Result result) { on_result_(std::move(result)); }
    /// For the next one.
    Easy take_handle();

private:
    static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
    static int on_close(void* multi, curl_socket_t socket);
    static int on_connection(void* self, char* peer, char* own, int peer_port, int own_port);
    static CURLcode on_handshake(CURL* easy, void* context, void* self);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);

    void set_request();
    void set_common(const HttpOutOptions& options);
    void set_tls();
    void set_way();
    void set_listener();
    void prepare(LocalTime now);
    long milliseconds_in_all() const;
    bool is_allowed(const std::optional<IpAddress>& address, std::uint16_t port);
    bool may_go_to(const std::optional<IpAddress>& address, std::uint16_t port);
    bool take_header(std::string_view line);
    void end_headers();
    void leave_connection();
    Progress progress() const;
    Result end(Failure failure, std::string error, LocalTime now);

    Request request_;
    OnResult on_result_;
    std::uint64_t number_;
    LocalTime begun_;
    Multi& multi_;
    std::string name_{};
    /// Whom a certificate has to name. Empty: there is no TLS, or a key was agreed on.
    std::string certified_{};
    std::uint16_t port_ = 0;
    std::size_t host_ = 0;
    /// How long its name took; 0: it is being looked up.
    Duration named_{};
    /// TCP is done, and TLS begins.
    Duration connected_{};
    /// The request goes out.
    Duration ready_{};
    Duration first_byte_{};
    Easy easy_;
    SentHeaders headers_;
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> pinned_;
    std::vector<IpAddress> addresses_{};
    std::size_t tried_ = 0;
    Result result_{};
    std::array<char, CURL_ERROR_SIZE> error_{};
    /// Why we stopped reading. Empty: we did not.
    std::string stopped_{};
    std::size_t header_bytes_ = 0;
    int interim_answers_ = 0;
    /// The final status and its headers are here.
    bool answered_ = false;
};

}  // namespace waybill::http_out
