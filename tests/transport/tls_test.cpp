#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include "support/certificate.hpp"
#include "support/http_client.hpp"
#include "support/temporary_folder.hpp"
#include "support/tls_client.hpp"
#include "transport/http_in/http_in.hpp"
#include "waybill/system.hpp"

namespace waybill::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// The beginning of a handshake that announces 16,000 bytes.
constexpr std::string_view kLongHello{"\x16\x03\x01\x3e\x80", 5};

class HttpInTls : public testing::Test {
protected:
    http_in::TlsFiles files(long serial = 1) const {
        http_in::TlsFiles files{folder_.file("cert.pem"), folder_.file("key.pem")};
        write_certificate({files.certificate, files.key}, {.serial = serial});
        return files;
    }
    /// Somebody else is served.
    bool serves() { return TlsClient{door_.port()}.ask(kGet, "]").ends_with("[]"); }

    static constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

    TemporaryFolder folder_;
    std::atomic<int> handled_ = 0;
    http_in::HttpIn door_{
        {.port = 0, .tls = files(), .tls_deadline = milliseconds{500}},
        [this](const HttpRequest& request, const http_in::Reply& reply) {
            ++handled_;
            reply({.status = 200, .headers = {}, .body = "[" + request.body + "]"});
        }};
};

TEST_F(HttpInTls, RequestsAreServedOneAfterTheOther) {
    TlsClient client{door_.port()};
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
    EXPECT_TRUE((TlsClient{door_.port(), TlsClient::tls_1_2}.connected()));
    EXPECT_FALSE((TlsClient{door_.port(), TlsClient::tls_1_1}.connected()));
    EXPECT_FALSE((TlsClient{door_.port(), TlsClient::tls_1_0}.connected()));
}

TEST_F(HttpInTls, WhoNeverShakesHandsIsSentAway) {
    HttpClient client{door_.port()};
    client.send("\x16");

    EXPECT_TRUE(client.ends());
}

