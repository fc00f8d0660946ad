#include <atomic>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/asked.hpp"
#include "support/full_queue.hpp"
#include "support/gzip.hpp"
#include "support/receiver.hpp"
#include "support/resident.hpp"
#include "support/temporary_folder.hpp"
#include "transport/http_out/http_out.hpp"

namespace waybill::http_out {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using test::always;
using test::ask;
using test::Connection;
using test::http_answer;
using test::Receiver;
using ::testing::HasSubstr;

/// Nothing here is about being fast: only the deadline that a test is about is short.
constexpr Deadlines kPatient{
    .connect = minutes{2}, .tls = minutes{2}, .first_byte = minutes{2}, .total = minutes{2}};
constexpr milliseconds kShort{500};
constexpr milliseconds kWhole{2'000};

/// The part of a result that is the same every time.
struct Record {
    unsigned status = 0;
    Failure failure = Failure::none;
    Phase phase = Phase::done;
    std::string error{};
    bool cut = false;

    bool operator==(const Record&) const = default;
    friend void PrintTo(const Record& record, std::ostream* out) {
        *out << record.status << " " << name_of(record.failure) << " " << name_of(record.phase)
             << (record.cut ? " cut " : " ") << record.error;
    }
};
Record record_of(const Result& result) {
    EXPECT_EQ(result.verdict, Verdict::allowed);
    return {result.status, result.failure, result.phase, result.error, result.cut};
}

/// Fails without an answer; texts of libcurl are its own affair.
void expect_failure(const Result& result, Failure failure, Phase phase) {
    EXPECT_EQ(result.status, 0U);
    EXPECT_EQ(result.headers.size(), 0U);
    EXPECT_EQ(name_of(result.failure), name_of(failure)) << result.error;
    EXPECT_EQ(name_of(result.phase), name_of(phase)) << result.error;
    EXPECT_NE(result.error, "");
}

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

class Hostile : public ::testing::Test {
protected:
    Result result_of(Receiver& receiver, const Deadlines& deadlines = kPatient) {
        return ask(out_, {.url = receiver.url(), .body = "hello", .deadlines = deadlines});
    }
    static Deadlines with(Duration Deadlines::*which, Duration length) {
        Deadlines deadlines = kPatient;
        deadlines.*which = length;
        return deadlines;
    }

    HttpOut out_{};
};

TEST_F(Hostile, AcceptsAndHangs) {
    Receiver receiver{[](Connection& connection) {
        connection.request();
        connection.hang();
    }};

    EXPECT_EQ(record_of(result_of(receiver, with(&Deadlines::first_byte, kShort))),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::first_byte,
                      .error = "timed out while waiting for the answer, after 500 ms"}));
    EXPECT_EQ(record_of(result_of(receiver, with(&Deadlines::total, kWhole))),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::first_byte,
                      .error = "timed out while waiting for the answer, after 2 s"}));
}

TEST_F(Hostile, DoesNotReadOurBody) {
    Receiver receiver{[](Connection& connection) { connection.hang(); }};
    const std::string body(32 << 20, 'x');

    const Result result = ask(
        out_,
        {.url = receiver.url(), .body = body, .deadlines = with(&Deadlines::first_byte, kShort)});

    EXPECT_EQ(record_of(result),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::first_byte,
                      .error = "timed out while waiting for the answer, after 500 ms"}));
}

TEST_F(Hostile, DoesNotAccept) {
    const test::FullQueue full;

    const Result result =
        ask(out_, {.url = full.url(), .deadlines = with(&Deadlines::connect, kShort)});

    EXPECT_EQ(record_of(result), (Record{.failure = Failure::timeout,
                                         .phase = Phase::connect,
                                         .error = "timed out while connecting, after 500 ms"}));
}

TEST_F(Hostile, DripsItsHeaders) {
    Receiver receiver{[](Connection& connection) {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\nX-Drip: ");
        while (!connection.ends_within(milliseconds{50}) && connection.send("x")) continue;
    }};

    EXPECT_EQ(record_of(result_of(receiver, with(&Deadlines::total, kWhole))),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::answer,
                      .error = "timed out while reading the answer, after 2 s"}));
}

TEST_F(Hostile, DripsItsBodyAndIsAnAnswerAllTheSame) {
    Receiver receiver{[](Connection& connection) {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while (!connection.ends_within(milliseconds{50}) && connection.send("x")) continue;
    }};

    EXPECT_EQ(record_of(result_of(receiver, with(&Deadlines::total, kWhole))),
              (Record{.status = 200,
                      .phase = Phase::answer,
                      .error = "timed out while reading the answer, after 2 s",
                      .cut = true}));
}

