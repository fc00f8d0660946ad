#include <array>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/asked.hpp"
#include "support/name_server.hpp"
#include "support/network_of_its_own.hpp"
#include "support/receiver.hpp"
#include "transport/http_out/http_out.hpp"
#include "transport/http_out/url.hpp"

namespace waybill::http_out {
namespace {

using test::ask;
using test::NameAnswer;
using test::NameServer;
using test::NetworkOfItsOwn;
using test::Receiver;

struct Case {
    std::string verdict{};
    std::string url{};
    /// Its host, if it is an address.
    std::optional<IpAddress> address{};
};

std::vector<Case> all_cases() {
    std::ifstream file{"tests/transport/egress_cases.txt"};
    std::vector<Case> cases;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        const std::size_t space = line.find(' ');
        Case one{.verdict = line.substr(0, space), .url = line.substr(space + 1)};
        if (const auto parts = parts_of_url(one.url)) one.address = parse_ip(parts->host);
        cases.push_back(std::move(one));
    }
    return cases;
}

/// Sends whoever speaks plain HTTP to where clouds keep their secrets, and leaves whoever speaks TLS.
void see(test::Connection& connection) {
    if (connection.read(1) == "\x16" || connection.request().empty()) return;
    connection.send(
        test::http_answer(302, {}, "Location: http://169.254.169.254/\r\nConnection: close\r\n"));
}

/// Requests in a network where somebody listens at every address: a request that gets out is seen.
class EgressNetwork : public ::testing::Test {
protected:
    void SetUp() override {
        static const std::string problem = NetworkOfItsOwn::enter();
        ASSERT_TRUE(problem.empty() || NetworkOfItsOwn::may_be_missing()) << problem;
        if (!problem.empty()) GTEST_SKIP() << problem;
        constexpr std::array<std::uint16_t, 5> ports{80, 443, 8080, 8443, 65535};
        for (const std::uint16_t port : ports) {
            for (const char* everywhere : {"0.0.0.0", "::"}) {
                canaries_.emplace_back(&see,
                                       test::ReceiverOptions{.address = everywhere, .port = port});
            }
        }
        begun_before_ = NetworkOfItsOwn::connections_begun();
    }
    /// Since the test began, to anywhere.
    std::uint64_t begun() const { return NetworkOfItsOwn::connections_begun() - begun_before_; }
    int reached() const {
        int all = 0;
        for (const Receiver& canary : canaries_) all += canary.connections();
        return all;
    }

    const std::shared_ptr<const Egress> guard_ = std::make_shared<Egress>();
    const std::vector<Case> cases_ = all_cases();
    std::list<Receiver> canaries_{};
    std::uint64_t begun_before_ = 0;
};

TEST_F(EgressNetwork, WithoutTheGuardSecretPlacesAreReached) {
    HttpOut out;
    for (const char* place : {"169.254.169.254", "10.1.2.3", "[fd00::1]", "[::1]"}) {
        const Result result = ask(out, {.url = "http://" + std::string{place} + "/"});
        EXPECT_EQ(result.status, 302U) << place << ": " << result.error;
    }
    EXPECT_EQ(reached(), 4);
    EXPECT_EQ(begun(), 4U);
}

TEST_F(EgressNetwork, NoSpellingOfAForbiddenPlaceReachesIt) {
    HttpOut out;
    int cases = 0;
    for (const Case& one : cases_) {
        if (one.verdict == "allowed") continue;
        ++cases;
        const Result result = ask(out, {.url = one.url, .egress = guard_});
        EXPECT_EQ(result.failure, Failure::blocked) << one.url;
        EXPECT_EQ(name_of(result.verdict), one.verdict) << one.url;
        EXPECT_EQ(begun(), 0U) << one.url;
    }
    EXPECT_GE(cases, 800);
    EXPECT_EQ(reached(), 0);
}

TEST_F(EgressNetwork, NoNameOfAForbiddenPlaceReachesIt) {
    std::map<std::string, Case> names;
    std::set<std::string> seen;
    for (const Case& one : cases_) {
        if (one.verdict == "allowed" || one.verdict == "bad-url" || !one.address) continue;
        if (!seen.insert(to_string(*one.address)).second) continue;
        names["n" + std::to_string(names.size()) + ".example"] = one;
    }
    NameServer server{[&](const std::string& name, int) {
        return NameAnswer{.addresses = {to_string(*names.at(name).address)}};
    }};
    HttpOut out{{.name_servers = server.address()}};
    for (const auto& [name, one] : names) {
        const Result result = ask(out, {.url = "https://" + name + "/", .egress = guard_});
        EXPECT_EQ(result.failure, Failure::blocked) << one.url << ": " << result.error;
        EXPECT_EQ(name_of(result.verdict), one.verdict) << one.url;
    }
    EXPECT_GE(names.size(), 90U);
    EXPECT_EQ(begun(), 0U);
    EXPECT_EQ(reached(), 0);
}

TEST_F(EgressNetwork, WhatIsAllowedIsReachedOnceAndItsRedirectIsNot) {
    HttpOut out;
    int cases = 0;
    for (const Case& one : cases_) {
        // Zones name interfaces that this network does not have.
        if (one.verdict != "allowed" || !one.address || one.url.find("%25") != std::string::npos) {
            continue;
        }
        ++cases;
        const Result result = ask(out, {.url = one.url, .egress = guard_});
        const bool is_tls = one.url.starts_with("https");
        EXPECT_EQ(result.failure, is_tls ? Failure::tls : Failure::none) << one.url;
        EXPECT_EQ(result.status, is_tls ? 0U : 302U) << one.url << ": " << result.error;
        EXPECT_EQ(reached(), cases) << one.url;
    }
    EXPECT_GE(cases, 150);
    EXPECT_EQ(begun(), static_cast<std::uint64_t>(cases));
}

TEST_F(EgressNetwork, WhatTheOperatorAllowsIsReachedAndItsNeighbourIsNot) {
    const auto allowed = std::make_shared<Egress>(Egress{
        .allow = {parse_network("10.1.2.3/32").value(), parse_network("fd00::1/128").value()}});
    HttpOut out;
    for (const char* place : {"10.1.2.3", "[fd00::1]", "167838211", "0xa010203"}) {
        const Result result =
            ask(out, {.url = "http://" + std::string{place} + "/", .egress = allowed});
        EXPECT_EQ(result.status, 302U) << place << ": " << result.error;
    }
    for (const char* place : {"10.1.2.4", "[fd00::2]", "169.254.169.254"}) {
        const Result result =
            ask(out, {.url = "http://" + std::string{place} + "/", .egress = allowed});
        EXPECT_EQ(result.failure, Failure::blocked) << place;
    }
    EXPECT_EQ(reached(), 4);
}

}  // namespace
}  // namespace waybill::http_out
