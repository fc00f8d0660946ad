/// Receivers that mean it ill, from the message that is published to the attempt that is written down: exactly that.

#include "server/hostile_receivers.hpp"

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deliver/judge.hpp"
#include "support/certificate.hpp"
#include "support/gzip.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/signing.hpp"

namespace waybill::test {
namespace {

using std::chrono::milliseconds;

/// A machine that stalls must not move them from one step to the next.
constexpr milliseconds kShort{3'000};

Receiver::Serve after_request(std::string answer) {
    return [answer = std::move(answer)](Connection& connection) {
        connection.request();
        connection.send(answer);
    };
}

/// `first`, then `again` for as long as it is taken.
Receiver::Serve endless(std::string first, std::string again) {
    return [first = std::move(first), again = std::move(again)](Connection& connection) {
        connection.request();
        connection.send(first);
        while (connection.send(again)) continue;
    };
}

/// `first`, then a byte now and then.
Receiver::Serve drip(std::string first) {
    return [first = std::move(first)](Connection& connection) {
        connection.request();
        connection.send(first);
        while (!connection.ends_within(milliseconds{50}) && connection.send("x")) continue;
    };
}

/// Of an answer: its body, and what became of it.
struct Rest {
    std::string error{};
    std::string body = R"("body":"")";
    std::string bytes = "0";
    bool cut = false;
};
std::string answer(int status, const std::string& headers, const Rest& rest) {
    return R"({"status":)" + std::to_string(status) +
           (rest.error.empty() ? "" : R"(,"error":")" + rest.error + "\"") +
           R"(,"address":"127.0.0.1","http":"1.1","headers":)" + headers + "," + rest.body +
           R"(,"body_bytes":)" + rest.bytes + (rest.cut ? R"(,"cut":true})" : "}");
}
std::string redirected(const std::string& place) {
    return answer(307, R"({"Location":")" + place + R"(","Content-Length":"0"})", {});
}

const Rest kDripped{.error = "timed out while reading the answer, after 3 s",
                    .body = R"("body":"DRIPPED")",
                    .bytes = "\"MANY\"",
                    .cut = true};
const Rest kHalf{.error = "ERROR", .body = R"("body":"half")", .bytes = "4", .cut = true};
const std::string kNoAnswer =
    R"({"failure":"timeout","phase":"first-byte","error":"timed out while waiting for the answer, after 3 s","address":"127.0.0.1"})";
const std::string kNoHttp =
    R"({"failure":"http","phase":"first-byte","error":"ERROR","address":"127.0.0.1"})";
const std::string kRefused = R"({"failure":"tls","phase":"tls","error":"ERROR"})";

void hang(Connection& connection) {
    connection.request();
    connection.hang();
}

TEST(HostileReceivers, ThoseThatTakeTheirTimeAreRecordedWithTheStepThatTookIt) {
    expect_records({
        {.name = "accepts and hangs", .serve = hang, .detail = kNoAnswer, .timeout = kShort},
        {.name = "does not even read",
         .serve = [](Connection& connection) { connection.hang(); },
         .detail = kNoAnswer,
         .timeout = kShort},
        {.name = "drips its headers",
         .serve = drip("HTTP/1.1 200 OK\r\nX-Drip: "),
         .detail =
             R"({"failure":"timeout","phase":"answer","error":"timed out while reading the answer, after 3 s","address":"127.0.0.1"})",
         .timeout = kShort},
        {.name = "drips its body: that is an answer",
         .serve = drip("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nX-One: 1\r\n\r\n"),
         .result = "done",
         .detail = answer(200, R"({"Content-Length":"1000000","X-One":"1"})", kDripped),
         .length_varies = true,
         .timeout = kShort},
        {.name = "drips its refusal",
         .serve = drip("HTTP/1.1 500 No\r\n\r\n"),
         .detail = answer(500, "{}", kDripped),
         .length_varies = true,
         .timeout = kShort},
    });
}

TEST(HostileReceivers, ThoseThatSendTooMuchAreRecordedUpToTheLimit) {
    const std::string block(10'000, 'x');
    const std::string bomb = compressed(std::string(20 << 20, '\0'));
    std::string two_hundred;
    std::string a_hundred;
    for (int i = 0; i < 200; ++i) {
        two_hundred += "X-" + std::to_string(i) + ": y\r\n";
        if (i < 100) a_hundred += (i == 0 ? "\"X-" : ",\"X-") + std::to_string(i) + R"(":"y")";
    }
    const Rest too_long{.error = "the answer's body has more than 65,536 bytes",
                        .body = R"("body":")" + std::string(deliver::logged_body_max, 'x') + "\"",
                        .bytes = "\"MANY\"",
                        .cut = true};
    expect_records({
        {.name = "a body without end",
         .serve = endless("HTTP/1.1 200 OK\r\n\r\n", block),
         .result = "done",
         .detail = answer(200, "{}", too_long),
         .length_varies = true},
        {.name = "ten gigabytes",
         .serve = endless("HTTP/1.1 500 No\r\nContent-Length: 10000000000\r\n\r\n", block),
         .detail = answer(500, R"({"Content-Length":"10000000000"})", too_long),
         .length_varies = true},
        {.name = "a gzip bomb",
         .serve = after_request(http_answer(200, bomb, "Content-Encoding: gzip\r\n")),
         .result = "done",
         .detail =
             answer(200,
                    R"({"Content-Encoding":"gzip","Content-Length":")" +
                        std::to_string(bomb.size()) + "\"}",
                    {.body = R"("body_base64":")" +
                             signing::to_base64(bomb.substr(0, deliver::logged_body_max)) + "\"",
                     .bytes = std::to_string(bomb.size()),
                     .cut = true})},
        {.name = "a megabyte of headers",
         .serve = endless("HTTP/1.1 200 OK\r\n", "X-Header: " + std::string(1'000, 'x') + "\r\n"),
         .detail =
             R"({"failure":"http","phase":"answer","error":"the answer has more than 32,768 bytes of headers","address":"127.0.0.1"})"},
        {.name = "one header of a megabyte",
         .serve = endless("HTTP/1.1 200 OK\r\nX-Header: ", std::string(1'000, 'x')),
         .detail =
             R"({"failure":"http","phase":"answer","error":"the answer has more than 32,768 bytes of headers","address":"127.0.0.1"})"},
        {.name = "two hundred headers",
         .serve = after_request(http_answer(200, {}, two_hundred)),
         .result = "done",
         .detail = answer(200, "{" + a_hundred + "}", {})},
        {.name = "interim answers without end",
         .serve = endless({}, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"),
         .detail =
             R"({"failure":"http","phase":"answer","error":"more than 16 interim answers","address":"127.0.0.1"})"},
    });
}

TEST(HostileReceivers, ThoseThatSayWhatIsNoAnswerAreRecordedWithWhatTheySaid) {
    expect_records({
        {.name = "100, then an answer",
         .serve = after_request("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n" +
                                http_answer(201, "made", "X-Final: 1\r\n")),
         .result = "done",
         .detail = answer(201, R"({"X-Final":"1","Content-Length":"4"})",
                          {.body = R"("body":"made")", .bytes = "4"})},
        {.name = "100 only",
         .serve = after_request("HTTP/1.1 100 Continue\r\n\r\n"),
         .detail = R"({"failure":"http","phase":"answer","error":"ERROR","address":"127.0.0.1"})",
         .says = "Empty reply"},
        {.name = "101",
         .serve = after_request("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
         .detail = answer(101, R"({"Upgrade":"x"})", {.error = "ERROR", .cut = true}),
         .says = "Empty reply"},
        {.name = "mail",
         .serve = after_request("220 mail.example ESMTP\r\n"),
         .detail = kNoHttp,
         .says = "HTTP/0.9"},
        {.name = "a page without a head",
         .serve = after_request("<html>"),
         .detail = kNoHttp,
         .says = "HTTP/0.9"},
        {.name = "HTTP/9.9",
         .serve = after_request("HTTP/9.9 200 OK\r\n\r\n"),
         .detail = kNoHttp,
         .says = "Unsupported HTTP version"},
        {.name = "no status",
         .serve = after_request("HTTP/1.1 OK\r\n\r\n"),
         .detail = kNoHttp,
         .says = "Unsupported HTTP version"},
        {.name = "empty lines",
         .serve = after_request("\r\n\r\n\r\n"),
         .detail = kNoHttp,
         .says = "HTTP/0.9"},
    });
}

TEST(HostileReceivers, ThoseThatGoAreRecordedWithHowFarTheyCame) {
    expect_records({
        {.name = "ends when it has our body",
         .serve = [](Connection& connection) { connection.request(); },
         .detail = kNoHttp,
         .says = "Empty reply"},
        {.name = "resets when it has our body",
         .serve =
             [](Connection& connection) {
                 connection.request();
                 connection.reset();
             },
         .detail = kNoHttp,
         .says = "reset by peer"},
        {.name = "goes in its headers",
         .serve = after_request("HTTP/1.1 200 OK\r\nX-One: 1\r\n"),
         .detail =
             R"({"failure":"http","phase":"answer","error":"the connection ended before an answer","address":"127.0.0.1"})"},
        {.name = "goes in its body",
         .serve = after_request("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
         .result = "done",
         .detail = answer(200, R"({"Content-Length":"10"})", kHalf),
         .says = "6 bytes remaining"},
        {.name = "breaks a chunk",
         .serve = after_request(
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"),
         .result = "done",
         .detail = answer(200, R"({"Transfer-Encoding":"chunked"})", kHalf),
         .says = "chunk"},
    });
}

TEST(HostileReceivers, ThoseThatSendUsElsewhereAreRecordedAndNotFollowed) {
    Receiver canary{always(http_answer(200))};
    const auto redirect = [](const std::string& place) {
        return always(http_answer(307, {}, "Location: " + place + "\r\n"));
    };
    expect_records({
        {.name = "for ever", .serve = redirect("/in"), .detail = redirected("/in")},
        {.name = "to loopback",
         .serve = redirect(canary.url()),
         .detail = redirected(canary.url())},
        {.name = "to a file",
         .serve = redirect("file:///etc/passwd"),
         .detail = redirected("file:///etc/passwd")},
    });
    EXPECT_EQ(canary.connections(), 0);
}

/// Certificates that must not be believed, each trusted as far as its key goes, but for the one that nobody knows.
class HostileCertificates : public testing::Test {
protected:
    ReceiverOptions shows(const CertificateOptions& certificate, bool is_trusted = true) {
        const std::string name = folder_.file(std::to_string(++count_));
        const CertificateFiles files{name + ".pem", name + ".key"};
        write_certificate(files, certificate);
        if (is_trusted) {
            std::ofstream{ca_, std::ios::app} << std::ifstream{files.certificate}.rdbuf();
        }
        return {.certificate = files};
    }
    ReceiverOptions speaks_only(int version) {
        ReceiverOptions options = shows({.other_names = "IP:127.0.0.1"});
        options.tls_version_max = version;
        return options;
    }

    TemporaryFolder folder_;
    const std::string ca_ = folder_.file("ca.pem");
    int count_ = 0;
};

TEST_F(HostileCertificates, EachIsRefusedBeforeOurRequestAndTheReasonsAreToldApart) {
    std::atomic<int> requests = 0;
    const auto served = [&](Connection& connection) {
        if (connection.request().empty()) return;
        ++requests;
        connection.send(http_answer(200));
    };
    ReceiverOptions silent = shows({});
    silent.silent = true;
    expect_records(
        {
            {.name = "hangs in the handshake",
             .serve = served,
             .detail =
                 R"({"failure":"timeout","phase":"tls","error":"timed out in the TLS handshake, after 3 s"})",
             .options = silent,
             .timeout = kShort},
            {.name = "speaks no TLS",
             .serve = [](Connection& connection) { connection.send("220 mail.example\r\n"); },
             .detail = kRefused,
             .says = "wrong version number",
             .scheme = "https"},
            {.name = "signed itself",
             .serve = served,
             .detail = kRefused,
             .says = "self-signed certificate",
             .options = shows({.other_names = "IP:127.0.0.1"}, false)},
            {.name = "has expired",
             .serve = served,
             .detail = kRefused,
             .says = "certificate has expired",
             .options = shows({.seconds_valid = -60, .other_names = "IP:127.0.0.1"})},
            {.name = "of another host",
             .serve = served,
             .detail = kRefused,
             .says = "IP address mismatch",
             .options = shows({.other_names = "IP:127.0.0.2,DNS:a.example"})},
            {.name = "TLS 1.0",
             .serve = served,
             .detail = kRefused,
             .says = "protocol version",
             .options = speaks_only(0x0301)},
            {.name = "TLS 1.1",
             .serve = served,
             .detail = kRefused,
             .says = "protocol version",
             .options = speaks_only(0x0302)},
        },
        ca_);
    EXPECT_EQ(requests, 0);
}

}  // namespace
}  // namespace waybill::test
