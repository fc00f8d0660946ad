#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/asked.hpp"
#include "support/name_server.hpp"
#include "support/receiver.hpp"
#include "support/temporary_folder.hpp"
#include "transport/http_out/http_out.hpp"

namespace waybill::http_out {
namespace {

using test::always;
using test::ask;
using test::Connection;
using test::http_answer;
using test::NameAnswer;
using test::NameServer;
using test::Receiver;
using test::Tunnel;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<const Egress> only(const char* network) {
    return std::make_shared<Egress>(Egress{.allow = {parse_network(network).value()}});
}

/// A receiver at 127.0.0.2, where requests may go, and one at 127.0.0.3, where they may not.
class Names : public ::testing::Test {
protected:
    /// Whatever is asked for has these.
    void all_have(NameAnswer answer) {
        names_.emplace([answer](const std::string&, int) { return answer; });
    }
    HttpOut& out() {
        if (!out_)
            out_ = std::make_unique<HttpOut>(HttpOutOptions{.name_servers = names_->address()});
        return *out_;
    }
    Request request(const std::string& host) {
        return {.url = "http://" + host + ":" + std::to_string(good_.port()) + "/",
                .egress = only("127.0.0.2/32")};
    }

    Receiver good_{[](Connection& connection) {
                       connection.request();
                       connection.send(http_answer(200, "good", "Connection: close\r\n"));
                   },
                   {.address = "127.0.0.2"}};
    Receiver bad_{always(http_answer(200, "bad")), {.address = "127.0.0.3", .port = good_.port()}};
    std::optional<NameServer> names_{};
    std::unique_ptr<HttpOut> out_{};
};

TEST_F(Names, ANameIsLookedUpOnceAndPinned) {
    all_have({.addresses = {"127.0.0.2"}});

    const Result result = ask(out(), request("a.example"));

    EXPECT_EQ(result.status, 200U) << result.error;
    EXPECT_EQ(result.address, "127.0.0.2");
    EXPECT_GT(result.timings.name, Duration{});
    EXPECT_EQ(names_->asked("a.example"), 1);
}

TEST_F(Names, EverySpellingOfANameIsFound) {
    all_have({.addresses = {"127.0.0.2"}});

    for (const char* host : {"A.Example", "a.example.", "xn--bcher-kva.example", "a_b.example"}) {
        const Result result = ask(out(), request(host));
        EXPECT_EQ(result.status, 200U) << host << ": " << result.error;
    }
}

TEST_F(Names, ManyWhoWantTheSameNameAskOnce) {
    all_have({.addresses = {"127.0.0.2"}, .ttl = 60});
    test::Asked asked;

    for (int i = 0; i < 50; ++i) asked.start(out(), request("a.example"));

    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(asked.result(i).status, 200U);
    EXPECT_EQ(names_->asked("a.example"), 1);
}

TEST_F(Names, ANameThatMovesToAForbiddenPlaceIsBlockedThere) {
    names_.emplace([](const std::string&, int time) {
        return NameAnswer{.addresses = {time == 0 ? "127.0.0.2" : "127.0.0.3"}};
    });
    Result result = ask(out(), request("a.example"));
    ASSERT_EQ(result.status, 200U) << result.error;

    // What was found is used for a second.
    while (result.status == 200) result = ask(out(), request("a.example"));

    EXPECT_EQ(result.failure, Failure::blocked);
    EXPECT_EQ(result.verdict, Verdict::loopback);
    EXPECT_EQ(result.error, "127.0.0.3 is loopback");
    EXPECT_EQ(names_->asked("a.example"), 2);
    EXPECT_EQ(bad_.connections(), 0);
}

TEST_F(Names, OneForbiddenAddressAmongGoodOnesIsEnough) {
    std::vector<std::string> addresses(99, "127.0.0.2");
    addresses.emplace_back("10.1.2.3");
    for (int i = 0; i < 100; ++i) addresses.emplace_back("127.0.0.2");
    all_have({.addresses = addresses});

    const Result result = ask(out(), request("a.example"));

    EXPECT_EQ(result.failure, Failure::blocked);
    EXPECT_EQ(result.verdict, Verdict::private_network);
    EXPECT_EQ(result.error, "10.1.2.3 is private-network");
    EXPECT_EQ(good_.connections(), 0);
}

TEST_F(Names, ForbiddenAddressesOfEveryKindAreBlocked) {
    struct Case {
        NameAnswer answer{};
        Verdict verdict{};
    };
    for (const auto& [answer, verdict] : {
             Case{{.addresses = {"169.254.169.254"}}, Verdict::link_local},
             Case{{.addresses = {"169.254.169.254"}, .alias_of = "b.example"}, Verdict::link_local},
             Case{{.addresses = {"fd00::1"}}, Verdict::private_network},
             Case{{.addresses = {"::1"}}, Verdict::loopback},
             Case{{.addresses = {"::ffff:127.0.0.3"}}, Verdict::loopback},
             Case{{.addresses = {"64:ff9b::7f00:3"}}, Verdict::embedded},
             Case{{.addresses = {"127.0.0.2", "fe80::1"}}, Verdict::link_local},
             Case{{.addresses = {"0.0.0.0"}}, Verdict::unspecified},
         }) {
        out_.reset();
        all_have(answer);
        const Result result = ask(out(), request("a.example"));
        EXPECT_EQ(result.failure, Failure::blocked) << answer.addresses.front();
        EXPECT_EQ(result.verdict, verdict) << answer.addresses.front();
        EXPECT_EQ(result.phase, Phase::connect);
    }
    EXPECT_EQ(good_.connections() + bad_.connections(), 0);
}

TEST_F(Names, OneOfItsAddressesThatAnswersIsEnough) {
    std::vector<std::string> addresses;
    for (int i = 10; i < 20; ++i) addresses.push_back("127.0.1." + std::to_string(i));
    addresses.emplace_back("127.0.0.2");
    all_have({.addresses = addresses});
    Request several = request("a.example");
    several.egress = only("127.0.0.0/8");

    const Result result = ask(out(), several);

    EXPECT_EQ(result.status, 200U) << result.error;
    EXPECT_EQ(result.address, "127.0.0.2");
}

TEST_F(Names, OfTwoHundredAddressesWhereNobodyListensSixteenAreTried) {
    std::vector<std::string> addresses;
    for (int i = 0; i < 200; ++i) addresses.push_back("127.0.1." + std::to_string(i + 1));
    all_have({.addresses = addresses});
    Request several = request("a.example");
    several.egress = only("127.0.0.0/8");

    const Result result = ask(out(), several);

    EXPECT_EQ(result.failure, Failure::connect);
    EXPECT_EQ(result.phase, Phase::connect);
}

TEST_F(Names, NoSuchNameAndNoServerAreToldApartFromNoConnection) {
    for (const int code : {2, 3}) {
        out_.reset();
        all_have({.code = code});
        const Result result = ask(out(), request("a.example"));
        EXPECT_EQ(result.failure, Failure::dns);
        EXPECT_EQ(result.phase, Phase::name);
        EXPECT_THAT(result.error, StartsWith("a.example: "));
    }
}

TEST_F(Names, AServerThatNeverAnswersCostsItsDeadlineAndNobodyElse) {
    names_.emplace([](const std::string& name, int) -> std::optional<NameAnswer> {
        if (name == "silent.example") return std::nullopt;
        return NameAnswer{.addresses = {"127.0.0.2"}};
    });
    Request silent = request("silent.example");
    silent.deadlines.connect = std::chrono::milliseconds{300};
    test::Asked asked;
    for (int i = 0; i < 100; ++i) asked.start(out(), silent);

    const Result other = ask(out(), request("a.example"));

    EXPECT_EQ(other.status, 200U) << other.error;
    for (std::size_t i = 0; i < 100; ++i) {
        const Result result = asked.result(i);
        EXPECT_EQ(result.failure, Failure::timeout);
        EXPECT_EQ(result.phase, Phase::name);
        EXPECT_EQ(result.error, "timed out while looking up the name, after 300 ms");
    }
}

TEST_F(Names, TheEndDoesNotWaitForAName) {
    names_.emplace([](const std::string&, int) { return std::nullopt; });
    test::Asked asked;
    asked.start(out(), request("silent.example"));
    while (names_->asked("silent.example") == 0) std::this_thread::yield();

    out_.reset();

    EXPECT_EQ(asked.result().failure, Failure::cancelled);
}

TEST_F(Names, WhatWasFoundIsUsedWhileTheServersFail) {
    names_.emplace([](const std::string&, int time) {
        return time == 0 ? NameAnswer{.addresses = {"127.0.0.2"}} : NameAnswer{.code = 2};
    });

    while (names_->asked("a.example") < 2) {
        const Result result = ask(out(), request("a.example"));
        ASSERT_EQ(result.status, 200U) << result.error;
    }
}

TEST_F(Names, AProxyIsToldAnAddressThatWasJudgedAndTheReceiverItsName) {
    Tunnel proxy;
    all_have({.addresses = {"127.0.0.2"}});
    Request through = request("a.example");
    through.proxy = proxy.url();

    EXPECT_EQ(ask(out(), through).status, 204U);
    EXPECT_THAT(proxy.asked_for(), StartsWith("CONNECT 127.0.0.2:"));
    EXPECT_THAT(proxy.passed_on(), HasSubstr("\r\nHost: a.example:"));
}

TEST_F(Names, AProxyIsNotAskedForAForbiddenAddress) {
    Receiver proxy{always(http_answer(200))};
    all_have({.addresses = {"127.0.0.3"}});
    Request through = request("a.example");
    through.proxy = proxy.url();

    const Result result = ask(out(), through);

    EXPECT_EQ(result.failure, Failure::blocked);
    EXPECT_EQ(result.verdict, Verdict::loopback);
    EXPECT_EQ(proxy.connections(), 0);
}

TEST_F(Names, ACertificateIsForTheNameNotForTheAddress) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files, {.other_names = "DNS:a.example"});
    Receiver receiver{always(http_answer(200)), {.certificate = files}};
    all_have({.addresses = {"127.0.0.1"}});
    const auto to = [&](const std::string& host) {
        return ask(out(), {.url = "https://" + host + ":" + std::to_string(receiver.port()) + "/",
                           .tls = {.ca_file = files.certificate}});
    };

