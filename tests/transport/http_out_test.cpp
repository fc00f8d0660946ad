#include "transport/http_out/http_out.hpp"

#include <array>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/asked.hpp"
#include "support/full_queue.hpp"
#include "support/gate.hpp"
#include "support/receiver.hpp"
#include "support/temporary_folder.hpp"

namespace waybill::http_out {
namespace {

using test::always;
using test::ask;
using test::Asked;
using test::Connection;
using test::http_answer;
using test::Receiver;
using test::Tunnel;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A certificate of 127.0.0.1 that nobody but the test trusts.
class HttpOutTls : public ::testing::Test {
protected:
    HttpOutTls() { test::write_certificate(files_, {.other_names = "IP:127.0.0.1"}); }

    test::TemporaryFolder folder_{};
    test::CertificateFiles files_{folder_.file("c.pem"), folder_.file("k.pem")};
};

TEST(HttpOut, AnAnswerComesWithWhereAndHow) {
    Receiver receiver{always(http_answer(202, "fine", "X-One: 1\r\nX-Empty:\r\n"))};

    const Result result = perform({.url = receiver.url(), .body = "hello"});

    EXPECT_EQ(result.status, 202U);
    EXPECT_EQ(result.body, "fine");
    EXPECT_EQ(result.body_bytes, 4U);
    EXPECT_FALSE(result.cut);
    EXPECT_EQ(*result.headers.find("x-one"), "1");
    EXPECT_EQ(*result.headers.find("x-empty"), "");
    EXPECT_EQ(result.failure, Failure::none);
    EXPECT_EQ(result.phase, Phase::done);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.address, "127.0.0.1");
    EXPECT_EQ(result.http_version, "1.1");
    EXPECT_GT(result.timings.total, Duration{});
    EXPECT_GT(result.timings.connect, Duration{});
    EXPECT_GE(result.timings.total, result.timings.connect + result.timings.first_byte);
}

TEST(HttpOut, ARequestSaysWhatItWasToldAndNothingElse) {
    std::promise<std::string> seen;
    Receiver receiver{[&](Connection& connection) {
        seen.set_value(connection.request());
        connection.send(http_answer(200));
    }};

    perform({.url = receiver.url("/a?b=c"),
             .headers = {{"Content-Type", "text/plain"}, {"X-Empty", ""}},
             .body = "hello"});

    EXPECT_EQ(seen.get_future().get(),
              "POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(receiver.port()) +
                  "\r\nAccept: */*\r\nContent-Type: text/plain\r\nX-Empty:\r\n"
                  "Content-Length: 5\r\n\r\nhello");
}

TEST(HttpOut, AnEmptyBodyIsSentAsOne) {
    Receiver receiver{always(http_answer(200))};

    EXPECT_EQ(perform({.url = receiver.url()}).status, 200U);
}

TEST(HttpOut, ABodyOfMegabytesArrivesWhole) {
    std::promise<std::size_t> seen;
    Receiver receiver{[&](Connection& connection) {
        seen.set_value(connection.request().size());
        connection.send(http_answer(200));
    }};
    const std::string body(5 << 20, 'x');

    EXPECT_EQ(perform({.url = receiver.url(), .body = body}).status, 200U);
    EXPECT_GT(seen.get_future().get(), body.size());
}

TEST(HttpOut, AConnectionIsUsedAgain) {
    Receiver receiver{always(http_answer(200, "a"))};
    HttpOut out;
    for (int i = 0; i < 5; ++i) {
        const Result result = test::ask(out, {.url = receiver.url()});
        EXPECT_EQ(result.status, 200U);
        EXPECT_EQ(result.address, "127.0.0.1");
        EXPECT_EQ(result.phase, Phase::done);
        EXPECT_EQ(result.timings.connect > Duration{}, i == 0);
    }
    EXPECT_EQ(receiver.connections(), 1);
}

/// Whoever looks at it must not think that the receiver was reached.
TEST(HttpOut, WhereAKeptConnectionEndsAndNoOtherIsMadeItWasConnecting) {
    test::FullQueue receiver{test::FullQueue::From::fill};
    HttpOut out;
    Asked asked;
    asked.start(out, {.url = receiver.url()});
    const int socket = receiver.accept();
    Connection connection{socket, nullptr};
    connection.request();
    connection.send(http_answer(200));
    ASSERT_EQ(asked.result(0).status, 200U);
    receiver.fill();

    asked.start(out,
                {.url = receiver.url(), .deadlines = {.connect = std::chrono::milliseconds{500}}});
    connection.request();
    ::close(socket);

    const Result result = asked.result(1);
    EXPECT_EQ(name_of(result.failure), name_of(Failure::timeout));
    EXPECT_EQ(name_of(result.phase), name_of(Phase::connect));
    EXPECT_EQ(result.error, "timed out while connecting, after 500 ms");
}

TEST(HttpOut, RequestsThatHangDoNotCostTheOthersTheirConnections) {
    test::Gate gate;
    Receiver hangs{[&](Connection& connection) {
        connection.request();
        gate.pass();
    }};
    Receiver receiver{always(http_answer(200))};
    HttpOut out{{.connections_kept = 2}};
    Asked asked;
    for (int i = 0; i < 10; ++i) asked.start(out, {.url = hangs.url()});
    ASSERT_TRUE(gate.wait_for_arrivals(10));

    for (int i = 0; i < 5; ++i) EXPECT_EQ(test::ask(out, {.url = receiver.url()}).status, 200U);

    EXPECT_EQ(receiver.connections(), 1);
    gate.open();
}

TEST(HttpOut, ACancelledRequestIsToldOnceAndTheOthersGoOn) {
    test::Gate gate;
    Receiver receiver{[&](Connection& connection) {
        connection.request();
        gate.pass();
        connection.send(http_answer(200));
    }};
    HttpOut out;
    Asked asked;
    const std::uint64_t first = asked.start(out, {.url = receiver.url()});
    asked.start(out, {.url = receiver.url()});
    ASSERT_TRUE(gate.wait_for_arrivals(2));

    out.cancel(first);
    const Result cancelled = asked.result(0);
    out.cancel(first);
    gate.open();

    EXPECT_EQ(cancelled.failure, Failure::cancelled);
    EXPECT_EQ(cancelled.status, 0U);
    EXPECT_EQ(cancelled.phase, Phase::first_byte);
    EXPECT_EQ(asked.result(1).status, 200U);
}

/// Its refusal is known before anything is sent, and nothing else may ever happen.
TEST(HttpOut, WhoIsToldOfARefusalHearsAtOnceThatNoMoreIsAtHand) {
    std::promise<void> told;
    HttpOut out{{.after_results = [&] { told.set_value(); }}};

    out.start({.url = "no url"}, [](const Result&) {});

    EXPECT_EQ(told.get_future().wait_for(std::chrono::seconds{20}), std::future_status::ready);
}

TEST(HttpOut, RequestsThatAreStartedTogetherAreCancelledByTheirOwnNumbers) {
    test::Gate gate;
    Receiver receiver{[&](Connection& connection) {
        connection.request();
        gate.pass();
        connection.send(http_answer(200));
    }};
    std::array<std::promise<Result>, 3> results;
    std::vector<Sending> sendings;
    for (auto& result : results) {
        sendings.push_back(
            {{.url = receiver.url()}, [&](Result of) { result.set_value(std::move(of)); }});
    }
    HttpOut out;

    const std::uint64_t first = out.start(std::move(sendings));
    out.cancel(first + 1);

    EXPECT_EQ(results[1].get_future().get().failure, Failure::cancelled);
    gate.open();
    EXPECT_EQ(results[0].get_future().get().status, 200U);
    EXPECT_EQ(results[2].get_future().get().status, 200U);
}

/// libcurl is no longer told that all others have ended, too.
TEST(HttpOut, OneThatIsCancelledWhileItConnectsDoesNotEndTheOthers) {
    constexpr int kOthers = 100;
    test::Gate gate;
    Receiver receiver{[&](Connection& connection) {
                          connection.request();
                          gate.pass();
                          connection.send(http_answer(200));
                      },
                      {.address = "0.0.0.0"}};
    const test::FullQueue full;
    HttpOut out;
    Asked others;
    Asked connecting;
    for (int i = 1; i <= kOthers; ++i) {
        others.start(out, {.url = "http://127.0.0." + std::to_string(i) + ":" +
                                  std::to_string(receiver.port()) + "/"});
    }
    const std::uint64_t number = connecting.start(out, {.url = full.url()});
    ASSERT_TRUE(gate.wait_for_arrivals(kOthers));

    out.cancel(number);
    EXPECT_EQ(connecting.result().failure, Failure::cancelled);
    gate.open();

    for (std::size_t i = 0; i < kOthers; ++i) {
        const Result result = others.result(i);
        EXPECT_EQ(result.status, 200U) << result.error;
    }
}

TEST(HttpOut, TheEndTellsEverybody) {
    test::Gate gate;
    Receiver receiver{[&](Connection& connection) {
        connection.request();
        gate.pass();
    }};
    Asked asked;
    {
        HttpOut out;
        for (int i = 0; i < 20; ++i) asked.start(out, {.url = receiver.url()});
        ASSERT_TRUE(gate.wait_for_arrivals(20));
    }
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(asked.result(i).failure, Failure::cancelled);
    }
    gate.open();
}

