#include "support/tls_client.hpp"

#include <array>
#include <csignal>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace waybill::test {

TlsClient::TlsClient(std::uint16_t port, int version, const std::string& host)
    : tcp_(port), context_(SSL_CTX_new(TLS_client_method())) {
    // OpenSSL writes to sockets that the other end has left.
    std::signal(SIGPIPE, SIG_IGN);
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_security_level(context_, 0);
    ssl_ = SSL_new(context_);
    if (!host.empty()) {
        // What SSL_set_tlsext_host_name() does, which casts as C does.
        std::string name = host;
        SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    }
    SSL_set_fd(ssl_, tcp_.descriptor());
    connected_ = SSL_connect(ssl_) == 1;
    ERR_clear_error();
}

TlsClient::~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
}

long TlsClient::serial() const {
    const X509* const shown = SSL_get0_peer_certificate(ssl_);
    return shown == nullptr ? 0 : ASN1_INTEGER_get(X509_get0_serialNumber(shown));
}

bool TlsClient::send(std::string_view text) {
    const int size = static_cast<int>(text.size());
    const bool sent = SSL_write(ssl_, text.data(), size) == size;
    ERR_clear_error();
    return sent;
}

std::string TlsClient::ask(std::string_view text, std::string_view until) {
    if (!text.empty()) send(text);
    std::string answer;
    std::array<char, 4096> buffer{};
    while (answer.find(until) == std::string::npos) {
        const int size = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
        if (size <= 0) break;
        answer.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ERR_clear_error();
    return answer;
}

bool TlsClient::renegotiate() {
    const bool done = SSL_renegotiate(ssl_) == 1 && SSL_do_handshake(ssl_) == 1;
    ERR_clear_error();
    return done;
}

void TlsClient::cut() {
    tcp_.finish_sending();
}

bool TlsClient::ends() {
    return tcp_.ends();
}

}  // namespace waybill::test
