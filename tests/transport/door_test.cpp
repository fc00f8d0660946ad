#include <algorithm>
#include <array>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/http_client.hpp"
#include "transport/http_in/http_in.hpp"

namespace waybill::test {
namespace {

using http_in::HttpIn;
using http_in::Options;
using http_in::Reply;
using std::chrono::milliseconds;
using std::chrono::seconds;

void echo(const HttpRequest& request, const Reply& reply) {
    reply({.status = 200, .headers = {}, .body = request.method + " " + request.body});
}

/// Replies that a test answers when it likes.
class Desk {
public:
    http_in::Handler handler() {
        return [this](HttpRequest, Reply reply) {
            const std::lock_guard lock{mutex_};
            replies_.push_back(std::move(reply));
            arrived_.notify_all();
        };
    }
    bool wait_for(std::size_t count) {
        std::unique_lock lock{mutex_};
        return arrived_.wait_for(lock, seconds{60}, [&] { return replies_.size() >= count; });
    }
    std::vector<Reply> take() {
        const std::lock_guard lock{mutex_};
        return std::exchange(replies_, {});
    }

private:
    std::mutex mutex_;  ///< guards the replies
    std::vector<Reply> replies_;
    std::condition_variable arrived_;
};

TEST(HttpIn, AnAnswerMayComeLaterAndFromAnotherThread) {
    Desk desk;
    HttpIn door{{.port = 0}, desk.handler()};
    HttpClient client{door.port()};

    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    ASSERT_TRUE(desk.wait_for(1));
    desk.take().front()({.status = 202, .headers = {{"X-Id", "7"}}, .body = "later"});
    const auto answer = client.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->headers.at("x-id"), "7");
    EXPECT_EQ(answer->body, "later");
}

TEST(HttpIn, ARequestThatIsForgottenIsAnswered503) {
    HttpIn door{{.port = 0}, [](const HttpRequest&, const Reply&) {}};

    const auto answer = HttpClient{door.port()}.get("/x");

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->headers.at("retry-after"), "1");
}

TEST(HttpIn, AHandlerThatThrowsIsAnswered500AndHarmsNobodyElse) {
    HttpIn door{{.port = 0}, [](const HttpRequest& request, const Reply& reply) {
                    if (request.target == "/bad") throw std::runtime_error("secret detail");
                    echo(request, reply);
                }};
    HttpClient client{door.port()};

    const auto bad = client.get("/bad");
    const auto good = client.get("/good");

    ASSERT_TRUE(bad && good);
    EXPECT_EQ(bad->status, 500);
    EXPECT_THAT(bad->body, testing::Not(testing::HasSubstr("secret")));
    EXPECT_EQ(good->status, 200);
}

TEST(HttpIn, AHandlerCannotBreakTheFraming) {
    HttpIn door{{.port = 0}, [](const HttpRequest&, const Reply& reply) {
                    reply({.status = 200,
                           .headers = {{"Content-Length", "1"},
                                       {"X-Split", "a\r\nX-Injected: 1"},
                                       {"Transfer-Encoding", "chunked"},
                                       {"X-Good", "yes"}},
                           .body = "body"});
                }};

    const auto answer = HttpClient{door.port()}.get("/x");

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "body");
    EXPECT_EQ(answer->headers.at("content-length"), "4");
    EXPECT_FALSE(answer->headers.contains("x-injected"));
    EXPECT_FALSE(answer->headers.contains("transfer-encoding"));
    EXPECT_EQ(answer->headers.at("x-good"), "yes");
}

TEST(HttpIn, AWaitingSenderIsToldToContinue) {
    HttpIn door{{.port = 0}, echo};
    HttpClient client{door.port()};

    client.send("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    std::array<char, 25> interim{};
    ASSERT_EQ(::recv(client.descriptor(), interim.data(), interim.size(), MSG_WAITALL), 25);
    client.send("hi");
    const auto answer = client.read();

    EXPECT_EQ(std::string(interim.data(), interim.size()), "HTTP/1.1 100 Continue\r\n\r\n");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "POST hi");
}

