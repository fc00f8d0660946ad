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
                                        "a.example."sv, "my-host_1"sv, "1a.example"sv}) {
        EXPECT_TRUE(is_address_or_name(host)) << host;
    }
    for (const std::string_view host :
         {""sv, "."sv, "a..b"sv, "127.0.0.256"sv, "127.1"sv, "1"sv, "a b"sv, "a:b"sv, "-a"sv,
          "a-"sv, "ä.example"sv, "fe80::1%"sv, "a%b"sv, "1.2.3.4%eth0"sv, "x\0y"sv}) {
        EXPECT_FALSE(is_address_or_name(host)) << host;
    }
    EXPECT_FALSE(is_address_or_name(std::string(64, 'a')));
    EXPECT_FALSE(is_address_or_name(std::string(300, 'a')));
}

}  // namespace
}  // namespace waybill
