#include "transport/http_out/egress.hpp"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill::http_out {
namespace {

IpAddress ip(const char* text) {
    return parse_ip(text).value();
}

Verdict judge_of(const Egress& egress, const char* address) {
    return judge(egress, ip(address), 443);
}

TEST(Egress, EveryAddressAndSpellingHasItsVerdict) {
    std::ifstream file{"tests/transport/egress_cases.txt"};
    int cases = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        const std::size_t space = line.find(' ');
        EXPECT_EQ(name_of(judge_url({}, line.substr(space + 1))), line.substr(0, space)) << line;
        ++cases;
    }
    EXPECT_GE(cases, 800);
}

TEST(Egress, BytesThatOneReaderSkipsAreRefused) {
    for (const std::string byte :
         {"\t", "\n", "\r", "\x0b", "\x7f", "\x01", "\xc2\xa0", "\xe3\x80\x82"}) {
        EXPECT_EQ(judge_url({}, "http://a" + byte + ".example/"), Verdict::bad_url) << byte;
        EXPECT_EQ(judge_url({}, "ht" + byte + "tp://a.example/"), Verdict::bad_url) << byte;
        EXPECT_EQ(judge_url({}, "http://a.example/" + byte), Verdict::bad_url) << byte;
    }
    EXPECT_EQ(judge_url({}, std::string{"http://a.example/\0", 18}), Verdict::bad_url);
}

TEST(Egress, PrivateMeansLoopbackAndPrivateAndNothingElse) {
    const Egress egress{.allow_private = true};

    for (const char* address : {"127.0.0.1", "10.1.2.3", "192.168.0.1", "::1", "fd00::1"}) {
        EXPECT_EQ(judge_of(egress, address), Verdict::allowed) << address;
    }
    EXPECT_EQ(judge_of(egress, "169.254.169.254"), Verdict::link_local);
    EXPECT_EQ(judge_of(egress, "fe80::1"), Verdict::link_local);
    EXPECT_EQ(judge_of(egress, "100.64.0.1"), Verdict::shared_network);
    EXPECT_EQ(judge_of(egress, "64:ff9b::7f00:1"), Verdict::embedded);
    EXPECT_EQ(judge_of(egress, "0.0.0.0"), Verdict::unspecified);
}

TEST(Egress, WhatIsNamedIsAllowedAndItsNeighbourIsNot) {
    const Egress egress{.allow = {parse_network("169.254.169.254/32").value(),
                                  parse_network("10.1.0.0/16").value()}};

    EXPECT_EQ(judge_of(egress, "169.254.169.254"), Verdict::allowed);
    EXPECT_EQ(judge_of(egress, "::ffff:169.254.169.254"), Verdict::allowed);
    EXPECT_EQ(judge_of(egress, "169.254.169.253"), Verdict::link_local);
    EXPECT_EQ(judge_of(egress, "10.1.255.255"), Verdict::allowed);
    EXPECT_EQ(judge_of(egress, "10.2.0.0"), Verdict::private_network);
}

TEST(Egress, WeNeverCallOurselves) {
    const Egress egress{.allow_private = true,
                        .allow = {parse_network("127.0.0.0/8").value()},
                        .own = {{ip("127.0.0.1"), 8080}}};

    EXPECT_EQ(judge(egress, ip("127.0.0.1"), 8080), Verdict::self);
    EXPECT_EQ(judge(egress, ip("::ffff:127.0.0.1"), 8080), Verdict::self);
    EXPECT_EQ(judge(egress, ip("127.0.0.1"), 8081), Verdict::allowed);
    EXPECT_EQ(judge_url(egress, "http://2130706433:8080/"), Verdict::self);
}

TEST(Egress, SchemesAndPortsCanBeRestricted) {
    const Egress egress{.https_only = true, .ports = {443, 8443}};

    EXPECT_EQ(judge_url(egress, "https://a.example/"), Verdict::allowed);
    EXPECT_EQ(judge_url(egress, "https://a.example:8443/"), Verdict::allowed);
    EXPECT_EQ(judge_url(egress, "https://a.example:22/"), Verdict::port);
    EXPECT_EQ(judge_url(egress, "http://a.example:443/"), Verdict::scheme);
}

}  // namespace
}  // namespace waybill::http_out
