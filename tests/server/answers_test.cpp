/// Every answer of the contract, over a real socket.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "server/fixture.hpp"
#include "support/gzip.hpp"

namespace waybill::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const Source kStripe = source_named("stripe", "stripe");
const Source kSlack = source_named("slack", "slack");
constexpr const char* kEvent = R"({"id":"evt_1","object":"event","type":"invoice.paid"})";

server::Config with_sources() {
    server::Config config;
    config.sources = {kStripe, kSlack};
    config.sources[0].path = "/stripe/events";
    config.targets = {log_target("log")};
    config.server.body_max = 1000;
    config.server.header_max = 2000;
    return config;
}

class Answers : public testing::Test {
protected:
    HttpAnswer ask(const std::string& request) {
        const auto answer = HttpClient{server_.port()}.ask(request);
        EXPECT_TRUE(answer);
        return answer.value_or(HttpAnswer{});
    }
    std::string listed() { return server_.operate("GET", "/v1/messages")->body; }

    ServerUnderTest server_{with_sources()};
};

TEST_F(Answers, ANewWebhookIs202AndADuplicate200WithTheFirstId) {
    const HttpAnswer first = ask(signed_post(kStripe, kEvent));
    const HttpAnswer second = ask(signed_post(kStripe, kEvent));

    EXPECT_EQ(first.status, 202);
    EXPECT_THAT(first.body, HasSubstr(R"("status":"accepted")"));
    EXPECT_EQ(second.status, 200);
    EXPECT_THAT(second.body, HasSubstr(R"("status":"duplicate")"));
    const std::string id = first.body.substr(0, first.body.find(','));
    EXPECT_THAT(second.body, HasSubstr(id));
    EXPECT_TRUE(server_.eventually("/v1/messages", R"("state":"done")"));
}

TEST_F(Answers, TheSameIdWithAnotherBodyIsADuplicateAndTheFirstBodyStays) {
    const HttpAnswer first = ask(signed_post(kStripe, kEvent));
    const HttpAnswer second =
        ask(signed_post(kStripe, R"({"id":"evt_1","object":"event","type":"other"})"));

    EXPECT_EQ(first.status, 202);
    EXPECT_EQ(second.status, 200);
    EXPECT_THAT(listed(), Not(HasSubstr("other")));
}

TEST_F(Answers, TheFixedPathOfASourceWorksToo) {
    std::string request = signed_post(kStripe, kEvent);
    request.replace(request.find("/webhooks/stripe"), 16, "/stripe/events");

    EXPECT_EQ(ask(request).status, 202);
}

struct Refused {
    const char* what;
    std::string request;
    int status;
    const char* code;
};

