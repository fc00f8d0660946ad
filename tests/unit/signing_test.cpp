#include "waybill/signing.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/signing/public_key.hpp"

namespace waybill::signing {
namespace {

using namespace std::string_literals;

TEST(Encoding, HexIsPairsOfDigitsInEitherCase) {
    EXPECT_EQ(from_hex(""), "");
    EXPECT_EQ(from_hex("00ff"), "\x00\xff"s);
    EXPECT_EQ(from_hex("aBCd"), "\xab\xcd"s);
    for (const char* text : {"0", "0g", "0x00", " 00", "00 ", "+0", "-1", "0\n", "\xFF\xFF"}) {
        EXPECT_EQ(from_hex(text), std::nullopt) << text;
    }
}

TEST(Encoding, Base64IsPaddedAndCanonical) {
    EXPECT_EQ(from_base64(""), "");
    EXPECT_EQ(from_base64("Zg=="), "f");
    EXPECT_EQ(from_base64("Zm8="), "fo");
    EXPECT_EQ(from_base64("Zm9v"), "foo");
    EXPECT_EQ(from_base64("+/+/"), "\xfb\xff\xbf"s);
    for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=Zg=", "====", "==", "Zh==", "Zm9=",
                             "Z-==", "Z_8=", "Zm 8", "Zm9v\n", " Zm9", "Zg==Zg==", "Zm9v="}) {
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
    }
}

RC_GTEST_PROP(Encoding, WhatIsWrittenIsReadBack, (const std::string& bytes)) {
    RC_ASSERT(from_hex(to_hex(bytes)) == bytes);
    RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

/// RFC 2202 and RFC 4231, second test case.
TEST(Hmac, IsAsTheRfcsHaveIt) {
    const std::array pieces{std::string_view{"what do ya want "}, std::string_view{},
                            std::string_view{"for nothing?"}};
    EXPECT_EQ(to_hex(hmac(Hash::sha1, "Jefe", pieces)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    EXPECT_EQ(to_hex(hmac(Hash::sha256, "Jefe", pieces)),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac(Hash::sha512, "Jefe", pieces)),
              "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
              "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
}

TEST(Hmac, TakesAKeyOfAnyLength) {
    const std::array pieces{std::string_view{}};
    EXPECT_EQ(to_hex(hmac(Hash::sha256, "", pieces)),
              "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    EXPECT_EQ(hmac(Hash::sha256, std::string(1'000, 'k'), pieces).size(), 32U);
}

TEST(Hmac, OnlyEqualBytesAreTheSame) {
    EXPECT_TRUE(same_bytes("", ""));
    EXPECT_TRUE(same_bytes("ab", "ab"));
    for (const auto& [left, right] :
         {std::pair{"ab", "abc"}, {"abc", "ab"}, {"ab", "aB"}, {"", "a"}}) {
        EXPECT_FALSE(same_bytes(left, right)) << left << right;
    }
}

/// RFC 8032, 7.1, first and second test.
TEST(PublicKey, Ed25519IsAsTheRfcHasIt) {
    const auto key = PublicKey::ed25519(
        *from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    const std::string signature = *from_hex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
        "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
    ASSERT_TRUE(key);
    EXPECT_TRUE(key->verifies("", signature));
    EXPECT_FALSE(key->verifies("x", signature));
    EXPECT_FALSE(key->verifies("", ""));
    EXPECT_FALSE(key->verifies("", signature.substr(1)));
    EXPECT_FALSE(key->verifies("", signature + "x"));
    const auto seed = from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    EXPECT_EQ(ed25519_sign(*seed, ""), signature);
}

TEST(PublicKey, WhatIsNoKeyIsNothing) {
    EXPECT_FALSE(PublicKey::ed25519(""));
    EXPECT_FALSE(PublicKey::ed25519(std::string(31, 'x')));
    EXPECT_FALSE(PublicKey::ed25519(std::string(33, 'x')));
    EXPECT_FALSE(PublicKey::p256(""));
    EXPECT_FALSE(PublicKey::p256("not DER"));
    EXPECT_FALSE(PublicKey::rsa(""));
    EXPECT_FALSE(PublicKey::rsa("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"));
    EXPECT_FALSE(PublicKey::rsa("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
    EXPECT_FALSE(ed25519_sign("short", ""));
}

TEST(PublicKey, AKeyOfAnotherCurveOrATooShortOneIsNothing) {
    // P-384, and RSA of 1,024 bits.
    EXPECT_FALSE(PublicKey::p256(
        *from_base64("MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEGQcl/gX7iZFfg2nHd0f9D3UsSNFi+bKJLm4N382I11Ql"
                     "gNnu5/WHnhKneBZomHE6CyQyQaR8tOdjG9ItIBTIYmPCt1nGvVpfbECh94ce8GwfqEluQ1FnZg56"
                     "M1b7GYAk")));
    EXPECT_FALSE(
        PublicKey::rsa("-----BEGIN PUBLIC KEY-----\n"
                       "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC2mZ54lMAXakJ6SJodV5xz92xO\n"
                       "fGH+t56KLu8XkrXFiDmTYB4DxpxrddlELRvAYf3ED/v85zGgoqyNKrdM6iWu4Gk0\n"
                       "mLhFoL0miSGdvXlPamCsglwQBBibzkoj7uYszDrRHEneWX7J8NCraJDWgBTZV7GX\n"
                       "/5AjM/g61q3KohbwLwIDAQAB\n"
                       "-----END PUBLIC KEY-----\n"));
}

}  // namespace
}  // namespace waybill::signing