TEST(HttpIn, ASenderOfALargeBodySeesItsRefusal) {
    Options options{.port = 0};
    options.request.body_bytes_max = 1000;
    HttpIn door{options, echo};
    HttpClient client{door.port()};

    const std::string body(5'000'000, 'x');
    Background sender{[&](const std::stop_token&) {
        client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n" + body);
    }};
    const auto answer = client.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 413);
}

TEST(HttpIn, WhoSendsNothingIsSentAway) {
    HttpIn door{{.port = 0, .idle_deadline = milliseconds{50}}, echo};
    HttpClient silent{door.port()};
    HttpClient once{door.port()};

    ASSERT_TRUE(once.get("/x"));

    EXPECT_TRUE(silent.ends());
    EXPECT_TRUE(once.ends());
}

TEST(HttpIn, ADrippingHeadIsAnswered408) {
    HttpIn door{{.port = 0, .header_deadline = milliseconds{50}}, echo};
    HttpClient client{door.port()};

    client.send("POST /x HTTP/1.1\r\nHost: ");
    const auto answer = client.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408);
    client.finish_sending();
    EXPECT_TRUE(client.ends());
}

TEST(HttpIn, ADrippingBodyIsAnswered408) {
    HttpIn door{{.port = 0, .body_deadline = milliseconds{50}}, echo};
    HttpClient counted{door.port()};
    HttpClient chunked{door.port()};

    counted.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    chunked.send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha");
    const auto first = counted.read();
    const auto second = chunked.read();

    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->status, 408);
    EXPECT_EQ(second->status, 408);
}

TEST(HttpIn, AHandlerThatIsTooSlowIsNotWaitedForAndItsLateAnswerGoesNowhere) {
    Desk desk;
    HttpIn door{{.port = 0, .answer_deadline = milliseconds{50}}, desk.handler()};
    HttpClient client{door.port()};

    const auto answer = client.get("/x");
    ASSERT_TRUE(answer);
    for (const Reply& reply : desk.take()) reply({.status = 200, .headers = {}, .body = "late"});

    EXPECT_EQ(answer->status, 503);
    EXPECT_THAT(answer->body, testing::HasSubstr("outcome-unknown"));
    client.finish_sending();
    EXPECT_TRUE(client.ends());
}

TEST(HttpIn, MoreRequestsThanAllowedAreAnswered503AndTheOthersAreServed) {
    Desk desk;
    HttpIn door{{.port = 0, .requests_max = 2}, desk.handler()};
    HttpClient first{door.port()};
    HttpClient second{door.port()};
    first.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
    second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(desk.wait_for(2));

    HttpClient third{door.port()};
    const auto refused = third.get("/3");
    for (const Reply& reply : desk.take()) reply({.status = 200, .headers = {}, .body = {}});

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(refused->headers.at("retry-after"), "1");
    EXPECT_EQ(first.read()->status, 200);
    EXPECT_EQ(second.read()->status, 200);
    third.send("GET /4 HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(desk.wait_for(1)) << "there is room again";
}

TEST(HttpIn, MoreConnectionsThanAllowedAreAnswered503) {
    HttpIn door{{.port = 0, .connections_max = 1}, echo};
    HttpClient first{door.port()};
    ASSERT_TRUE(first.get("/x"));

    HttpClient second{door.port()};
    const auto refused = second.read();

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(first.get("/x")->status, 200);
}

TEST(HttpIn, ABodyThatKeepsDrippingIsAnswered408LongBeforeItsDeadline) {
    HttpIn door{{.port = 0,
                 .body_deadline = seconds{600},
                 .body_rate_min = 1'000'000,
                 .body_rate_grace = milliseconds{50}},
                echo};
    HttpClient dripping{door.port()};
    HttpClient quick{door.port()};

    dripping.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    pollfd answered{.fd = dripping.descriptor(), .events = POLLIN, .revents = 0};
    while (::poll(&answered, 1, 5) == 0) dripping.send("x");
    const auto answer = dripping.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408);
    EXPECT_EQ(quick.post("/x", "hi")->status, 200);
}

