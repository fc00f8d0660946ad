/// What we send, received by the programs we show to receivers: examples/receivers.

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/system.hpp"
#include "waybill/webhook.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using webhook::HeaderSet;

struct Language {
    const char* name;
    Executable program;
    std::vector<std::string> words;
};

std::vector<Language> languages() {
    return {
#ifdef WAYBILL_RECEIVER
        {"Cpp", {WAYBILL_RECEIVER}, {}},
#endif
        {"Python", {WAYBILL_PYTHON}, {WAYBILL_RECEIVERS "/receiver.py"}},
        {"JavaScript", {WAYBILL_NODE}, {WAYBILL_RECEIVERS "/receiver.js"}},
    };
}

void PrintTo(const Language& language, std::ostream* out) {
    *out << language.name;
}

class Receiving {
protected:
    void start(const Executable& program, const std::vector<std::string>& words,
               const std::vector<std::string>& environment) {
        process_ = std::make_unique<Process>(program, folder_.path().string(), words,
                                             Process::Errors::to_ours, environment);
        url_ = "http://127.0.0.1:" + std::to_string(process_->port()) + "/webhooks";
    }
    static Message message(const std::string& id) {
        return {.id = parse_uuid(id).value(),
                .type = "order.placed",
                .body = "{\"order\": 42,  \"note\": \"\xC3\xA9\"}\n",
                .content_type = "application/json",
                .correlation_id = "checkout-7"};
    }
    HttpHeaders headers_of(const Message& message, Duration ago = {}) const {
        return webhook::headers_of({.message = message,
                                    .subscription = subscription_,
                                    .now = system_clock().wall() - ago,
                                    .secrets = sender_,
                                    .sets = sets_})
            .value();
    }
    /// "200 …", as the receiver answers.
    std::string sent(const HttpHeaders& headers, const std::string& body) const {
        const http_out::Result result =
            http_out::perform({.url = url_, .headers = headers, .body = body});
        return std::to_string(result.status) + " " + result.body + result.error;
    }
    std::string sent(const Message& message, Duration ago = {}) const {
        return sent(headers_of(message, ago), message.body);
    }

    const Uuid subscription_ = parse_uuid("0f0e0d0c-0b0a-4908-8706-050403020100").value();
    const Message first_ = message("018f2b4e-1d2c-7a3b-8c4d-5e6f708192a3");
    const Message second_ = message("018f2b4e-1d2c-7a3b-8c4d-5e6f708192a4");
    std::vector<std::string> sender_{webhook::make_secret()};
    std::vector<HeaderSet> sets_{HeaderSet::standard, HeaderSet::outbox};
    TemporaryFolder folder_;
    std::unique_ptr<Process> process_{};
    std::string url_{};
};

class ReceiverOf : public Receiving, public testing::TestWithParam<Language> {
protected:
    void start(const std::string& set, const std::string& secrets) {
        Receiving::start(GetParam().program, GetParam().words,
                         {"WEBHOOK_SECRETS=" + secrets, "WEBHOOK_SET=" + set});
    }
};

TEST_P(ReceiverOf, BelievesWhatWeSendOnceAndNothingElse) {
    for (const char* set : {"standard", "outbox"}) {
        start(set, sender_.front());

        EXPECT_THAT(sent(first_), HasSubstr("200 ")) << set;
        EXPECT_THAT(sent(first_), testing::AllOf(HasSubstr("200 "), HasSubstr("duplicate"))) << set;
        EXPECT_THAT(sent(headers_of(second_), second_.body + " "), HasSubstr("400 ")) << set;
        EXPECT_THAT(sent(second_, std::chrono::minutes{6}), HasSubstr("400 ")) << set;
        EXPECT_THAT(sent(second_, -std::chrono::minutes{6}), HasSubstr("400 ")) << set;
        EXPECT_THAT(sent(HttpHeaders{{"Content-Type", "text/plain"}}, "x"), HasSubstr("400 "))
            << set;
        EXPECT_THAT(sent(second_), testing::AllOf(HasSubstr("200 "), HasSubstr("handled"))) << set;
    }
}

TEST_P(ReceiverOf, KnowsTheOldSecretAndTheNewWhileTheyRotate) {
    start("standard", "plain-old-one " + webhook::make_secret());
    sender_ = {webhook::make_secret(), "plain-old-one"};
    EXPECT_THAT(sent(first_), HasSubstr("handled"));
    sender_ = {webhook::make_secret()};
    EXPECT_THAT(sent(second_), HasSubstr("400 "));
}

TEST_P(ReceiverOf, IsNotFooledByAnIdThatWasNotSigned) {
    start("standard", sender_.front());
    HttpHeaders headers = headers_of(first_);
    headers.set("webhook-id", to_string(second_.id));
    EXPECT_THAT(sent(headers, first_.body), HasSubstr("400 "));
    headers = headers_of(first_, std::chrono::minutes{6});
    headers.set("webhook-timestamp", *headers_of(first_).find("webhook-timestamp"));
    EXPECT_THAT(sent(headers, first_.body), HasSubstr("400 "));
}

TEST_P(ReceiverOf, ChecksWithThePublicKeyWhereItsLanguageCan) {
    if (GetParam().name == std::string{"Python"}) return;  // no Ed25519 in its standard library
    const webhook::KeyPair pair = webhook::make_key_pair();
    start("standard", pair.public_key);
    sets_ = {HeaderSet::standard};
    sender_ = {pair.private_key};
    EXPECT_THAT(sent(first_), HasSubstr("handled"));
    EXPECT_THAT(sent(headers_of(second_), "x"), HasSubstr("400 "));
}

INSTANTIATE_TEST_SUITE_P(, ReceiverOf, testing::ValuesIn(languages()),
                         [](const auto& one) { return std::string{one.param.name}; });

#ifdef WAYBILL_DOTNET
class OutboxNetsReceiver : public Receiving, public testing::Test {};

TEST_F(OutboxNetsReceiver, InCSharpBelievesWhatWeSendOnceItComparesInOneCase) {
    const std::string home = folder_.path().string();
    const std::vector<std::string> environment{
        "DOTNET_CLI_HOME=" + home, "DOTNET_CLI_TELEMETRY_OPTOUT=1", "DOTNET_NOLOGO=1",
        "XDG_DATA_HOME=" + home, "WEBHOOK_SECRET=as-written"};
    const Ran built = Process{{WAYBILL_DOTNET},
                              home,
                              {"build", WAYBILL_RECEIVERS "/outboxnet.cs", "-o", home + "/out"},
                              Process::Errors::to_output,
                              environment}
                          .finish();
    ASSERT_EQ(built.code, 0) << built.output;
    start({WAYBILL_DOTNET}, {home + "/out/outboxnet.dll"}, environment);
    sets_ = {HeaderSet::outbox};
    sender_ = {"as-written"};

    EXPECT_EQ(sent(first_), "200 handled");
    EXPECT_EQ(sent(first_), "200 duplicate");
    EXPECT_THAT(sent(headers_of(second_), second_.body + " "), HasSubstr("401 "));
    sender_ = {"another"};
    EXPECT_THAT(sent(second_), HasSubstr("401 "));
}
#endif

}  // namespace
}  // namespace waybill::test