TEST_F(HttpInTls, AHandshakeThatDripsHasNoMoreTimeThanAnyOther) {
    HttpClient client{door_.port()};
    client.send(kLongHello);
    // A byte now and then, each well within the deadline, until it is closed.
    int bytes = 0;
    for (pollfd end{.fd = client.descriptor(), .events = POLLIN, .revents = 0};
         ::poll(&end, 1, 20) == 0 && bytes < 10'000; ++bytes) {
        client.send("x");
    }

    EXPECT_LT(bytes, 10'000);
    EXPECT_TRUE(serves());
}

TEST_F(HttpInTls, PlainHttpIsRefusedWithoutHarm) {
    HttpClient client{door_.port()};
    client.send(kGet);

    EXPECT_TRUE(serves());
    EXPECT_EQ(handled_, 1) << "nobody took the plain one";
    EXPECT_EQ(client.read(), std::nullopt);
}

TEST_F(HttpInTls, NobodyNegotiatesAgainWithinAConnection) {
    TlsClient client{door_.port(), TlsClient::tls_1_2};
    ASSERT_TRUE(client.ask(kGet, "]").ends_with("[]"));

    EXPECT_FALSE(client.renegotiate());
    EXPECT_TRUE(serves());
}

TEST_F(HttpInTls, WhoAsksForAnotherNameIsShownTheSameCertificate) {
    TlsClient client{door_.port(), TlsClient::tls_1_3, "somebody.else.example"};

    EXPECT_TRUE(client.connected());
    EXPECT_EQ(client.serial(), 1);
    EXPECT_TRUE(client.ask(kGet, "]").ends_with("[]"));
}

TEST_F(HttpInTls, ABodyThatIsCutOffReachesNobody) {
    TlsClient client{door_.port()};
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    client.cut();
    ASSERT_TRUE(client.ask("", "]").empty());

    EXPECT_TRUE(serves());
    EXPECT_EQ(handled_, 1);
}

TEST_F(HttpInTls, ACompleteRequestIsAnsweredThoughItsSenderSaidNoGoodbye) {
    TlsClient client{door_.port()};
    client.send(kGet);
    client.cut();

    EXPECT_TRUE(client.ask("", "]").ends_with("[]"));
}

TEST_F(HttpInTls, ANewCertificateIsForNewConnections) {
    TlsClient before{door_.port()};
    ASSERT_TRUE(before.ask(kGet, "]").ends_with("[]"));

    door_.set_tls(http_in::read_tls(files(2)));
    TlsClient after{door_.port()};

    EXPECT_EQ(before.serial(), 1);
    EXPECT_EQ(after.serial(), 2);
    EXPECT_TRUE(before.ask(kGet, "]").ends_with("[]"));
    EXPECT_TRUE(after.ask(kGet, "]").ends_with("[]"));
}

TEST_F(HttpInTls, AThousandUnfinishedHandshakesDisturbNobodyAndAreClosed) {
    http_in::HttpIn door{{.port = 0, .tls = files(), .tls_deadline = std::chrono::seconds{5}},
                         [](const HttpRequest&, const http_in::Reply& reply) {
                             reply({.status = 200, .headers = {}, .body = "[]"});
                         }};
    // Both ends of each are in this process.
    rlimit descriptors{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    descriptors.rlim_cur = descriptors.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
    const auto most = std::min<std::size_t>(1'000, descriptors.rlim_max / 3);
    std::vector<HttpClient> many;
    for (std::size_t i = 0; i < most; ++i) {
        many.emplace_back(door.port());
        many.back().send(i % 2 == 0 ? kLongHello : std::string_view{});
    }

    EXPECT_TRUE(TlsClient{door.port()}.ask(kGet, "]").ends_with("[]"));
    for (HttpClient& one : many) EXPECT_TRUE(one.ends());
    EXPECT_TRUE(TlsClient{door.port()}.ask(kGet, "]").ends_with("[]"));
}

std::string problem_with(const http_in::TlsFiles& files) {
    try {
        http_in::read_tls(files);
    } catch (const ConfigError& error) {
        return error.problems().front();
    }
    return {};
}

TEST_F(HttpInTls, FilesThatCannotBeUsedAreRefusedWithTheReason) {
    const http_in::TlsFiles good = files();
    const http_in::TlsFiles other{folder_.file("cert2.pem"), folder_.file("key2.pem")};
    write_certificate({other.certificate, other.key}, {.password = "secret"});

    EXPECT_EQ(problem_with(good), "");
    EXPECT_THAT(problem_with({folder_.file("none"), good.key}),
                testing::AllOf(HasSubstr("tls.cert: cannot use "), HasSubstr("No such file")));
    EXPECT_THAT(problem_with({good.certificate, folder_.file("none")}), HasSubstr("tls.key: "));
    EXPECT_THAT(problem_with({good.key, good.key}), HasSubstr("tls.cert: "));
    EXPECT_THAT(problem_with({good.certificate, good.certificate}), HasSubstr("tls.key: "));
    EXPECT_THAT(problem_with({other.certificate, good.key}),
                testing::AllOf(HasSubstr("tls.key: "), HasSubstr("mismatch")));
    // Nobody is asked for the password at a terminal.
    EXPECT_THAT(problem_with(other),
                testing::AllOf(HasSubstr("tls.key: "), HasSubstr("without a password")));
}

TEST_F(HttpInTls, ACertificateOutOfItsTimeIsToldAbout) {
    const http_in::TlsFiles old{folder_.file("cert2.pem"), folder_.file("key2.pem")};
    write_certificate({old.certificate, old.key}, {.seconds_valid = -60});
    const StoreTime now = system_clock().wall();

    EXPECT_EQ(http_in::advice_on(*http_in::read_tls(files()), now), "");
    EXPECT_THAT(http_in::advice_on(*http_in::read_tls(old), now), HasSubstr("has expired"));
    EXPECT_THAT(http_in::advice_on(*http_in::read_tls(old), now - std::chrono::hours{24}),
                HasSubstr("is not valid yet"));
}

}  // namespace
}  // namespace waybill::test