TEST(HttpIn, OneAddressWithTooManyConnectionsIsAnswered429UntilOneLeaves) {
    HttpIn door{{.port = 0, .per_address = {.connections_max = 2}}, echo};
    HttpClient first{door.port()};
    ASSERT_TRUE(first.get("/x"));
    {
        HttpClient second{door.port()};
        ASSERT_TRUE(second.get("/x"));
        HttpClient third{door.port()};
        const auto refused = third.read();

        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->status, 429);
        EXPECT_EQ(refused->headers.at("retry-after"), "1");
        EXPECT_TRUE(third.ends());
    }
    while (door.connections() > 1) std::this_thread::yield();

    EXPECT_EQ(HttpClient{door.port()}.get("/x")->status, 200);
    EXPECT_EQ(first.get("/x")->status, 200);
}

TEST(HttpIn, AConnectionThatIsTurnedAwayIsInTheAccessLog) {
    for (const bool per_address : {true, false}) {
        http_in::Options options{.port = 0};
        (per_address ? options.per_address.connections_max : options.connections_max) = 1;
        std::promise<std::string> turned_away;
        HttpIn door{options, echo, [&](const http_in::Access& access) {
                        if (access.status == 200) return;
                        turned_away.set_value(std::string{access.remote} + " " +
                                              std::to_string(access.status) + " " +
                                              std::string{access.outcome});
                    }};
        HttpClient first{door.port()};
        ASSERT_TRUE(first.get("/x"));

        HttpClient second{door.port()};
        ASSERT_TRUE(second.read());

        auto line = turned_away.get_future();
        ASSERT_EQ(line.wait_for(seconds{60}), std::future_status::ready);
        EXPECT_EQ(line.get(), per_address ? "127.0.0.1 429 too-many-connections"
                                          : "127.0.0.1 503 too-many-connections");
    }
}

TEST(HttpIn, OneAddressThatAsksTooFastIsAnswered429BeforeItsBodyIsRead) {
    HttpIn door{{.port = 0, .per_address = {.requests_per_second = 0.01}}, echo};
    HttpClient client{door.port()};

    EXPECT_EQ(client.get("/x")->status, 200);
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    const auto refused = client.read();

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 429);
    EXPECT_GE(std::stoi(refused->headers.at("retry-after")), 1);
    EXPECT_LE(std::stoi(refused->headers.at("retry-after")), 100);
    door.set_limits({}, {});
    EXPECT_EQ(HttpClient{door.port()}.get("/x")->status, 200);
}

TEST(HttpIn, AProbeIsNotToldThatItAsksTooFast) {
    HttpIn door{
        {.port = 0, .per_address = {.requests_per_second = 0.01}, .uncounted_paths = {"/healthz"}},
        echo};
    HttpClient client{door.port()};

    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/healthz")->status, 200) << i;
    EXPECT_EQ(client.get("/x")->status, 200) << "the probes took nobody's turn";
    EXPECT_EQ(client.get("/x")->status, 429);
}

TEST(AddressLimits, APaceIsKeptPerAddressAndARestIsForgiven) {
    const http_in::AddressOptions options{.requests_per_second = 10};
    http_in::AddressLimits limits{options};
    const LocalTime start{seconds{1000}};

    for (int i = 0; i < 10; ++i) EXPECT_EQ(limits.admit("a", start), Duration{}) << i;
    EXPECT_EQ(limits.admit("a", start), milliseconds{100});
    EXPECT_EQ(limits.admit("b", start), Duration{});
    EXPECT_EQ(limits.admit("a", start + milliseconds{100}), Duration{});
    EXPECT_GT(limits.admit("a", start + milliseconds{100}), Duration{});
    limits.forget_rested(start + seconds{1});
    EXPECT_GT(limits.admit("a", start + milliseconds{150}), Duration{}) << "it has not rested yet";
    for (int i = 0; i < 10; ++i) EXPECT_EQ(limits.admit("a", start + seconds{9}), Duration{}) << i;
}

