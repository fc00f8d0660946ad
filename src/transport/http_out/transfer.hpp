#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "transport/http_out/deadlines.hpp"
#include "transport/http_out/http_out.hpp"

namespace waybill::http_out {

/// One request on its way through libcurl.
///
/// Thread safety: one thread.
/// Lifetime:      outlives the use of its handle.
class Transfer {
public:
    Transfer(Request request, OnResult on_result, std::uint64_t number,
             const HttpOutOptions& options, LocalTime begun);
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    CURL* handle() { return easy_.get(); }
    std::uint64_t number() const { return number_; }
    LocalTime begun() const { return begun_; }

    /// Why it must not even begin; nothing when it may.
    std::optional<Result> refusal();
    Look look(LocalTime now) const;

    /// What became of it, in one of three ways; it is not touched again.
    Result finish(CURLcode code, LocalTime now);
    Result give_up(Duration limit, LocalTime now);
    Result cancel(LocalTime now);
    void answer(Result result) { on_result_(std::move(result)); }

private:
    static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
    static int on_connection(void* self, char* peer, char* own, int peer_port, int own_port);
    static CURLcode on_handshake(CURL* easy, void* context, void* self);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);

    void set_request();
    void set_tls();
    void set_way();
    void set_answer();
    bool may_go_to(const std::optional<IpAddress>& address, std::uint16_t port);
    bool take_header(std::string_view line);
    void end_headers();
    Progress progress() const;
    Result end(Failure failure, std::string error, LocalTime now);

    Request request_;
    OnResult on_result_;
    std::uint64_t number_;
    LocalTime begun_;
    std::unique_ptr<CURL, void (*)(CURL*)> easy_;
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> list_;
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
