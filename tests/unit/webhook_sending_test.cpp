#include <array>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/version.hpp"
#include "core/webhook/header_rules.hpp"
#include "waybill/signing.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// Standard Webhooks' own test key; svix-server's for v1a, as a seed and its public key.
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kPrivate =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const std::string kSeedAlone = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=";
const std::string kPublic = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

// Computed with Python's hmac and cryptography, over the message below.
const std::string kByWhsec = "v1,5qcvT7dUtfrYinhN4+grjxEpHR2uvW6l6Xe6XKVEY7A=";
const std::string kByText = "v1,xyrc9eoxC0nVVrzsXvpgLTAzqs9rQ/KUDhhUyO/cdYY=";
const std::string kByKey =
    "v1a,Lb3v1oQQHHyRKPPF3XO4mVr8LsZ4zv1T0/"
    "IFR9rrPpM0l/NYs/wjfWm50jzQPzz0JksmSsbS3kXq23OAvkFHCg==";
const std::string kOutboxByWhsec =
    "sha256=e92b3f1762061209334dffedc0ef64923221cbdc63e066d63621bc957ce2bffc";
const std::string kOutboxByText =
    "sha256=c569ded8b66b1b275f1ea522e904c67fefe73333b6bc494c51f30f6aacf44ab8";

