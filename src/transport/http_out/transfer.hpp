#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <curl/curl.h>

#include "transport/http_out/http_out.hpp"

namespace waybill::http_out {

/// One request on its way through libcurl.
///
/// Thread safety: one thread.
/// Lifetime:      outlives the use of its handle.
class Transfer {
public:
    Transfer(Request request, OnResult on_result, std::uint64_t number);

    CURL* handle() { return easy_.get(); }
    std::uint64_t number() const { return number_; }
    /// What became of it; it is not touched again.
    Result finish(CURLcode code);
    void answer(Result result) { on_result_(std::move(result)); }

private:
    static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
    static int on_connection(void* self, char* peer, char* own, int peer_port, int own_port);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);

    bool may_go_to(const std::optional<IpAddress>& address, std::uint16_t port);

    Request request_;
    OnResult on_result_;
    std::uint64_t number_;
    std::unique_ptr<CURL, void (*)(CURL*)> easy_;
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> list_;
    Result result_{};
    bool full_ = false;
};

}  // namespace waybill::http_out
