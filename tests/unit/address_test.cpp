#include "core/address.hpp"

#include <string>

#include <gtest/gtest.h>

namespace waybill {
namespace {

using namespace std::string_view_literals;

TEST(Address, ANameThatBeginsLikeTheLoopbackIsNotTheLoopback) {
    for (const std::string_view address : {"127.0.0.1"sv, "127.255.1.2"sv, "::1"sv, "0:0::1"sv,
                                           "::ffff:127.0.0.1"sv, "::FFFF:127.9.9.9"sv}) {
        EXPECT_TRUE(is_loopback_address(address)) << address;
    }
    for (const std::string_view address :
         {""sv, "127."sv, "127.1"sv, "127.evil.example"sv, "127.0.0.1.evil.example"sv,
          "127.0.0.256"sv, "127.0.0.1 "sv, " 127.0.0.1"sv, "127.0.0.1\0"sv, "128.0.0.1"sv,
          "0.0.0.0"sv, "::"sv, "::2"sv, "::ffff:128.0.0.1"sv, "::127.0.0.1"sv, "::ffff:127.evil"sv,
          "localhost"sv, "[::1]"sv}) {
        EXPECT_FALSE(is_loopback_address(address)) << address;
    }
}

TEST(Address, AHostIsAnAddressOrAName) {
    for (const std::string_view host : {"127.0.0.1"sv, "::1"sv, "fe80::1%eth0"sv, "localhost"sv,
                                        "a.example."sv, "my-host_1"sv, "1a.example"sv, "0x7g"sv}) {
        EXPECT_TRUE(is_address_or_name(host)) << host;
    }
    for (const std::string_view host :
         {""sv, "."sv, "a..b"sv, "127.0.0.256"sv, "127.1"sv, "1"sv, "a b"sv, "a:b"sv, "-a"sv,
          "a-"sv, "ä.example"sv, "fe80::1%"sv, "a%b"sv, "1.2.3.4%eth0"sv, "0x7f"sv, "a.0x"sv,
          "127.0.0.0Xf"sv, "x\0y"sv}) {
        EXPECT_FALSE(is_address_or_name(host)) << host;
    }
    EXPECT_FALSE(is_address_or_name(std::string(64, 'a')));
    EXPECT_FALSE(is_address_or_name(std::string(300, 'a')));
}

TEST(Address, ANetworkContainsItsAddressesInBothSpellings) {
    const Network ten = parse_network("10.0.0.0/8").value();
    EXPECT_TRUE(ten.contains(parse_ip("10.255.255.255").value()));
    EXPECT_TRUE(ten.contains(parse_ip("::ffff:10.0.0.1").value()));
    EXPECT_FALSE(ten.contains(parse_ip("11.0.0.0").value()));
    EXPECT_FALSE(ten.contains(parse_ip("::10.0.0.1").value()));
    EXPECT_EQ(parse_network("::ffff:10.0.0.0/104"), ten);
    const Network odd = parse_network("fc00::/7").value();
    EXPECT_TRUE(odd.contains(parse_ip("fdff::1").value()));
    EXPECT_FALSE(odd.contains(parse_ip("fe00::").value()));
    EXPECT_TRUE(parse_network("0.0.0.0/0")->contains(parse_ip("255.255.255.255").value()));
    EXPECT_FALSE(parse_network("0.0.0.0/0")->contains(parse_ip("::1").value()));
    EXPECT_TRUE(parse_network("1.2.3.4")->contains(parse_ip("1.2.3.4").value()));
}

TEST(Address, ANetworkWithBitsBeyondItsLengthIsRefused) {
    for (const std::string_view text :
         {""sv, "/8"sv, "10.0.0.1/8"sv, "10.0.0.0/33"sv, "10.0.0.0/-1"sv, "10.0.0.0/"sv,
          "10.0.0.0/8x"sv, "10.0.0.0/ 8"sv, "::/129"sv, "fc00::1/7"sv, "fe80::%eth0/10"sv,
          "10.0.0/8"sv, "a.example/8"sv}) {
        EXPECT_FALSE(parse_network(text)) << text;
    }
}

TEST(Address, AnAddressIsWrittenInOneWay) {
    EXPECT_EQ(to_string(parse_ip("::FFFF:7f00:1").value()), "127.0.0.1");
    EXPECT_EQ(to_string(parse_ip("0:0:0:0:0:0:0:1").value()), "::1");
    EXPECT_EQ(to_string(parse_ip("FE80::1%eth0").value()), "fe80::1");
}

}  // namespace
}  // namespace waybill