TEST(HttpIn, AStopAnswersWhatWasReadAndClosesTheRest) {
    Desk desk;
    HttpIn door{{.port = 0}, desk.handler()};
    HttpClient idle{door.port()};
    HttpClient busy{door.port()};
    busy.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(desk.wait_for(1));

    Background stopping{[&](const std::stop_token&) { door.stop(seconds{60}); }};
    EXPECT_TRUE(idle.ends());
    desk.take().front()({.status = 202, .headers = {}, .body = {}});
    const auto answer = busy.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->headers.at("connection"), "close");
    busy.finish_sending();
    EXPECT_TRUE(busy.ends());
    stopping.join();
    EXPECT_THROW(HttpClient{door.port()}, std::runtime_error);
}

TEST(HttpIn, AStopDoesNotWaitLongerThanItsGrace) {
    Desk desk;
    HttpIn door{{.port = 0}, desk.handler()};
    HttpClient stuck{door.port()};
    stuck.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(desk.wait_for(1));

    door.stop(milliseconds{50});

    EXPECT_TRUE(stuck.ends());
}

TEST(HttpIn, TheAccessLogHasTheOutcomeAndNeitherQueryNorHeaderNorBody) {
    std::mutex mutex;
    std::vector<std::string> lines;
    {
        HttpIn door{
            {.port = 0},
            [](const HttpRequest&, const Reply& reply) {
                reply({.status = 202, .headers = {}, .body = "canary-answer"}, "accepted");
            },
            [&](const http_in::Access& access) {
                const std::lock_guard lock{mutex};
                lines.push_back(std::string{access.remote} + " " + std::string{access.method} +
                                " " + std::string{access.path} + " " +
                                std::to_string(access.status) + " " + std::string{access.outcome});
            }};
        HttpClient client{door.port()};
        client.post("/webhooks/x?token=canary-query", "canary-body", "X-Sign: canary-header\r\n");
        client.ask("BAD\r\n\r\n");
    }

    EXPECT_THAT(lines, testing::ElementsAre("127.0.0.1 POST /webhooks/x 202 accepted",
                                            testing::HasSubstr("400 bad-request-line")));
}

TEST(HttpIn, OptionsThatCannotWorkAreRefusedWithAReason) {
    HttpIn first{{.port = 0}, echo};

    EXPECT_THROW(HttpIn({.port = first.port()}, echo), ConfigError);
    EXPECT_THROW(HttpIn({.host = "no.such.host.invalid", .port = 0}, echo), ConfigError);
    EXPECT_THROW(HttpIn({.port = 0, .tls = http_in::TlsFiles{"none.pem", "none.pem"}}, echo),
                 ConfigError);
    EXPECT_EQ(check(Options{.connections_max = 0, .idle_deadline = seconds{0}}).size(), 2U);
}

TEST(HttpIn, AThousandSlowConnectionsDoNotKeepOthersFromBeingServed) {
    HttpIn door{{.port = 0,
                 .header_deadline = seconds{600},
                 .body_deadline = seconds{600},
                 .body_rate_min = 0,
                 .idle_deadline = seconds{600}},
                echo};
    std::vector<HttpClient> slow;
    for (int i = 0; i < 1000; ++i) {
        HttpClient& client = slow.emplace_back(door.port());
        if (i % 3 == 0) client.send("POST /x HTTP/1.1\r\nHos");
        if (i % 3 == 1) client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
    }

    HttpClient quick{door.port()};
    for (int i = 0; i < 200; ++i) {
        slow[static_cast<std::size_t>(i) * 3].send("t");
        ASSERT_EQ(quick.post("/x", "hi")->body, "POST hi");
        ASSERT_EQ(HttpClient{door.port()}.get("/x")->status, 200);
    }

    EXPECT_GE(door.connections(), 1001U);
    // And a slow one that comes to its end is served as well.
    slow[1].send("cdefghi");
    EXPECT_EQ(slow[1].read()->body, "POST abcdefghi");
}

}  // namespace
}  // namespace waybill::test