TEST(HttpOut, AnAnswerWhoseBodyStillComesIsNotCancelledButCut) {
    test::Gate gate;
    Receiver receiver{[&](Connection& connection) {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome");
        connection.hang();
    }};
    HttpOut out;
    Asked asked;
    asked.start(out, {.url = receiver.url(), .deadlines = {.total = std::chrono::seconds{2}}});

    const Result result = asked.result();

    EXPECT_EQ(result.status, 200U);
    EXPECT_EQ(result.failure, Failure::none);
    EXPECT_EQ(result.body, "some");
    EXPECT_TRUE(result.cut);
    EXPECT_EQ(result.error, "timed out while reading the answer, after 2 s");
}

TEST(HttpOut, NobodyListens) {
    std::string url;
    {
        const Receiver receiver{always({})};
        url = receiver.url();
    }

    const Result result = perform({.url = url});

    EXPECT_EQ(result.failure, Failure::connect);
    EXPECT_EQ(result.phase, Phase::connect);
    EXPECT_THAT(result.error, HasSubstr("127.0.0.1"));
}

TEST(HttpOut, WhatIsNoUrlOrWouldBeTwoHeadersIsBlocked) {
    for (const char* url : {"", "ftp://a.example/", "http://", "a.example"}) {
        const Result result = perform({.url = url});
        EXPECT_EQ(result.failure, Failure::blocked) << url;
        EXPECT_EQ(result.verdict, Verdict::bad_url) << url;
    }
    const Result result =
        perform({.url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nHost: c"}}});
    EXPECT_EQ(result.failure, Failure::blocked);
    EXPECT_EQ(result.verdict, Verdict::bad_header);
}

/// Handles of libcurl are used again: nothing of one request may be in the next.
TEST(HttpOut, ARequestHasNothingOfTheOneBeforeIt) {
    std::vector<std::string> requests;
    Receiver receiver{[&](Connection& connection) {
        for (std::string request; !(request = connection.request()).empty();) {
            requests.push_back(request);
            connection.send(http_answer(200));
        }
    }};
    HttpOut out;

    const Result first =
        ask(out, {.url = receiver.url("/1"), .headers = {{"X-First", "1"}}, .body = "first"});
    const Result second = ask(out, {.method = "GET", .url = receiver.url("/2")});
    const Result third = ask(out, {.url = receiver.url("/3"), .body = "third"});

    EXPECT_EQ(first.status + second.status + third.status, 600U);
    ASSERT_EQ(requests.size(), 3U);
    EXPECT_THAT(requests[0],
                AllOf(StartsWith("POST /1 "), HasSubstr("X-First: 1"), EndsWith("first")));
    EXPECT_THAT(requests[1], AllOf(StartsWith("GET /2 "), Not(HasSubstr("X-First")),
                                   Not(HasSubstr("Content-Length"))));
    EXPECT_THAT(requests[2], AllOf(StartsWith("POST /3 "), EndsWith("third")));
}

TEST(HttpOut, AProxyIsAskedForATunnelAndSeesNoHeaders) {
    Tunnel proxy;

    const Result result = perform({.url = "http://198.51.100.7:81/x",
                                   .headers = {{"X-Secret", "1"}},
                                   .proxy = "http://me:word@" + proxy.url().substr(7)});

    EXPECT_EQ(result.status, 204U);
    const std::string asked = proxy.asked_for();
    EXPECT_THAT(asked, StartsWith("CONNECT 198.51.100.7:81 HTTP/1.1\r\n"));
    EXPECT_THAT(asked, HasSubstr("Proxy-Authorization: Basic "));
    EXPECT_THAT(asked, Not(HasSubstr("X-Secret")));
    EXPECT_THAT(proxy.passed_on(), StartsWith("POST /x HTTP/1.1\r\n"));
}

TEST(HttpOut, AProxyThatRefusesIsNoAnswerOfTheReceiver) {
    Receiver proxy{always(http_answer(403, "no"))};

    const Result result = perform({.url = "http://198.51.100.7:81/x", .proxy = proxy.url()});

    EXPECT_EQ(result.status, 0U);
    EXPECT_EQ(result.failure, Failure::connect);
    EXPECT_EQ(result.error, "the proxy answered 403");
}

TEST(HttpOut, AProxyDoesNotLeadAroundTheGuard) {
    Receiver proxy{always(http_answer(200))};

    const Result result = perform({.url = "http://169.254.169.254/",
                                   .proxy = proxy.url(),
                                   .egress = std::make_shared<Egress>()});

    EXPECT_EQ(result.failure, Failure::blocked);
    EXPECT_EQ(result.verdict, Verdict::link_local);
    EXPECT_EQ(proxy.connections(), 0);
}

TEST_F(HttpOutTls, Http2IsSpokenWhereBothCan) {
    Receiver receiver{test::serve_http2, {.certificate = files_, .http2 = true}};

    const Result result =
        perform({.url = receiver.url(), .body = "hello", .tls = {.ca_file = files_.certificate}});

    EXPECT_EQ(result.status, 200U) << result.error;
    EXPECT_EQ(result.http_version, "2");
    EXPECT_GT(result.timings.tls, Duration{});
}

TEST_F(HttpOutTls, Http2CanBeTurnedOff) {
    Receiver receiver{always(http_answer(200)), {.certificate = files_}};

    const Result result =
        perform({.url = receiver.url(), .tls = {.ca_file = files_.certificate}, .http2 = false});

    EXPECT_EQ(result.status, 200U) << result.error;
    EXPECT_EQ(result.http_version, "1.1");
}

TEST_F(HttpOutTls, WeShowOurCertificateToWhoeverWantsIt) {
    const test::CertificateFiles ours{folder_.file("our-c.pem"), folder_.file("our-k.pem")};
    test::write_certificate(ours, {.password = "word", .host = "waybill"});
    Receiver receiver{
        always(http_answer(200)),
        {.certificate = files_, .client_ca = ours.certificate, .tls_version_max = 0x0303}};

    const Result with = perform({.url = receiver.url(),
                                 .tls = {.ca_file = files_.certificate,
                                         .certificate_file = ours.certificate,
                                         .key_file = ours.key,
                                         .key_password = "word"}});
    const Result without = perform({.url = receiver.url(), .tls = {.ca_file = files_.certificate}});

    EXPECT_EQ(with.status, 200U) << with.error;
    EXPECT_EQ(without.failure, Failure::tls);
    EXPECT_EQ(receiver.served(), 1);
}

}  // namespace
}  // namespace waybill::http_out
