#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "support/http_client.hpp"
#include "support/temporary_folder.hpp"
#include "transport/http_in/http_in.hpp"

namespace waybill::test {
namespace {

/// A key and its self-signed certificate, as files.
http_in::TlsFiles make_certificate(const TemporaryFolder& folder) {
    http_in::TlsFiles files{folder.file("cert.pem"), folder.file("key.pem")};
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    const std::string host = "localhost";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(host.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
    FILE* out = std::fopen(files.key.c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    out = std::fopen(files.certificate.c_str(), "w");
    PEM_write_X509(out, certificate);
    std::fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

class TlsClient {
public:
    TlsClient(std::uint16_t port, int version)
        : tcp_(port), context_(SSL_CTX_new(TLS_client_method())) {
        SSL_CTX_set_min_proto_version(context_, version);
        SSL_CTX_set_max_proto_version(context_, version);
        SSL_CTX_set_security_level(context_, 0);
        ssl_ = SSL_new(context_);
        SSL_set_fd(ssl_, tcp_.descriptor());
        connected_ = SSL_connect(ssl_) == 1;
        ERR_clear_error();
    }
    ~TlsClient() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    bool connected() const { return connected_; }
    /// Sends it and reads up to `until`, or to the end.
    std::string ask(const std::string& text, const std::string& until) {
        SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
        std::string answer;
        char buffer[4096];
        while (answer.find(until) == std::string::npos) {
            const int size = SSL_read(ssl_, buffer, sizeof buffer);
            if (size <= 0) break;
            answer.append(buffer, static_cast<std::size_t>(size));
        }
        ERR_clear_error();
        return answer;
    }

private:
    HttpClient tcp_;
    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
    bool connected_ = false;
};

class HttpInTls : public testing::Test {
protected:
    TemporaryFolder folder_;
    http_in::HttpIn door_{
        {.port = 0,
         .tls = make_certificate(folder_),
         .tls_deadline = std::chrono::milliseconds{500}},
        [](const HttpRequest& request, const http_in::Reply& reply) {
            reply({.status = 200, .headers = {}, .body = "[" + request.body + "]"});
        }};
};

TEST_F(HttpInTls, RequestsAreServedOneAfterTheOther) {
    TlsClient client{door_.port(), TLS1_3_VERSION};
    ASSERT_TRUE(client.connected());

    const std::string large(60'000, 'x');
    for (const std::string& body : {std::string{"hi"}, large}) {
        const std::string answer = client.ask("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                                                  std::to_string(body.size()) + "\r\n\r\n" + body,
                                              "]");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        EXPECT_TRUE(answer.ends_with("[" + body + "]"));
    }
}

TEST_F(HttpInTls, OldVersionsAreRefused) {
    EXPECT_TRUE((TlsClient{door_.port(), TLS1_2_VERSION}.connected()));
    EXPECT_FALSE((TlsClient{door_.port(), TLS1_1_VERSION}.connected()));
}

TEST_F(HttpInTls, WhoNeverShakesHandsIsSentAway) {
    HttpClient client{door_.port()};
    client.send("\x16");

    EXPECT_TRUE(client.ends());
}

TEST_F(HttpInTls, PlainHttpIsRefusedWithoutHarm) {
    HttpClient{door_.port()}.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    TlsClient client{door_.port(), TLS1_3_VERSION};

    EXPECT_TRUE(client.ask("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "]").ends_with("[]"));
}

}  // namespace
}  // namespace waybill::test
