#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "server/fixture.hpp"
#include "server/targets/command_target.hpp"
#include "support/gate.hpp"
#include "transport/http_in/http_in.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;

const Source kGithub = source_named("github", "github");

std::string push(const std::string& id, const std::string& body = R"({"ref":"main"})") {
    return signed_post(kGithub, body, id, {{"X-GitHub-Event", "push"}});
}

server::Config with_target(server::TargetConfig target) {
    server::Config config;
    config.sources = {kGithub};
    config.egress.rules.allow = {parse_network("127.0.0.1/32").value()};
    target.target.box = "inbox";
    target.target.key = "it";
    target.options.retry.backoff.schedule = {std::chrono::milliseconds{10}};
    config.targets = {std::move(target)};
    return config;
}

/// Somebody who receives what is forwarded, and answers as told.
class Recipient {
public:
    explicit Recipient(std::vector<HttpResponse> answers)
        : answers_(std::move(answers)),
          door_({.port = 0}, [this](HttpRequest request, const http_in::Reply& reply) {
              const std::lock_guard lock{mutex_};
              const std::size_t turn = std::min(requests_.size(), answers_.size() - 1);
              requests_.push_back(std::move(request));
              reply(answers_[turn]);
          }) {}

    std::string url() const { return "http://127.0.0.1:" + std::to_string(door_.port()) + "/in"; }
    std::vector<HttpRequest> requests() {
        const std::lock_guard lock{mutex_};
        return requests_;
    }

private:
    std::mutex mutex_;  ///< guards the requests
    std::vector<HttpRequest> requests_{};
    std::vector<HttpResponse> answers_;
    http_in::HttpIn door_;
};

TEST(UrlTarget, ForwardsTheBytesTheSendersHeadersAndOurSignature) {
    Recipient receiver{{{.status = 204}}};
    server::TargetConfig target;
    target.url = receiver.url();
    target.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    ServerUnderTest server{with_target(target)};

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);
    ASSERT_TRUE(server.eventually("/v1/messages", R"("state":"done")"));

    const std::vector<HttpRequest> requests = receiver.requests();
    ASSERT_EQ(requests.size(), 1U);
    const HttpRequest& request = requests[0];
    EXPECT_EQ(request.body, R"({"ref":"main"})");
    EXPECT_EQ(*request.headers.find("X-GitHub-Event"), "push");
    EXPECT_EQ(*request.headers.find("X-Waybill-Source"), "github");
    EXPECT_EQ(*request.headers.find("X-Waybill-Event"), "push");
    EXPECT_EQ(*request.headers.find("X-Waybill-Attempt"), "1");
    EXPECT_THAT(*request.headers.find("User-Agent"), HasSubstr("Waybill/"));
    Source as_receiver = source_named("x", "standard-webhooks");
    as_receiver.event_type = "header:X-Waybill-Event";
    const Verdict verdict = providers::find("standard-webhooks")
                                ->receive({request, as_receiver, system_clock().wall()});
    EXPECT_TRUE(std::holds_alternative<Parsed>(verdict)) << "the signature can be checked";
}

TEST(UrlTarget, IsTriedAgainAfterAFailureAndDeadAfterAGone) {
    Recipient receiver{{{.status = 500, .headers = {}, .body = "first"},
                        {.status = 302, .headers = {{"Location", "/elsewhere"}}},
                        {.status = 410, .headers = {}, .body = "gone for good"}}};
    server::TargetConfig target;
    target.url = receiver.url();
    ServerUnderTest server{with_target(target)};

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);

    EXPECT_TRUE(server.eventually("/v1/dead", "answered 410: gone for good"));
    EXPECT_EQ(receiver.requests().size(), 3U) << "and no redirect was followed";
}

TEST(UrlTarget, APlaceThatOnlyWeCanReachIsNotCalled) {
    Recipient receiver{{{.status = 204}}};
    for (const std::string host : {"127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"}) {
        server::TargetConfig target;
        target.url = receiver.url();
        target.url.replace(7, 9, host);
        target.options.retry.max_attempts = 1;
        server::Config config = with_target(target);
        config.egress = {};
        ServerUnderTest server{config};

        ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);

        EXPECT_TRUE(server.eventually("/v1/dead", "is loopback; what may be called is in [egress]"))
            << host;
    }
    EXPECT_TRUE(receiver.requests().empty());
}

TEST(UrlTarget, NobodyThereIsAFailureThatCanBeRequeued) {
    std::string nobody;
    { nobody = Recipient{{{.status = 204}}}.url(); }
    server::TargetConfig target;
    target.url = nobody;
    target.options.retry.max_attempts = 2;
    ServerUnderTest server{with_target(target)};

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);
    ASSERT_TRUE(server.eventually("/v1/dead", "connect: "));
    const auto requeued = server.operate("POST", "/v1/dead/requeue?target=it");

    EXPECT_THAT(requeued->body, HasSubstr(R"("carried_out":1)"));
    EXPECT_TRUE(server.eventually("/v1/dead", "connect: ")) << "it died again";
}

