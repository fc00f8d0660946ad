/// Publishing with a token that somebody else has issued.

#include "server/claims.hpp"

#include <array>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sha256.hpp"
#include "server/fixture.hpp"
#include "waybill/json.hpp"
#include "waybill/signing.hpp"

namespace waybill::test {
namespace {

using server::ClaimsConfig;
using server::Publisher;
using server::read_token;
using testing::HasSubstr;

const ClaimsConfig kClaims{.tenant = "tid", .user = "sub", .jwt_secret = std::string(32, 'k')};
constexpr const char* kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr StoreTime kNoon{std::chrono::seconds{1'700'000'000}};

std::string base64url(std::string_view bytes) {
    std::string text = signing::to_base64(bytes);
    while (text.ends_with('=')) text.pop_back();
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    return text;
}

std::string jwt(const std::string& payload, const std::string& header = kHeader,
                const std::string& key = kClaims.jwt_secret) {
    const std::string text = base64url(header) + "." + base64url(payload);
    const std::array<std::string_view, 1> pieces{text};
    return text + "." + base64url(signing::hmac(signing::Hash::sha256, key, pieces));
}

std::string problem_of(const std::string& token, const ClaimsConfig& config = kClaims) {
    const auto read = read_token(config, token, kNoon);
    const auto* problem = std::get_if<std::string>(&read);
    return problem == nullptr ? "" : *problem;
}

/// RFC 7515, A.1.
TEST(Token, TheExampleOfTheRfcIsRight) {
    const std::string token =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn"
        "V"
        "lfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const std::string key = signing::from_base64(
                                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZ"
                                "H75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==")
                                .value();
    const ClaimsConfig config{.user = "iss", .jwt_secret = key};
    const StoreTime then{std::chrono::seconds{1'300'819'380}};
    EXPECT_EQ(std::get<Publisher>(read_token(config, token, then)),
              (Publisher{std::nullopt, "joe"}));
    EXPECT_EQ(problem_of(token, config), "has expired");
}

TEST(Token, SaysTenantAndUser) {
    EXPECT_EQ(std::get<Publisher>(read_token(kClaims, jwt(R"({"tid":"a","sub":"u"})"), kNoon)),
              (Publisher{"a", "u"}));
    EXPECT_EQ(std::get<Publisher>(read_token(kClaims, jwt(R"({"tid":7,"sub":"u"})"), kNoon)),
              (Publisher{"7", "u"}));
    for (const char* payload :
         {R"({"sub":"u"})", R"({"tid":"","sub":"u"})", R"({"tid":null,"sub":"u"})",
          R"({"tid":["a"],"sub":"u"})", R"({"tid":true,"sub":"u"})"}) {
        EXPECT_EQ(problem_of(jwt(payload)), "has no claim tid") << payload;
    }
    EXPECT_EQ(problem_of(jwt(R"({"tid":"a"})")), "has no claim sub");
}

TEST(Token, CountsFromNbfToExp) {
    const auto at = [](const std::string& times) {
        return problem_of(jwt(R"({"tid":"a","sub":"u",)" + times + "}"));
    };
    EXPECT_EQ(at(R"("exp":1700000001)"), "");
    EXPECT_EQ(at(R"("exp":1699999990)"), "") << "clocks differ";
    EXPECT_EQ(at(R"("exp":1699999970)"), "has expired");
    EXPECT_EQ(at(R"("exp":1700000000.5)"), "");
    EXPECT_EQ(at(R"("exp":0)"), "has expired");
    EXPECT_EQ(at(R"("exp":-1)"), "has expired");
    EXPECT_EQ(at(R"("exp":1e300)"), "");
    EXPECT_EQ(at(R"("exp":"1700000001")"), "has an exp that is not a number");
    EXPECT_EQ(at(R"("exp":null)"), "has an exp that is not a number");
    EXPECT_EQ(at(R"("nbf":1699999999)"), "");
    EXPECT_EQ(at(R"("nbf":1700000030)"), "");
    EXPECT_EQ(at(R"("nbf":1700000031)"), "is not valid yet");
    EXPECT_EQ(at(R"("nbf":true)"), "has an nbf that is not a number");
}

TEST(Token, IsSignedWithOurSecretAndOurAlgorithmAlone) {
    const std::string payload = R"({"tid":"a","sub":"u"})";
    const std::string good = jwt(payload);
    EXPECT_EQ(problem_of(good), "");
    EXPECT_EQ(problem_of(jwt(payload, kHeader, std::string(32, 'x'))),
              "has a signature that is not right");
    for (const char* header :
         {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"RS256"})", R"({"alg":"HS512"})",
          R"({"alg":"hs256"})", R"({"typ":"JWT"})", R"({"alg":null})"}) {
        EXPECT_EQ(problem_of(jwt(payload, header)), "is not signed with HS256") << header;
    }
    EXPECT_NE(problem_of(jwt(payload, R"({"alg":"HS256","crit":["b64"],"b64":false})")), "");
    const std::string unsigned_token =
        base64url(R"({"alg":"none"})") + "." + base64url(payload) + ".";
    EXPECT_EQ(problem_of(unsigned_token), "is not signed with HS256");
    EXPECT_EQ(problem_of(good.substr(0, good.rfind('.') + 1)), "has a signature that is not right");
    const std::string other = base64url(R"({"tid":"b","sub":"u"})");
    const std::size_t dot = good.find('.') + 1;
    EXPECT_EQ(problem_of(good.substr(0, dot) + other + good.substr(good.rfind('.'))),
              "has a signature that is not right");
}

TEST(Token, NonsenseIsNone) {
    for (const std::string& token :
         {std::string{}, std::string{"."}, std::string{".."}, std::string{"a.b"},
          std::string{"a.b.c.d"}, std::string{"!.!.!"}, std::string(10'000, 'a'), jwt("{}") + "=",
          base64url("[]") + ".e30.AAAA", base64url("{") + ".e30.AAAA"}) {
        EXPECT_EQ(problem_of(token), "is not a JWT") << token.substr(0, 40);
    }
    for (const char* payload : {"", "[]", "1", "{", "\"x\""}) {
        EXPECT_EQ(problem_of(jwt(payload)), "has no claims that can be read") << payload;
    }
}

class PublishingWithAToken : public testing::Test {
protected:
    static server::Config config() {
        server::Config config;
        config.sources = {source_named("github", "github")};
        config.boxes = {{.name = "inbox"},
                        {.name = "outbox", .options = {.unmatched = Unmatched::park}}};
        config.server.claims = kClaims;
        config.server.admin_tokens = {"the operator's"};
        return config;
    }
    HttpAnswer ask(const std::string& method, const std::string& target, const std::string& token,
                   const std::string& body = {}) {
        return HttpClient{server_.port()}
            .ask(method + " " + target + " HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
                 token + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
            .value();
    }
    HttpAnswer publish(const std::string& token, const std::string& body) {
        return ask("POST", "/v1/messages", token, body);
    }
    std::string message(const std::string& id) {
        return server_.operate("GET", "/v1/messages/" + id)->body;
    }
    std::string listed() { return server_.operate("GET", "/v1/messages?box=outbox")->body; }

    ServerUnderTest server_{config()};
    const std::string alice_ = jwt(R"({"tid":"tenant-a","sub":"alice"})");
};

TEST_F(PublishingWithAToken, TenantAndUserComeFromIt) {
    for (const char* body : {R"({"type":"t","body":"1"})",
                             R"({"type":"t","body":"2","tenant":"tenant-a","user":"alice"})"}) {
        const HttpAnswer answer = publish(alice_, body);
        ASSERT_EQ(answer.status, 202) << answer.body;
        const std::string stored = message(json::parse(answer.body).find("id")->as_string());
        EXPECT_THAT(stored, HasSubstr(R"("tenant":"tenant-a")"));
        EXPECT_THAT(stored, HasSubstr(R"("user":"alice")"));
    }
}

TEST_F(PublishingWithAToken, NobodyPublishesForSomebodyElse) {
    const HttpAnswer tenant = publish(alice_, R"({"type":"t","body":"1","tenant":"tenant-b"})");
    EXPECT_EQ(tenant.status, 403);
    EXPECT_THAT(tenant.body, HasSubstr(R"("code":"wrong-tenant")"));
    const HttpAnswer user = publish(alice_, R"({"type":"t","body":"1","user":"bob"})");
    EXPECT_EQ(user.status, 403);
    EXPECT_THAT(user.body, HasSubstr(R"("code":"wrong-user")"));
    EXPECT_THAT(listed(), HasSubstr(R"("items":[])"));
}

TEST_F(PublishingWithAToken, ItOpensNothingElse) {
    EXPECT_EQ(ask("GET", "/v1/messages", alice_).status, 401);
    EXPECT_EQ(ask("POST", "/v1/boxes/pause", alice_, R"({"box":"outbox"})").status, 401);
    EXPECT_EQ(ask("POST", "/v1/messages/x/cancel", alice_).status, 401);
}

TEST_F(PublishingWithAToken, ABadOneIsToldWhy) {
    const HttpAnswer expired =
        publish(jwt(R"({"tid":"a","sub":"u","exp":1})"), R"({"type":"t","body":"1"})");
    EXPECT_EQ(expired.status, 401);
    EXPECT_THAT(expired.body, HasSubstr("the token has expired"));
    EXPECT_EQ(expired.headers.at("www-authenticate"), "Bearer");
    EXPECT_EQ(publish("nonsense", R"({"type":"t","body":"1"})").status, 401);
}

TEST_F(PublishingWithAToken, AnOperatorStillPublishesForAnybody) {
    EXPECT_EQ(publish("the operator's", R"({"type":"t","body":"1","tenant":"tenant-b"})").status,
              202);
    EXPECT_THAT(listed(), HasSubstr(R"("tenant":"tenant-b")"));
}

/// With the same words in every name: one tenant after the other.
TEST_F(PublishingWithAToken, NoTenantSuppressesReplacesOrHoldsUpWhatIsAnothers) {
    const std::string bob = jwt(R"({"tid":"tenant-b","sub":"bob"})");
    const std::string with_key = R"({"type":"t","body":"1","dedup_key":"k","lane":"l"})";
    const std::string with_collapse = R"({"type":"t","body":"1","collapse_key":"c"})";

    for (const std::string& body : {with_key, with_collapse}) {
        const HttpAnswer first = publish(alice_, body);
        const HttpAnswer second = publish(bob, body);
        EXPECT_EQ(first.status, 202) << first.body;
        EXPECT_EQ(second.status, 202) << second.body;
    }

    EXPECT_EQ(publish(alice_, with_key).status, 200) << "its own is a duplicate";
    EXPECT_EQ(publish(alice_, R"({"type":"t","body":"2","dedup_key":"k"})").status, 409);
    const json::Value all = json::parse(listed());
    EXPECT_EQ(all.find("items")->as_array().size(), 4U) << "a version of the other was collapsed";
    std::set<std::string> lanes;
    for (const json::Value& one : all.find("items")->as_array()) {
        lanes.insert(one.find("lane")->as_string());
    }
    EXPECT_EQ(lanes.size(), 4U) << "a lane was shared";
}

TEST_F(PublishingWithAToken, TheHeaderIsAsMuchATenantsOwnAsTheKey) {
    const auto with_header = [&](const std::string& tenant) {
        const std::string body = R"({"type":"t","body":"1"})";
        return HttpClient{server_.port()}
            .ask(
                "POST /v1/messages HTTP/1.1\r\nHost: test\r\nIdempotency-Key: k\r\n"
                "Authorization: Bearer " +
                jwt(R"({"sub":"u","tid":")" + tenant + "\"}") +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
            .value()
            .status;
    };
    EXPECT_EQ(with_header("a"), 202U);
    EXPECT_EQ(with_header("b"), 202U);
    EXPECT_EQ(with_header("a"), 200U);
}

TEST_F(PublishingWithAToken, NoChoiceOfWordsMakesTwoTenantsKeysOne) {
    const auto key_of = [&](const std::string& tenant, const std::string& key) {
        const HttpAnswer answer = publish(jwt(R"({"sub":"u","tid":")" + tenant + "\"}"),
                                          R"({"type":"t","body":"1","dedup_key":")" + key + "\"}");
        return answer.status;
    };
    EXPECT_EQ(key_of("a", "b:c"), 202U);
    EXPECT_EQ(key_of("a:b", "c"), 202U);
    EXPECT_EQ(key_of("a%3Ab", "c"), 202U);
    const std::string longest(256, 'k');
    EXPECT_EQ(key_of("a", longest), 202U) << "as long as a key may be";
    EXPECT_EQ(key_of("b", longest), 202U);
    EXPECT_EQ(key_of("b", longest), 200U);
    EXPECT_EQ(key_of("b", longest + "k"), 400U);
    const std::string hash = signing::to_hex(sha256_bytes("b:" + longest));
    for (const char* tenant : {"sha256", "%3A", ":"}) {
        EXPECT_EQ(key_of(tenant, hash), 202U) << "it is what a long key of b became: " << tenant;
    }
    EXPECT_EQ(key_of("", hash), 401U) << "whose keys would begin with the colon of hashes";
}

TEST_F(PublishingWithAToken, WhereWebhooksComeInNothingIsForged) {
    const HttpAnswer answer = publish(alice_, R"({"type":"t","body":"1","box":"inbox"})");
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr(R"("code":"wrong-box")"));
    EXPECT_EQ(publish("the operator's", R"({"type":"t","body":"1","box":"inbox"})").status, 202);
}

TEST(PublishingWithoutClaims, AJwtIsNoToken) {
    ServerUnderTest server;
    const std::string body = R"({"type":"t","body":"1"})";
    const auto answer = HttpClient{server.port()}.ask(
        "POST /v1/messages HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
        jwt(R"({"tid":"a","sub":"u"})", kHeader, "") +
        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(answer.value().status, 401);
}

}  // namespace
}  // namespace waybill::test