TEST_F(Hostile, HasABodyWithoutEnd) {
    Receiver receiver{endless("HTTP/1.1 200 OK\r\n\r\n", std::string(10'000, 'x'))};

    const Result result = result_of(receiver);

    EXPECT_EQ(record_of(result), (Record{.status = 200,
                                         .phase = Phase::answer,
                                         .error = "the answer's body has more than 65,536 bytes",
                                         .cut = true}));
    EXPECT_EQ(result.body, std::string(65'536, 'x'));
    EXPECT_GT(result.body_bytes, 65'536U);
}

TEST_F(Hostile, PromisesTenGigabytes) {
    Receiver receiver{endless("HTTP/1.1 500 No\r\nContent-Length: 10000000000\r\n\r\n",
                              std::string(10'000, 'x'))};

    EXPECT_EQ(record_of(result_of(receiver)),
              (Record{.status = 500,
                      .phase = Phase::answer,
                      .error = "the answer's body has more than 65,536 bytes",
                      .cut = true}));
}

TEST_F(Hostile, SendsAGzipBomb) {
    const std::string bomb = test::compressed(std::string(20 << 20, '\0'));
    Receiver receiver{after_request(http_answer(200, bomb, "Content-Encoding: gzip\r\n"))};

    const Result result =
        ask(out_, {.url = receiver.url(), .deadlines = kPatient, .response_bytes_max = 1 << 20});

    EXPECT_EQ(record_of(result), (Record{.status = 200}));
    EXPECT_EQ(result.body, bomb);
}

TEST_F(Hostile, SendsAMegabyteOfHeaders) {
    Receiver receiver{
        endless("HTTP/1.1 200 OK\r\n", "X-Header: " + std::string(1'000, 'x') + "\r\n")};

    EXPECT_EQ(record_of(result_of(receiver)),
              (Record{.failure = Failure::http,
                      .phase = Phase::answer,
                      .error = "the answer has more than 32,768 bytes of headers"}));
}

TEST_F(Hostile, SendsOneHeaderOfAMegabyte) {
    Receiver receiver{endless("HTTP/1.1 200 OK\r\nX-Header: ", std::string(1'000, 'x'))};

    EXPECT_EQ(record_of(result_of(receiver)),
              (Record{.failure = Failure::http,
                      .phase = Phase::answer,
                      .error = "the answer has more than 32,768 bytes of headers"}));
}

TEST_F(Hostile, SendsAStatusOfAMegabyte) {
    Receiver receiver{endless("HTTP/1.1 200 ", std::string(1'000, 'x'))};

    EXPECT_EQ(record_of(result_of(receiver)),
              (Record{.failure = Failure::http,
                      .phase = Phase::first_byte,
                      .error = "the answer has more than 32,768 bytes of headers"}));
}

TEST_F(Hostile, SendsMoreHeadersThanAnybodyReads) {
    std::string headers;
    for (int i = 0; i < 200; ++i) headers += "X-" + std::to_string(i) + ": y\r\n";
    Receiver receiver{after_request(http_answer(200, {}, headers))};

    const Result result = result_of(receiver);

    EXPECT_EQ(record_of(result), (Record{.status = 200}));
    EXPECT_EQ(result.headers.size(), 100U);
}

TEST_F(Hostile, NeverStopsSayingThatItBegins) {
    Receiver receiver{endless({}, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n")};

    EXPECT_EQ(record_of(result_of(receiver)), (Record{.failure = Failure::http,
                                                      .phase = Phase::answer,
                                                      .error = "more than 16 interim answers"}));
}

TEST_F(Hostile, SaysThatItBeginsAndThenAnswers) {
    Receiver receiver{after_request("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n" +
                                    http_answer(201, "made", "X-Final: 1\r\n"))};

    const Result result = result_of(receiver);

    EXPECT_EQ(record_of(result), (Record{.status = 201}));
    EXPECT_EQ(result.headers.find("X-Interim"), nullptr);
    EXPECT_NE(result.headers.find("X-Final"), nullptr);
}

TEST_F(Hostile, OnlySaysThatItBegins) {
    Receiver receiver{after_request("HTTP/1.1 100 Continue\r\n\r\n")};

    expect_failure(result_of(receiver), Failure::http, Phase::answer);
}

TEST_F(Hostile, WantsAnotherProtocol) {
    Receiver receiver{after_request("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")};

    EXPECT_EQ(result_of(receiver).status, 101U);
}

TEST_F(Hostile, RedirectsForEver) {
    Receiver receiver{always(http_answer(302, {}, "Location: /\r\n"))};

    const Result result = result_of(receiver);

    EXPECT_EQ(record_of(result), (Record{.status = 302}));
    EXPECT_EQ(*result.headers.find("Location"), "/");
    EXPECT_EQ(receiver.connections(), 1);
}

TEST_F(Hostile, RedirectsToWhereWeMayNotGo) {
    Receiver canary{always(http_answer(200))};
    for (const std::string& place :
         {canary.url(), std::string{"file:///etc/passwd"}, std::string{"gopher://127.0.0.1/"}}) {
        Receiver receiver{always(http_answer(307, {}, "Location: " + place + "\r\n"))};

        const Result result = result_of(receiver);

        EXPECT_EQ(record_of(result), (Record{.status = 307}));
        EXPECT_EQ(*result.headers.find("Location"), place);
    }
    EXPECT_EQ(canary.connections(), 0);
}

TEST_F(Hostile, GoesWhenItHasOurBody) {
    Receiver ends{[](Connection& connection) { connection.request(); }};
    Receiver resets{[](Connection& connection) {
        connection.request();
        connection.reset();
    }};

    expect_failure(result_of(ends), Failure::http, Phase::first_byte);
    expect_failure(result_of(resets), Failure::http, Phase::first_byte);
}

TEST_F(Hostile, GoesInTheMiddleOfItsAnswer) {
    Receiver in_headers{after_request("HTTP/1.1 200 OK\r\nX-One: 1\r\n")};
    Receiver in_body{after_request("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")};
    Receiver in_chunk{
        after_request("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n")};

    const Result headers = result_of(in_headers);
    const Result body = result_of(in_body);
    const Result chunk = result_of(in_chunk);

    expect_failure(headers, Failure::http, Phase::answer);
    for (const Result& result : {body, chunk}) {
        EXPECT_EQ(result.status, 200U);
        EXPECT_EQ(result.failure, Failure::none);
        EXPECT_EQ(result.body, "half");
        EXPECT_TRUE(result.cut);
        EXPECT_NE(result.error, "");
    }
}

TEST_F(Hostile, SpeaksNoHttp) {
    for (const char* answer : {"220 mail.example ESMTP\r\n", "<html>", "HTTP/9.9 200 OK\r\n\r\n",
                               "HTTP/1.1 OK\r\n\r\n", "\r\n\r\n\r\n"}) {
        Receiver receiver{after_request(answer)};
        const Result result = result_of(receiver);
        EXPECT_EQ(result.failure, Failure::http) << answer << ": " << result.error;
        EXPECT_EQ(result.status, 0U) << answer;
    }
}

/// Certificates that must not be believed. Nothing of a request may be sent to whoever shows one.
class HostileTls : public Hostile {
protected:
    Result result_with(const test::CertificateOptions& options, bool is_trusted = true,
                       int tls_version_max = 0x0304) {
        const test::TemporaryFolder folder;
        const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
        test::write_certificate(files, options);
        std::atomic<int> requests = 0;
        Receiver receiver{[&](Connection& connection) {
                              if (connection.request().empty()) return;
                              ++requests;
                              connection.send(http_answer(200));
                          },
                          {.certificate = files, .tls_version_max = tls_version_max}};
        Result result =
            ask(out_, {.url = receiver.url(),
                       .body = "hello",
                       .deadlines = kPatient,
                       .tls = {.ca_file = is_trusted ? files.certificate : std::string{}}});
        requests_ = requests;
        return result;
    }
    void expect_refused(const Result& result) {
        expect_failure(result, Failure::tls, Phase::tls);
        EXPECT_EQ(requests_, 0);
    }

    int requests_ = 0;
};

TEST_F(HostileTls, HangsInTheHandshake) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files);
    Receiver receiver{always({}), {.certificate = files, .silent = true}};

    EXPECT_EQ(record_of(result_of(receiver, with(&Deadlines::tls, kShort))),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::tls,
                      .error = "timed out in the TLS handshake, after 500 ms"}));
}

/// A handle of libcurl still knows when its last request was under way.
TEST_F(HostileTls, HangsInTheHandshakeAfterAnotherRequestThatWentWell) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files);
    Receiver healthy{always(http_answer(200))};
    Receiver silent{always({}), {.certificate = files, .silent = true}};

    ASSERT_EQ(result_of(healthy).status, 200U);

    EXPECT_EQ(record_of(result_of(silent, with(&Deadlines::tls, kShort))),
              (Record{.failure = Failure::timeout,
                      .phase = Phase::tls,
                      .error = "timed out in the TLS handshake, after 500 ms"}));
}

TEST_F(HostileTls, SpeaksNoTls) {
    Receiver receiver{[](Connection& connection) { connection.send("220 mail.example\r\n"); }};
    const std::string url = "https" + receiver.url().substr(4);

    expect_failure(ask(out_, {.url = url, .deadlines = kPatient}), Failure::tls, Phase::tls);
}

TEST_F(HostileTls, ShowsACertificateThatIsGood) {
    EXPECT_EQ(result_with({.other_names = "IP:127.0.0.1"}).status, 200U);
    EXPECT_EQ(requests_, 1);
}

TEST_F(HostileTls, ShowsACertificateThatItSignedItself) {
    expect_refused(result_with({.other_names = "IP:127.0.0.1"}, false));
}

TEST_F(HostileTls, ShowsACertificateThatHasExpired) {
    expect_refused(result_with({.seconds_valid = -60, .other_names = "IP:127.0.0.1"}));
}

TEST_F(HostileTls, ShowsACertificateOfAnotherHost) {
    expect_refused(result_with({.other_names = "IP:127.0.0.2,DNS:a.example"}));
    expect_refused(result_with({.host = "127.0.0.2"}));
}

TEST_F(HostileTls, ShowsACertificateThatNamesUsOnlyInItsCommonName) {
    expect_refused(result_with({.host = "127.0.0.1"}));
}

TEST_F(HostileTls, SpeaksOnlyOldTls) {
    expect_refused(result_with({.other_names = "IP:127.0.0.1"}, true, 0x0301));
    expect_refused(result_with({.other_names = "IP:127.0.0.1"}, true, 0x0302));
}

TEST_F(HostileTls, HangsOnOneConnectionOfHttp2AndNotOnTheNext) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files, {.other_names = "IP:127.0.0.1"});
    std::atomic<int> connections = 0;
    Receiver receiver{[&](Connection& connection) {
                          if (connections++ == 0) return connection.hang();
                          test::serve_http2(connection);
                      },
                      {.certificate = files, .http2 = true}};
    const auto ask_it = [&](const Deadlines& deadlines) {
        return ask(out_, {.url = receiver.url(),
                          .body = "hello",
                          .deadlines = deadlines,
                          .tls = {.ca_file = files.certificate}});
    };

    const Result first = ask_it(with(&Deadlines::first_byte, kShort));
    const Result second = ask_it(kPatient);
    const Result third = ask_it(kPatient);

    expect_failure(first, Failure::timeout, Phase::first_byte);
    EXPECT_EQ(second.status, 200U) << second.error;
    EXPECT_EQ(third.status, 200U) << third.error;
    EXPECT_EQ(third.http_version, "2");
    EXPECT_EQ(receiver.connections(), 2);
}

TEST_F(HostileTls, HasAKeyThatWasNotAgreedOn) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files);
    Receiver receiver{always(http_answer(200)), {.certificate = files}};

    const Result result =
        ask(out_, {.url = receiver.url(),
                   .deadlines = kPatient,
                   .tls = {.key_pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}});

    expect_failure(result, Failure::tls, Phase::tls);
}

TEST_F(Hostile, NoneOfThemCostsMemoryThatStays) {
    const std::string block(10'000, 'x');
    Receiver body{endless("HTTP/1.1 200 OK\r\n\r\n", block)};
    Receiver headers{endless("HTTP/1.1 200 OK\r\n", "X-Header: " + block + "\r\n")};
    Receiver interim{endless({}, "HTTP/1.1 103 Early Hints\r\n\r\n")};
    Receiver cuts{
        after_request("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + block.substr(1))};
    Receiver hangs{[](Connection& connection) {
        connection.request();
        connection.hang();
    }};
    const test::FullQueue full;
    const auto round = [&] {
        test::Asked asked;
        for (int i = 0; i < 10; ++i) {
            for (const std::string& url :
                 {body.url(), headers.url(), interim.url(), cuts.url(), hangs.url(), full.url()}) {
                Deadlines deadlines = with(&Deadlines::first_byte, milliseconds{100});
                deadlines.connect = milliseconds{url == full.url() ? 100 : 60'000};
                asked.start(out_, {.url = url, .deadlines = deadlines});
            }
        }
        for (std::size_t i = 0; i < 60; ++i) {
            const Result result = asked.result(i);
            if (i % 6 < 4) continue;
            EXPECT_EQ(name_of(result.failure), name_of(Failure::timeout)) << result.error;
            EXPECT_EQ(name_of(result.phase),
                      name_of(i % 6 == 4 ? Phase::first_byte : Phase::connect));
        }
    };
    for (int i = 0; i < 3; ++i) round();
    const std::uint64_t before = test::resident_bytes();

    for (int i = 0; i < 12; ++i) round();

    // 720 of them; a buffer of 64 KiB that stays for each would be 37 MiB.
    EXPECT_LT(test::resident_bytes(), before + test::memory_that_may_vary);
}

}  // namespace
}  // namespace waybill::http_out