TEST(CommandTarget, GetsTheBodyAndTheAttributesAndItsExitCodeDecides) {
    ::signal(SIGPIPE, SIG_IGN);
    TemporaryFolder folder;
    server::TargetConfig target;
    target.command = {"/bin/sh", "-c",
                      "cat > " + folder.file("body") + "; echo $WAYBILL_SOURCE $WAYBILL_TYPE " +
                          "$WAYBILL_ATTEMPT $WAYBILL_ATTRIBUTE_HEADER_X_GITHUB_EVENT > " +
                          folder.file("variables") + "; echo no use >&2; exit 65"};
    ServerUnderTest server{with_target(target)};
    const std::string body = R"({"large":")" + std::string(200'000, 'x') + R"("})";

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1", body))->status, 202);
    ASSERT_TRUE(server.eventually("/v1/dead", "exit code 65: no use"));

    std::ifstream received{folder.file("body")};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{received}, {}}), body);
    std::ifstream variables{folder.file("variables")};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{variables}, {}}), "github push 1 push\n");
}

TEST(CommandTarget, AProgramHasEndedWhenItEndsWhateverItLeavesRunning) {
    ::signal(SIGPIPE, SIG_IGN);
    TemporaryFolder folder;
    server::TargetConfig target;
    target.command = {"/bin/sh", "-c",
                      "sleep 1000 & echo $! > " + folder.file("left") + "; echo off >&2; exit 65"};
    target.options.timeout = std::chrono::seconds{5};
    ServerUnderTest server{with_target(target)};

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);
    EXPECT_TRUE(server.eventually("/v1/dead", "exit code 65: off"));

    pid_t left = 0;
    std::ifstream{folder.file("left")} >> left;
    ASSERT_GT(left, 1);
    ::kill(left, SIGKILL);
}

TEST(CommandTarget, ADaemonItLeavesBehindKeepsNeitherThePortNorTheClientsOpen) {
    ::signal(SIGPIPE, SIG_IGN);
    TemporaryFolder folder;
    server::TargetConfig target;
    target.command = {"/bin/sh", "-c",
                      "sleep 1000 & echo $! > " + folder.file("left") + "; exit 65"};
    ServerUnderTest server{with_target(target)};
    HttpClient client{server.port()};

    ASSERT_EQ(client.ask(push("d-1"))->status, 202);
    ASSERT_TRUE(server.eventually("/v1/dead", "exit code 65"));

    pid_t left = 0;
    std::ifstream{folder.file("left")} >> left;
    ASSERT_GT(left, 1);
    std::vector<std::string> open;
    for (const auto& entry :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(left) + "/fd"}) {
        std::error_code it_is_closed;
        const std::string file = std::filesystem::read_symlink(entry.path(), it_is_closed);
        // As it begins it reads files of the system.
        const bool is_its_own =
            file.empty() || file.starts_with("/etc/") || file.starts_with("/usr/");
        if (std::stoi(entry.path().filename()) > STDERR_FILENO && !is_its_own) open.push_back(file);
    }
    ::kill(left, SIGKILL);
    EXPECT_THAT(open, testing::IsEmpty());
}

TEST(CommandTarget, AProgramThatDoesNotExistOrDoesNotReadHarmsNobody) {
    ::signal(SIGPIPE, SIG_IGN);
    server::TargetConfig target;
    target.command = {"no-such-program-anywhere"};
    target.options.retry.max_attempts = 1;
    ServerUnderTest server{with_target(target)};
    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);
    EXPECT_TRUE(server.eventually("/v1/dead", "cannot run no-such-program-anywhere"));

    target.command = {"true"};
    ServerUnderTest other{with_target(target)};
    const std::string body = R"({"large":")" + std::string(200'000, 'x') + R"("})";
    ASSERT_EQ(HttpClient{other.port()}.ask(push("d-1", body))->status, 202);
    EXPECT_TRUE(other.eventually("/v1/messages", R"("state":"done")"));
}

TEST(CommandTarget, IsKilledWithItsChildrenAtTheDeadline) {
    ::signal(SIGPIPE, SIG_IGN);
    server::TargetConfig target;
    target.command = {"/bin/sh", "-c", "sleep 1000 & sleep 1000"};
    target.options.timeout = std::chrono::milliseconds{200};
    target.options.retry.max_attempts = 1;
    ServerUnderTest server{with_target(target)};

    ASSERT_EQ(HttpClient{server.port()}.ask(push("d-1"))->status, 202);

    EXPECT_TRUE(server.eventually("/v1/dead", R"("target":"it")"));
}

TEST(Outcomes, AnExitMeansWhatTheContractSays) {
    const auto exited = [](int code) { return server::outcome_of_exit(code << 8, "why"); };
    EXPECT_EQ(exited(0), Outcome{Done{}});
    EXPECT_EQ(exited(65), (Outcome{Dead{.reason = "exit code 65: why"}}));
    EXPECT_TRUE(std::holds_alternative<Defer>(exited(75)));
    EXPECT_EQ(exited(1), (Outcome{Fail{.reason = "exit code 1: why"}}));
    EXPECT_EQ(server::outcome_of_exit(1 << 8, "no such customer\r\n\n"),
              (Outcome{Fail{.reason = "exit code 1: no such customer"}}));
    EXPECT_EQ(server::outcome_of_exit(1 << 8, "\n"), (Outcome{Fail{.reason = "exit code 1"}}));
    EXPECT_EQ(server::outcome_of_exit(SIGSEGV, ""),
              (Outcome{Fail{.reason = "ended by signal 11"}}));
}

}  // namespace
}  // namespace waybill::test