    const Result right = to("a.example");
    const Result wrong = to("b.example");

    EXPECT_EQ(right.status, 200U) << right.error;
    EXPECT_EQ(wrong.failure, Failure::tls);
    EXPECT_EQ(wrong.phase, Phase::tls);
}

TEST_F(Names, ACertificateMustNameItAndNotOnlyAsItsCommonNameOrInPart) {
    all_have({.addresses = {"127.0.0.1"}});
    const auto with = [&](const test::CertificateOptions& options, const std::string& host) {
        const test::TemporaryFolder folder;  // libcurl remembers what a file said
        const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
        test::write_certificate(files, options);
        Receiver receiver{always(http_answer(200)), {.certificate = files}};
        return ask(out(), {.url = "https://" + host + ":" + std::to_string(receiver.port()) + "/",
                           .tls = {.ca_file = files.certificate}});
    };

    for (const char* host : {"a.example", "A.Example", "a.example."}) {
        const Result result = with({.other_names = "DNS:a.example"}, host);
        EXPECT_EQ(result.status, 200U) << host << result.error;
    }
    EXPECT_EQ(with({.other_names = "DNS:*.example.org"}, "a.example.org").status, 200U);

    EXPECT_EQ(with({.host = "a.example"}, "a.example").failure, Failure::tls);
    EXPECT_EQ(with({.host = "a.example", .other_names = "email:a@a.example"}, "a.example").failure,
              Failure::tls);
    EXPECT_EQ(with({.other_names = "DNS:b*.example.org"}, "bc.example.org").failure, Failure::tls);
    EXPECT_EQ(with({.other_names = "DNS:*.example.org"}, "a.b.example.org").failure, Failure::tls);
    EXPECT_EQ(with({.other_names = "DNS:*.example"}, "a.example").failure, Failure::tls);
}

TEST_F(Names, ACertificateWithANulInItsNameIsForNobody) {
    const test::TemporaryFolder folder;
    const test::CertificateFiles files{folder.file("c.pem"), folder.file("k.pem")};
    test::write_certificate(files, {.raw_name = std::string{"a.example\0.evil.example", 23}});
    Receiver receiver{always(http_answer(200)), {.certificate = files}};
    all_have({.addresses = {"127.0.0.1"}});

    const Result result =
        ask(out(), {.url = "https://a.example:" + std::to_string(receiver.port()) + "/",
                    .tls = {.ca_file = files.certificate}});

    EXPECT_EQ(result.failure, Failure::tls) << result.status << result.error;
    EXPECT_EQ(result.phase, Phase::tls);
    EXPECT_THAT(result.error, HasSubstr("name"));
}

TEST(NameServers, ThatAreNoAddressesAreRefused) {
    EXPECT_THROW(HttpOut({.name_servers = "here,there"}), std::runtime_error);
}

}  // namespace
}  // namespace waybill::http_out
