#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text.hpp"
#include "waybill/signing.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using Reason = Rejected::Reason;

// The vectors of Standard Webhooks' libraries (v1), svix-server (v1a) and Svix' SDKs.
const std::string kWhsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kWhpk = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
const std::string kV1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const std::string kV1a =
    "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/"
    "enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
const std::string kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const std::string kVectorBody = R"({"test": 2432232314})";
constexpr StoreTime kVectorTime{1'614'265'330s};

class Verifying : public ::testing::Test {
protected:
    HttpHeaders headers_{
        {"Webhook-Id", kId}, {"Webhook-Timestamp", "1614265330"}, {"Webhook-Signature", kV1}};
    std::string body_ = kVectorBody;
    std::vector<std::string> secrets_{kWhsec};
    StoreTime now_ = kVectorTime;
    HeaderSet set_ = HeaderSet::standard;
    Duration tolerance_ = 5min;

    auto verified() {
        return verify(headers_, body_,
                      {.secrets = secrets_, .set = set_, .tolerance = tolerance_, .now = now_});
    }
    bool is_good() { return std::holds_alternative<Verified>(verified()); }
    std::optional<Reason> refusal() {
        const auto result = verified();
        const auto* refused = std::get_if<Rejected>(&result);
        return refused == nullptr ? std::nullopt : std::optional{refused->reason};
    }
    void sign_with(const std::string& signature) { headers_.set("webhook-signature", signature); }
};

TEST_F(Verifying, TheVectorsOfTheSpecificationAreRight) {
    EXPECT_EQ(std::get<Verified>(verified()), (Verified{kId, kVectorTime, 0}));

    secrets_ = {kWhpk};
    sign_with(kV1a);
    EXPECT_EQ(std::get<Verified>(verified()), (Verified{kId, kVectorTime, 0}));

    secrets_ = {"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"};
    headers_ = {{"webhook-id", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"},
                {"webhook-timestamp", "1649367553"},
                {"webhook-signature", "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="}};
    body_ = R"({"email":"test@example.com","username":"test_user"})";
    now_ = StoreTime{1'649'367'553s};
    EXPECT_TRUE(is_good());
}

TEST_F(Verifying, TheGoodSignatureMayStandAnywhereAmongOthers) {
    const std::string bad = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    for (const std::string& list :
         {kV1 + " " + bad, bad + " " + kV1, bad + " " + kV1 + " v1a," + kV1.substr(3),
          "v2,abc " + kV1, kV1a + " " + kV1, "  " + kV1, "nonsense " + kV1}) {
        sign_with(list);
        EXPECT_TRUE(is_good()) << list;
    }
}

TEST_F(Verifying, OneSecretAfterTheOtherMayMatchAndABrokenOneIsNoHindrance) {
    secrets_ = {"whsec_!", "other", kWhpk, kWhsec};
    EXPECT_EQ(std::get<Verified>(verified()).secret, 3U);
    sign_with(kV1a);
    EXPECT_EQ(std::get<Verified>(verified()).secret, 2U);
}

TEST_F(Verifying, WhatIsMissingIsNamed) {
    const HttpHeaders all = headers_;
    for (const HttpHeader& gone : all) {
        headers_ = {};
        for (const HttpHeader& header : all) {
            if (header.name != gone.name) headers_.add(header.name, header.value);
        }
        const auto result = verified();
        ASSERT_TRUE(std::holds_alternative<Rejected>(result)) << gone.name;
        EXPECT_EQ(std::get<Rejected>(result).reason, Reason::missing) << gone.name;
        EXPECT_NE(std::get<Rejected>(result).message.find(lower_ascii(gone.name)),
                  std::string::npos);
    }
}

TEST_F(Verifying, WhatDoesNotHaveItsFormIsMalformed) {
    for (const std::string& signature :
         {"v1,!"s, "v2,"s + kV1.substr(3), kV1.substr(3), "V1,"s + kV1.substr(3), kV1.substr(0, 20),
          "v1,"s + kV1.substr(3, 42)}) {
        sign_with(signature);
        EXPECT_EQ(refusal(), Reason::malformed) << signature;
    }
    std::string many;
    for (int i = 0; i < 9; ++i) many += kV1 + " ";
    sign_with(many);
    EXPECT_EQ(refusal(), Reason::malformed);

    sign_with(kV1);
    for (const char* time : {"-1614265330", "+1614265330", " 1614265330", "1614265330.0", "now",
                             "161426533000", "0x1"}) {
        headers_.set("webhook-timestamp", time);
        EXPECT_EQ(refusal(), Reason::malformed) << time;
    }
}

TEST_F(Verifying, AHeaderThatIsThereTwiceAndDiffersIsMalformed) {
    headers_.add("webhook-id", kId);
    EXPECT_TRUE(is_good());
    headers_.add("webhook-id", "another");
    EXPECT_EQ(refusal(), Reason::malformed);
}

TEST_F(Verifying, AnythingElseThatWasSignedDoesNotMatch) {
    for (const std::string& signature :
         {"v1"s, "v1 ,"s + kV1.substr(3), "v1,"s, "v1,AAAA"s, "v1,"s + signing::to_base64("x")}) {
        sign_with(signature);
        EXPECT_EQ(refusal(), Reason::mismatch) << signature;
    }
    sign_with(kV1);
    body_ += "\n";
    EXPECT_EQ(refusal(), Reason::mismatch);
    body_ = kVectorBody;
    headers_.set("webhook-id", kId + "x");
    EXPECT_EQ(refusal(), Reason::mismatch);
    headers_.set("webhook-id", kId);
    headers_.set("webhook-timestamp", "1614265331");
    EXPECT_EQ(refusal(), Reason::mismatch);
}

TEST_F(Verifying, ASignatureOfOneKindIsNotTakenForTheOther) {
    sign_with("v1a," + kV1.substr(3));
    EXPECT_EQ(refusal(), Reason::mismatch);
    secrets_ = {kWhpk};
    sign_with("v1," + kV1a.substr(4));
    EXPECT_EQ(refusal(), Reason::mismatch);
}

TEST_F(Verifying, ARequestIsFreshUpToTheToleranceEitherWay) {
    for (const Duration off : {-300s, 0s, 300s}) {
        now_ = kVectorTime + off;
        EXPECT_TRUE(is_good()) << off.count();
    }
    for (const Duration off : {-301s, 301s}) {
        now_ = kVectorTime + off;
        EXPECT_EQ(refusal(), Reason::stale) << off.count();
    }
    tolerance_ = forever;
    EXPECT_TRUE(is_good());
}

TEST_F(Verifying, AStaleRequestThatIsForgedIsForged) {
    now_ = kVectorTime + 24h;
    body_ = "x";
    EXPECT_EQ(refusal(), Reason::mismatch);
}

TEST_F(Verifying, WithoutAUsableSecretTheFaultIsTheReceivers) {
    for (const std::vector<std::string>& secrets : {std::vector<std::string>{},
                                                    {""},
                                                    {"whsec_"},
                                                    {"whsec_!", "whpk_AAAA"},
                                                    {make_key_pair().private_key}}) {
        secrets_ = secrets;
        EXPECT_EQ(refusal(), Reason::misconfigured);
    }
}

TEST_F(Verifying, TheOutboxSetSignsTheBodyWithTheSecretAsItIsWritten) {
    set_ = HeaderSet::outbox;
    headers_ = {{"X-Outbox-Signature",
                 "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
                {"X-Outbox-Message-Id", "a message"},
                {"X-Outbox-Timestamp", "1614265330"}};
    secrets_ = {"It's a Secret to Everybody"};  // the vector of GitHub's documentation
    body_ = "Hello, World!";
    EXPECT_EQ(std::get<Verified>(verified()), (Verified{"a message", kVectorTime, 0}));

    headers_.set("X-Outbox-Signature",
                 "sha256=757107EA0EB2509FC211221CCE984B8A37570B6D7586C22C46F4379C8B043E17");
    EXPECT_TRUE(is_good()) << "hex digits have no case";

    body_ = "Hello, World";
    EXPECT_EQ(refusal(), Reason::mismatch);
    headers_.set("X-Outbox-Signature", "757107ea");
    EXPECT_EQ(refusal(), Reason::malformed);
}

TEST(WhatIsSent, IsWhatTheReceiverVerifies) {
    const KeyPair pair = make_key_pair();
    const std::vector<std::string> sender{pair.private_key, make_secret(), "an old one"};
    const std::vector<HeaderSet> sets{HeaderSet::outbox, HeaderSet::standard};
    const Message message{.type = "t", .body = "\0\xFF body"s};
    const auto headers =
        headers_of({.message = message, .now = kVectorTime, .secrets = sender, .sets = sets});
    ASSERT_TRUE(headers);

    for (const std::string& secret : {pair.public_key, sender[1], sender[2]}) {
        const std::vector<std::string> one{secret};
        const auto result = verify(*headers, message.body, {.secrets = one, .now = kVectorTime});
        EXPECT_TRUE(std::holds_alternative<Verified>(result)) << secret;
    }
    const auto result = verify(*headers, message.body,
                               {.secrets = sender, .set = HeaderSet::outbox, .now = kVectorTime});
    EXPECT_EQ(std::get<Verified>(result).secret, 1U);
}

}  // namespace
}  // namespace waybill::webhook