TEST_F(Answers, WhatIsRefusedIsToldWhyAndIsNotStored) {
    const StoreTime now = system_clock().wall();
    std::string forged = signed_post(kStripe, kEvent);
    forged.replace(forged.find("paid"), 4, "free");
    std::string nowhere = signed_post(kStripe, kEvent);
    nowhere.replace(nowhere.find("/webhooks/stripe"), 16, "/webhooks/strips");
    std::string put = signed_post(kStripe, kEvent);
    put.replace(0, 4, "PUT");
    const std::string head = "POST /webhooks/stripe HTTP/1.1\r\nHost: a\r\n";

    for (const Refused& one : std::vector<Refused>{
             {"a bad signature", forged, 400, "bad-signature"},
             {"no signature", head + "Content-Length: 2\r\n\r\n{}", 400, ""},
             {"stale", signed_post(kStripe, kEvent, {}, {}, now - seconds{301}), 400, "stale"},
             {"from the future", signed_post(kStripe, kEvent, {}, {}, now + seconds{302}), 400,
              "stale"},
             {"signed, not JSON", signed_post(kStripe, "[1,"), 400, ""},
             {"signed, not an object", signed_post(kStripe, "[1]"), 400, ""},
             {"no such source", nowhere, 404, ""},
             {"another method", put, 405, ""},
             {"a large body", signed_post(kStripe, std::string(1001, 'x')), 413, "body-too-large"},
             {"an encoding", head + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415,
              "unsupported-encoding"},
             {"large headers", head + "A: " + std::string(2000, 'x') + "\r\n\r\n", 431,
              "headers-too-large"},
             {"bad framing", head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400,
              "bad-content-length"},
             {"nothing there", "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404, "not-found"},
             {"an operator without a token", "GET /v1/messages HTTP/1.1\r\nHost: a\r\n\r\n", 401,
              "unauthorized"},
             {"an operator with a wrong token",
              "GET /v1/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n", 401,
              "unauthorized"}}) {
        SCOPED_TRACE(one.what);
        const HttpAnswer answer = ask(one.request);
        EXPECT_EQ(answer.status, one.status) << answer.body;
        EXPECT_THAT(answer.body, HasSubstr(R"({"error":{"code":")" + std::string{one.code}));
    }
    EXPECT_EQ(listed(), "{\"items\":[]}\n");
}

TEST_F(Answers, TheWordBearerHasNoCase) {
    const auto local =
        server::read_local_access(server::local_access_file(server_.store_file())).value();
    for (const char* scheme : {"Bearer ", "bearer ", "BEARER  "}) {
        EXPECT_EQ(ask("GET /v1/messages HTTP/1.1\r\nHost: a\r\nAuthorization: " +
                      std::string{scheme} + local.token + "\r\n\r\n")
                      .status,
                  200)
            << scheme;
    }
    for (const char* scheme : {"Basic ", "Bearer", ""}) {
        EXPECT_EQ(ask("GET /v1/messages HTTP/1.1\r\nHost: a\r\nAuthorization: " +
                      std::string{scheme} + local.token + "\r\n\r\n")
                      .status,
                  401)
            << scheme;
    }
}

TEST_F(Answers, ACompressedBodyIsTakenWhereItsSourceSaysSoAndABombIsNot) {
    const HttpHeaders gzip{{"Content-Encoding", "gzip"}};
    server::Config config = server_.config();
    config.sources[0].gzip = Gzip::signed_as_sent;
    ASSERT_EQ(ask(signed_post(kStripe, compressed(kEvent), {}, gzip)).status, 415);
    server_.server().reload(config);

    const HttpAnswer good = ask(signed_post(kStripe, compressed(kEvent), {}, gzip));
    const HttpAnswer bomb =
        ask(signed_post(kStripe, compressed(std::string(500'000, ' ')), {}, gzip));
    const HttpAnswer elsewhere = ask(signed_post(kSlack, compressed(kEvent), {}, gzip));
    const HttpAnswer operators =
        ask("POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
            "Content-Length: 1\r\n\r\nx");
    const HttpAnswer twice = ask(signed_post(
        kStripe, compressed(kEvent), {}, {{"Content-Encoding", "gzip"}, {"Content-Encoding", ""}}));

    EXPECT_EQ(good.status, 202) << good.body;
    EXPECT_EQ(bomb.status, 413) << bomb.body;
    EXPECT_EQ(elsewhere.status, 415) << elsewhere.body;
    EXPECT_EQ(operators.status, 415) << operators.body;
    EXPECT_EQ(twice.status, 415) << twice.body;
    EXPECT_THAT(listed(), HasSubstr("invoice.paid"));
}

TEST_F(Answers, AHandshakeIsAnsweredAndNotStored) {
    const HttpAnswer answer =
        ask(signed_post(kSlack, R"({"type":"url_verification","challenge":"canary"})"));

    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("canary"));
    EXPECT_EQ(listed(), "{\"items\":[]}\n");
}

TEST_F(Answers, ItLivesAndIsReady) {
    const auto live = HttpClient{server_.port()}.get("/healthz");
    const HttpAnswer ready = once_ready(server_.port());

    ASSERT_TRUE(live);
    EXPECT_EQ(live->status, 200);
    EXPECT_EQ(ready.status, 200);
    EXPECT_THAT(ready.body, HasSubstr(R"("durability":"strict")"));
}

TEST_F(Answers, AStoreThatCannotWriteIs503WithRetryAfterAndTheNextTryIsAccepted) {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(server_.store_file().c_str(), &other), SQLITE_OK);
    // Whatever the engine writes now and then may be in the way for a moment.
    sqlite3_busy_timeout(other, 10'000);
    ASSERT_EQ(sqlite3_exec(other, "begin immediate", nullptr, nullptr, nullptr), SQLITE_OK);

    const HttpAnswer down = ask(signed_post(kStripe, kEvent));
    sqlite3_exec(other, "rollback", nullptr, nullptr, nullptr);
    sqlite3_close(other);
    const HttpAnswer up = ask(signed_post(kStripe, kEvent));

    EXPECT_EQ(down.status, 503) << down.body;
    EXPECT_TRUE(down.headers.contains("retry-after"));
    EXPECT_EQ(up.status, 202) << up.body;
}

TEST_F(Answers, OperatorsMistakesAreExplained) {
    EXPECT_EQ(server_.operate("GET", "/v1/messages?limit=0")->status, 400);
    EXPECT_EQ(server_.operate("GET", "/v1/messages?since=yesterday")->status, 400);
    EXPECT_EQ(server_.operate("GET", "/v1/messages/nonsense")->status, 400);
    EXPECT_EQ(server_.operate("GET", "/v1/messages/01980000-0000-7000-8000-000000000000")->status,
              404);
    EXPECT_EQ(server_.operate("POST", "/v1/dead/requeue", "{")->status, 400);
    EXPECT_EQ(server_.operate("POST", "/v1/dead/requeue")->status, 400)
        << "a filter that names nothing";
    EXPECT_EQ(server_.operate("DELETE", "/v1/messages")->status, 404);
}

TEST(Publish, AMessageIsAppendedOnceAndASecondBodyUnderItsKeyIsAConflict) {
    server::Config config;
    config.boxes = {{.name = "inbox"}, {.name = "outbox"}};
    ServerUnderTest server{config};
    const auto publish = [&](const std::string& order) {
        return *server.operate("POST", "/v1/messages", order);
    };
    const std::string order =
        R"({"type":"order.placed","body":{"n":1},"dedup_key":"k","lane":"7"})";

    const HttpAnswer first = publish(order);
    const HttpAnswer again = publish(order);
    const HttpAnswer other = publish(R"({"type":"order.placed","body":"x","dedup_key":"k"})");

    EXPECT_EQ(first.status, 202) << first.body;
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(other.status, 409) << other.body;
    EXPECT_EQ(publish(R"({"type":"a","bdy":"x"})").status, 400) << "a member nobody knows";
    EXPECT_EQ(publish(R"({"body":"x"})").status, 400) << "no type";
    EXPECT_EQ(publish(R"({"type":"a","box":"none"})").status, 400) << "no such box";
    EXPECT_EQ(publish(R"({"type":"a","body_base64":"?"})").status, 400);
    EXPECT_EQ(publish("[]").status, 400);
    EXPECT_THAT(server.operate("GET", "/v1/messages?box=outbox")->body, HasSubstr(R"("lane":"7")"));
}

TEST_F(Answers, AReloadTakesOverAtOnceAndABrokenOneChangesNothing) {
    const Source fresh = source_named("github", "github");
    const std::string request =
        signed_post(fresh, "{}", "delivery-1", {{"X-GitHub-Event", "push"}});
    ASSERT_EQ(ask(request).status, 404);
    server::Config config = server_.config();
    config.sources.push_back(source_named("broken", "no such provider"));
    EXPECT_THROW(server_.server().reload(config), ConfigError);
    ASSERT_EQ(ask(signed_post(kStripe, kEvent)).status, 202) << "the old one is in force";

    config.sources = {kStripe, fresh};
    config.targets.push_back(log_target("second"));
    server_.server().reload(config);

    EXPECT_EQ(ask(request).status, 202);
    EXPECT_EQ(ask(signed_post(kStripe, kEvent)).status, 200) << "what was stored is known";
    EXPECT_TRUE(server_.eventually("/v1/messages?source=github", R"("state":"done")"));
    EXPECT_TRUE(server_.eventually("/v1/targets", R"("key":"second")"));
}

TEST(AnswersOnMemory, TheMemoryStoreServesToo) {
    server::Config config = with_sources();
    config.store = "memory:";
    ServerUnderTest server{config};

    EXPECT_EQ(HttpClient{server.port()}.ask(signed_post(kStripe, kEvent))->status, 202);
    EXPECT_EQ(HttpClient{server.port()}.ask(signed_post(kStripe, kEvent))->status, 200);
}

}  // namespace
}  // namespace waybill::test
