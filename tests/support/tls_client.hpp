#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/http_client.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace waybill::test {

/// A client of this host that speaks one version of TLS and believes any certificate.
///
/// Thread safety: none.
class TlsClient {
public:
    static constexpr int tls_1_0 = 0x0301;
    static constexpr int tls_1_1 = 0x0302;
    static constexpr int tls_1_2 = 0x0303;
    static constexpr int tls_1_3 = 0x0304;

    /// `host`: the name it asks for; empty: none.
    explicit TlsClient(std::uint16_t port, int version = tls_1_3, const std::string& host = {});
    ~TlsClient();
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    bool connected() const { return connected_; }
    /// Of the certificate it was shown.
    long serial() const;
    bool send(std::string_view text);
    /// Sends it and reads up to `until`, or to the end.
    std::string ask(std::string_view text, std::string_view until);
    /// Asks for new keys of the same connection, as TLS 1.2 can. False: refused.
    bool renegotiate();
    /// Ends the connection as it is, without the closing message of TLS.
    void cut();
    bool ends();

private:
    HttpClient tcp_;
    ssl_ctx_st* context_;
    ssl_st* ssl_ = nullptr;
    bool connected_ = false;
};

}  // namespace waybill::test
