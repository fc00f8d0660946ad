#include "transport/http_in/tls.hpp"

#include <ctime>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "core/sha256.hpp"
#include "waybill/signing.hpp"

namespace waybill::http_in {
namespace {

namespace ssl = boost::asio::ssl;
using Error = boost::system::error_code;

/// Else OpenSSL would ask at the terminal, and the server would wait there.
int no_password(char*, int, int, void*) {
    return -1;
}

}  // namespace

std::shared_ptr<Tls> read_tls(const TlsFiles& files) {
    auto tls = std::make_shared<Tls>();
    ssl::context& context = tls->context;
    ::SSL_CTX_set_default_passwd_cb(context.native_handle(), no_password);
    Error error;
    context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                            ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                            ssl::context::no_tlsv1_1,
                        error);
    // Most of the memory of a connection that rests.
    ::SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
    if (!error) context.use_certificate_chain_file(files.certificate, error);
    if (error) {
        throw ConfigError{{"tls.cert: cannot use " + files.certificate + ": " + error.message() +
                           "; it must be a PEM file with the certificate chain"}};
    }
    context.use_private_key_file(files.key, ssl::context::pem, error);
    if (error) {
        throw ConfigError{{"tls.key: cannot use " + files.key + ": " + error.message() +
                           "; it must be the PEM file of the certificate's private key, without a "
                           "password"}};
    }
    return tls;
}

std::string key_pin(Tls& tls) {
    const X509* const certificate = ::SSL_CTX_get0_certificate(tls.context.native_handle());
    unsigned char* bytes = nullptr;
    const int size = ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(certificate), &bytes);
    const std::string key{reinterpret_cast<const char*>(bytes),
                          size > 0 ? static_cast<std::size_t>(size) : 0};
    ::OPENSSL_free(bytes);
    return "sha256//" + signing::to_base64(sha256_bytes(key));
}

std::string advice_on(Tls& tls, StoreTime now) {
    const X509* const certificate = ::SSL_CTX_get0_certificate(tls.context.native_handle());
    if (certificate == nullptr) return {};
    std::time_t moment =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    if (::X509_cmp_time(::X509_get0_notAfter(certificate), &moment) < 0) {
        return "the certificate has expired; senders will refuse it";
    }
    if (::X509_cmp_time(::X509_get0_notBefore(certificate), &moment) > 0) {
        return "the certificate is not valid yet; senders will refuse it";
    }
    return {};
}

}  // namespace waybill::http_in
