/// A subscription is tried out: what is sent says what a delivery would have said, and is signed by whom a delivery
/// would have been.

#include <fstream>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Trial : public testing::Test {
protected:
    /// One subscription, and secrets of tenants as `pattern` finds them.
    void serve(Subscription subscription, const std::string& pattern) {
        subscription.retry.max_attempts = 1;
        server::Config config = with({subscription});
        config.secrets.tenant_pattern = pattern;
        server_.emplace(config);
    }
    std::string in_files() const { return "file:" + folder_.file("{tenant}"); }
    HttpAnswer try_out(const std::string& body = "{}") {
        const std::string id = to_string(server_->config().subscriptions.front().id);
        return server_->operate("POST", "/v1/subscriptions/" + id + "/test", body).value();
    }
    HttpAnswer try_message_of(const std::string& tenant) {
        const std::string id = publish(*server_, "1", R"(,"tenant":")" + tenant + "\"");
        EXPECT_TRUE(server_->eventually("/v1/stats", R"("open":0)"));
        delivered_ = endpoint_.requests().size();
        return try_out(R"({"message":")" + id + "\"}");
    }
    Subscription without_secret() const {
        Subscription one = to(endpoint_);
        one.secrets.clear();
        return one;
    }

    Endpoint endpoint_;
    TemporaryFolder folder_;
    /// Before it was tried out.
    std::size_t delivered_ = 0;
    std::optional<ServerUnderTest> server_;
};

TEST_F(Trial, OfAMessageIsSignedWithTheSecretOfItsTenantAsItsDeliveryWas) {
    const std::string own = "of-acme-and-nobody-else";
    std::ofstream{folder_.file("acme")} << own << "\n";
    for (const Subscription& one : {to(endpoint_), without_secret()}) {
        serve(one, in_files());

        EXPECT_EQ(try_message_of("acme").status, 200);

        ASSERT_EQ(endpoint_.requests().size(), delivered_ + 1);
        EXPECT_TRUE(is_signed_with(endpoint_.requests().at(delivered_ - 1), own));
        EXPECT_TRUE(is_signed_with(endpoint_.requests().at(delivered_), own));
        server_.reset();
    }
}

TEST_F(Trial, OfATenantWithoutASecretIsSignedWithTheSubscriptionsOwn) {
    serve(to(endpoint_), in_files());

    EXPECT_EQ(try_message_of("acme").status, 200);

    EXPECT_TRUE(is_signed_with(endpoint_.requests().back(), endpoint_secret));
}

TEST_F(Trial, IsRefusedWithTheNameOfTheVariableThatIsMissingInsteadOfBeingSentUnsigned) {
    serve(without_secret(), "env:WAYBILL_TEST_OF_NOBODY_{tenant}");

    const HttpAnswer refused = try_message_of("acme");

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body,
                AllOf(HasSubstr("cannot-sign"),
                      HasSubstr("env:WAYBILL_TEST_OF_NOBODY_acme is not set; export it")));
    EXPECT_TRUE(endpoint_.requests().empty()) << "it went out all the same";
}

TEST_F(Trial, IsRefusedWhenAProgramCannotSayTheSecretAlthoughThereIsAnother) {
    serve(to(endpoint_), "cmd:false {tenant}");

    const HttpAnswer refused = try_message_of("acme");

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr("cmd:false acme the command failed"));
    EXPECT_TRUE(endpoint_.requests().empty());
}

TEST_F(Trial, SaysThatAllSecretsHaveExpiredAlsoWhereTenantsMayHaveTheirOwnAsADeliveryDoes) {
    Subscription expired = to(endpoint_);
    expired.secrets.at(0).until = StoreTime{std::chrono::seconds{1}};
    serve(expired, in_files());

    const HttpAnswer refused = try_message_of("acme");

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body,
                AllOf(HasSubstr("all its secrets have expired"), Not(HasSubstr("neither"))));
    EXPECT_THAT(server_->operate("GET", "/v1/dead")->body,
                HasSubstr("all its secrets have expired"));
    EXPECT_TRUE(endpoint_.requests().empty());
}

TEST_F(Trial, OfATenantThatCannotNameASecretSaysSo) {
    serve(without_secret(), in_files());

    const HttpAnswer refused = try_message_of("../acme");

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr("names no secret"));
}

TEST_F(Trial, WithAnExampleIsOfTheTenantWhoseMessagesItGets) {
    std::ofstream{folder_.file("acme")} << "of-acme-and-nobody-else\n";
    Subscription one = without_secret();
    one.tenant = "acme";
    serve(one, in_files());

    EXPECT_EQ(try_out().status, 200);

    ASSERT_EQ(endpoint_.requests().size(), 1U);
    EXPECT_TRUE(is_signed_with(endpoint_.requests().front(), "of-acme-and-nobody-else"));
}

}  // namespace
}  // namespace waybill::test