const std::string kMessageId = "018f2b4e-1d2c-7a3b-8c4d-5e6f708192a3";
const std::string kSubscriptionId = "0f0e0d0c-0b0a-4908-8706-050403020100";
constexpr StoreTime kSentAt{1'700'000'000s + 999ms};
constexpr std::array kBoth{HeaderSet::standard, HeaderSet::outbox};
constexpr std::array kStandard{HeaderSet::standard};
constexpr std::array kOutbox{HeaderSet::outbox};

class Sending : public ::testing::Test {
protected:
    Message message_{.id = parse_uuid(kMessageId).value(),
                     .type = "order.placed",
                     .body = R"({"order":42})",
                     .content_type = "application/json",
                     .correlation_id = "checkout-7"};
    std::vector<std::string> secrets_{kSecret};
    HttpHeaders own_{};

    std::optional<HttpHeaders> sent(std::span<const HeaderSet> sets, std::uint32_t attempt = 1) {
        return headers_of({.message = message_,
                           .subscription = parse_uuid(kSubscriptionId).value(),
                           .attempt = attempt,
                           .now = kSentAt,
                           .secrets = secrets_,
                           .sets = sets,
                           .own = &own_});
    }
    std::string value(std::string_view name, std::span<const HeaderSet> sets = kBoth) {
        const auto headers = sent(sets);
        const std::string* found = headers ? headers->find(name) : nullptr;
        return found == nullptr ? "(none)" : *found;
    }
};

TEST_F(Sending, TheHeadersOfBothSetsAreExactlyThese) {
    own_ = {{"X-Custom", "1"}};

    EXPECT_EQ(sent(kBoth), (HttpHeaders{
                               {"User-Agent", "Waybill/"s + version_text},
                               {"Content-Type", "application/json"},
                               {"webhook-id", kMessageId},
                               {"webhook-timestamp", "1700000000"},
                               {"webhook-signature", kByWhsec},
                               {"X-Outbox-Signature", kOutboxByWhsec},
                               {"X-Outbox-Event", "order.placed"},
                               {"X-Outbox-Message-Id", kMessageId},
                               {"X-Outbox-Delivery-Id", "36d6f6e9-0158-8be8-915d-1b03afbcc5db"},
                               {"X-Outbox-Subscription-Id", kSubscriptionId},
                               {"X-Outbox-Timestamp", "1700000000"},
                               {"X-Outbox-Correlation-Id", "checkout-7"},
                               {"X-Custom", "1"},
                           }));
}

TEST_F(Sending, AMessageWithoutACorrelationHasNoHeaderForIt) {
    message_.correlation_id.clear();
    EXPECT_EQ(value("X-Outbox-Correlation-Id"), "(none)");
}

TEST_F(Sending, AMessageWithoutAContentTypeIsBytes) {
    message_.content_type.clear();
    EXPECT_EQ(value("Content-Type"), "application/octet-stream");
}

TEST_F(Sending, WithoutSecretsNothingIsSigned) {
    secrets_.clear();
    EXPECT_EQ(value("webhook-signature"), "(none)");
    EXPECT_EQ(value("X-Outbox-Signature"), "(none)");
    EXPECT_EQ(value("webhook-id"), kMessageId);
}

TEST_F(Sending, ASecretMeansBytesOrBase64InOneSetAndItsBytesInTheOther) {
    secrets_ = {"plain secret"};
    EXPECT_EQ(value("webhook-signature"), kByText);
    EXPECT_EQ(value("X-Outbox-Signature"), kOutboxByText);
}

TEST_F(Sending, WhileASecretRotatesEachSignsNewestFirst) {
    secrets_ = {"plain secret", kSecret, kPrivate};
    EXPECT_EQ(value("webhook-signature"), kByText + " " + kByWhsec + " " + kByKey);
    EXPECT_EQ(value("X-Outbox-Signature"), kOutboxByText);
}

TEST_F(Sending, AnEd25519KeySignsAsV1aWithOrWithoutItsPublicHalf) {
    for (const std::string& key : {kPrivate, kSeedAlone}) {
        secrets_ = {key};
        EXPECT_EQ(value("webhook-signature", kStandard), kByKey);
    }
}

TEST_F(Sending, AnEd25519KeyLeavesTheOutboxSetToTheNewestSecret) {
    secrets_ = {kPrivate, "plain secret"};
    EXPECT_EQ(value("X-Outbox-Signature"), kOutboxByText);
}

TEST_F(Sending, ARequestThatWasToBeSignedIsNeverSentUnsigned) {
    secrets_ = {kPrivate};
    EXPECT_EQ(sent(kOutbox), std::nullopt);
    EXPECT_EQ(sent(kBoth), std::nullopt);
    secrets_ = {"whsec_!"};
    EXPECT_EQ(sent(kStandard), std::nullopt);
    EXPECT_NE(sent(kOutbox), std::nullopt);
}

TEST_F(Sending, OneSetHasNothingOfTheOther) {
    const HttpHeaders standard = sent(kStandard).value();
    for (const HttpHeader& header : standard) {
        EXPECT_FALSE(header.name.starts_with("X-Outbox")) << header.name;
    }
    const HttpHeaders outbox = sent(kOutbox).value();
    for (const HttpHeader& header : outbox) {
        EXPECT_FALSE(header.name.starts_with("webhook")) << header.name;
    }
}

TEST_F(Sending, ATraceGoesOnAndNonsenseDoesNot) {
    const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    message_.attributes = {{"traceparent", trace}};
    EXPECT_EQ(value("traceparent"), trace);
    message_.attributes = {{"header.traceparent", trace}};
    EXPECT_EQ(value("traceparent"), trace);
    message_.attributes = {{"traceparent", "00-abc\r\nX-Evil: 1"}, {"header.traceparent", trace}};
    EXPECT_EQ(value("traceparent"), trace);

    for (const std::string& bad : {
             ""s,
             "00-abc"s,
             trace + "-x",
             "ff"s + trace.substr(2),
             "0A"s + trace.substr(2),
             "00-"s + std::string(32, '0') + trace.substr(35),
             trace.substr(0, 36) + std::string(16, '0') + "-01",
             trace.substr(0, 54) + "X",
             trace.substr(0, 53) + "\r\n",
         }) {
        EXPECT_FALSE(is_traceparent(bad)) << bad;
    }
    EXPECT_TRUE(is_traceparent("01" + trace.substr(2) + "-more"));
}

TEST_F(Sending, NothingAMessageSaysBeginsANewLine) {
    message_.type = "a\r\nX-Evil: 1";
    message_.content_type = "text/plain\nX-Evil: 1";
    message_.correlation_id = "\t c\td\r\n";
    EXPECT_EQ(value("X-Outbox-Event"), "a  X-Evil: 1");
    EXPECT_EQ(value("Content-Type"), "text/plain X-Evil: 1");
    EXPECT_EQ(value("X-Outbox-Correlation-Id"), "c d");
}

TEST_F(Sending, ASubscriptionsOwnHeadersReplaceNothing) {
    own_ = {{"WEBHOOK-ID", "x"}, {"user-agent", "x"}, {"Connection", "x"},
            {"X-Good", "1"},     {"X-Bad", "a\r\nb"}, {"x-outbox-event", "x"}};
    const HttpHeaders headers = sent(kBoth).value();
    EXPECT_EQ(headers.count("webhook-id"), 1U);
    EXPECT_EQ(headers.count("user-agent"), 1U);
    EXPECT_EQ(headers.count("x-outbox-event"), 1U);
    EXPECT_EQ(headers.count("connection"), 0U);
    EXPECT_EQ(headers.count("X-Bad"), 0U);
    EXPECT_EQ(*headers.find("X-Good"), "1");
}

/// Computed with Python's hashlib, uuid and struct.
TEST(DeliveryId, IsTheSameForOneAttemptAndAnotherForTheNext) {
    const Message message{.id = parse_uuid(kMessageId).value()};
    const Uuid subscription = parse_uuid(kSubscriptionId).value();
    const auto id = [&](std::uint32_t attempt) {
        return to_string(delivery_id(message, subscription, attempt));
    };
    EXPECT_EQ(id(1), "36d6f6e9-0158-8be8-915d-1b03afbcc5db");
    EXPECT_EQ(id(1), id(1));
    EXPECT_EQ(id(2), "d7495442-a140-8383-bd1b-2dd039dbff3f");
    EXPECT_EQ(id(256), "0e3a84e6-623f-8802-bade-759e11283d0d");
    EXPECT_EQ(id(4'294'967'295), "b3bc6c44-cbcb-80ca-87cd-1bc5c5720e76");
    EXPECT_EQ(to_string(delivery_id({}, {}, 1)), "2158a890-6d5e-8c2b-a001-bac943ab9cab");
}

TEST(HeaderOfASubscription, MayBeAnythingThatIsNobodyElses) {
    for (const char* name : {"X-Custom", "Authorization", "Accept", "Cookie", "x-webhook-id",
                             "X-Tenant", "Idempotency-Key", "x-g"}) {
        EXPECT_EQ(problem_of_header(name, "value of it"), "") << name;
    }
    EXPECT_EQ(problem_of_header("X-A", std::string(4'096, 'v')), "");
    EXPECT_EQ(problem_of_header("X-A", "h\u00e9"), "");
    EXPECT_EQ(problem_of_header("X-A", ""), "");
}

TEST(HeaderOfASubscription, IsRefusedWhereItWouldChangeTheRequestOrItsWay) {
    for (const char* name : {"Host",
                             "connection",
                             "Keep-Alive",
                             "Proxy-Authorization",
                             "proxy-connection",
                             "TE",
                             "Trailer",
                             "TRANSFER-ENCODING",
                             "Upgrade",
                             "Content-Type",
                             "Content-Length",
                             "content-md5",
                             "User-Agent",
                             "Expect",
                             "Accept-Encoding",
                             "Cache-Control",
                             "If-None-Match",
                             "Pragma",
                             "X-Amz-Date",
                             "X-Amzn-Trace-Id",
                             "X-Google-Foo",
                             "X-Goog-Signature",
                             "X-GFE-Response",
                             "X-Azure-Ref",
                             "X-FD-HealthProbe",
                             "webhook-id",
                             "Webhook-Signature",
                             "WEBHOOK-anything",
                             "X-Outbox-Event",
                             "x-waybill-lane",
                             "traceparent",
                             "TraceState"}) {
        EXPECT_NE(problem_of_header(name, "1"), "") << name;
    }
    for (const char* name : {"", "a b", "a:", "a\r\n", "\xC3\xA9", "a\"", "(a)", "[a]"}) {
        EXPECT_NE(problem_of_header(name, "1"), "") << name;
    }
    for (const std::string& value : {"a\r\nb"s, "a\nb"s, "\t"s, "\0"s, "\x7F"s, "\xFF"s, " a"s,
                                     "a "s, std::string(4'097, 'v')}) {
        EXPECT_NE(problem_of_header("X-A", value), "") << value;
    }
}

TEST(Secret, OneThatCannotSignSaysWhy) {
    for (const std::string& good : {kSecret, kPrivate, kSeedAlone, "text"s, "whsec"s}) {
        EXPECT_EQ(problem_of_secret(good, HeaderSet::standard), "");
    }
    for (const std::string& good : {kSecret, "text"s, "whsec_!"s}) {
        EXPECT_EQ(problem_of_secret(good, HeaderSet::outbox), "");
    }
    const std::string wrong_half = kPrivate.substr(0, kPrivate.size() - 8) + "AAAAAA==";
    for (const std::string& bad : {""s, "whsec_"s, "whsec_!"s, "whsec_MfKQ9r8"s, "whsk_"s,
                                   "whsk_MfKQ"s, wrong_half, kPublic, "whpk_MfKQ"s}) {
        EXPECT_NE(problem_of_secret(bad, HeaderSet::standard), "") << bad;
    }
    for (const std::string& bad : {""s, kPrivate, kPublic}) {
        EXPECT_NE(problem_of_secret(bad, HeaderSet::outbox), "") << bad;
    }
}

TEST(Secret, OfSeveralEachMustBeOfUseAndEachSetMustBeSigned) {
    const auto problem = [](std::vector<std::string> secrets, std::span<const HeaderSet> sets) {
        return problem_of_secrets(secrets, sets);
    };
    EXPECT_EQ(problem({}, kBoth), "");
    EXPECT_EQ(problem({kSecret}, kBoth), "");
    EXPECT_EQ(problem({kPrivate, kSecret}, kBoth), "");
    EXPECT_EQ(problem({kPrivate}, kStandard), "");
    EXPECT_NE(problem({kPrivate}, kBoth).find("whsk_"), std::string::npos);
    EXPECT_NE(problem({kPrivate, kSecret}, kOutbox), "");
    EXPECT_NE(problem({kSecret, "whsec_!"}, kStandard), "");
    EXPECT_NE(problem({kSecret, ""}, kStandard), "");
}

TEST(Secret, ANewOneIsOfTheFormAndUnlikeTheLast) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) seen.insert(make_secret());
    EXPECT_EQ(seen.size(), 100U);
    EXPECT_EQ(problem_of_secret(*seen.begin(), HeaderSet::standard), "");
    EXPECT_EQ(signing::from_base64(seen.begin()->substr(6)).value().size(), 32U);
}

TEST(Secret, APairOfKeysBelongsTogether) {
    const KeyPair pair = make_key_pair();
    EXPECT_NE(pair, make_key_pair());
    EXPECT_EQ(problem_of_secret(pair.private_key, HeaderSet::standard), "");
    EXPECT_EQ(public_key_of(pair.private_key), pair.public_key);
    EXPECT_EQ(public_key_of(kPrivate), kPublic);
    EXPECT_EQ(public_key_of(kSeedAlone), kPublic);
    EXPECT_EQ(public_key_of(kPublic), std::nullopt);
    EXPECT_EQ(public_key_of("whsk_x"), std::nullopt);
}

TEST(HeaderSetName, IsReadAsItIsWritten) {
    EXPECT_EQ(parse_header_set("standard"), HeaderSet::standard);
    EXPECT_EQ(parse_header_set("outbox"), HeaderSet::outbox);
    EXPECT_EQ(parse_header_set("Standard"), std::nullopt);
    EXPECT_EQ(to_string(HeaderSet::outbox), "outbox");
}

}  // namespace
}  // namespace waybill::webhook
