/// A stop or a reload of the server while something is under way: it may end, and is not carried out twice.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/endpoint.hpp"
#include "server/program_fixture.hpp"
#include "support/http_client.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;

/// Says that it began and as whom, waits to be let go, and takes a second more.
const std::string kWaits =
    "echo $$ >> began; until test -e go; do sleep 0.02; done; sleep 1; echo $$ >> ended";

class Graceful : public Program {
protected:
    void configure(const std::string& what, const std::string& shutdown_timeout = "30s") {
        write("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        write("waybill.toml", "[engine]\nshutdown_timeout = '" + shutdown_timeout +
                                  "'\n"
                                  "[sources.x]\nprovider = 'stripe'\nsecrets = ['file:secret']\n"
                                  "[egress]\nallow = ['127.0.0.1/32']\n" +
                                  what);
    }
    void configure_command(const std::string& script, const std::string& shutdown_timeout = "30s") {
        configure("[[targets]]\nbox = 'outbox'\nkey = 'it'\ncommand = ['/bin/sh', '-c', '" +
                      script + "']\n",
                  shutdown_timeout);
    }
    void publish_one() { ASSERT_EQ(run_here({"publish", "--type", "order.placed"}).code, 0); }
    void publish_in_lane(const std::string& lane) {
        ASSERT_EQ(run_here({"publish", "--type", "order.placed", "--lane", lane}).code, 0);
    }
    std::string text_of(const std::string& name) const {
        std::ifstream file{folder_.file(name)};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    /// The first command, as soon as it runs.
    pid_t begun() const {
        for (int i = 0; i < 30'000; ++i) {
            const std::string text = text_of("began");
            if (text.find('\n') != std::string::npos) return std::stoi(text);
            ::poll(nullptr, 0, 1);
        }
        return 0;
    }
    std::size_t times(const std::string& name) const {
        const std::string text = text_of(name);
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }
    bool is_done() { return eventually({"messages", "list", "--state", "done"}, "order.placed"); }

    /// What it says on standard error can be heard, too.
    static Process serve(const std::string& folder) {
        return Process{folder, {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};
    }
    static bool ends_within(pid_t process, int milliseconds) {
        pollfd ended{static_cast<int>(::syscall(SYS_pidfd_open, process, 0)), POLLIN, 0};
        if (ended.fd < 0) return true;
        const bool has_ended = ::poll(&ended, 1, milliseconds) > 0;
        ::close(ended.fd);
        return has_ended;
    }
    /// Of a command and what it started. Orphans that were killed are gone when init has heard of it.
    static bool nothing_is_left_of(pid_t command) {
        for (int i = 0; i < 5'000 && ::kill(-command, 0) == 0; ++i) ::poll(nullptr, 0, 1);
        return ::kill(-command, 0) == -1 && errno == ESRCH;
    }
    std::string here() const { return folder_.path().string(); }
};

TEST_F(Graceful, ACommandThatRunsAtAStopEndsAndIsNotRunAgain) {
    configure_command(kWaits);
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_GT(begun(), 1);

    server.signal(SIGTERM);
    EXPECT_TRUE(server.hear_until("stopping"));
    write("go", "");

    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(times("began"), 1U);
    EXPECT_EQ(times("ended"), 1U);
    EXPECT_THAT(run_here({"messages", "list", "--state", "done"}).output,
                HasSubstr("order.placed"));
}

TEST_F(Graceful, ACommandThatRunsAtAReloadEndsAndIsNotRunAgain) {
    configure_command(kWaits);
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_GT(begun(), 1);

    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("reloaded")) << "who reloads does not wait for it";
    write("go", "");

    EXPECT_TRUE(is_done());
    EXPECT_EQ(times("began"), 1U);
    EXPECT_EQ(times("ended"), 1U);
    publish_one();
    for (int i = 0; i < 30'000 && times("ended") < 2; ++i) ::poll(nullptr, 0, 1);
    EXPECT_EQ(times("ended"), 2U) << "the new one works";
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Graceful, AFailureWhileTheServerStopsIsRecorded) {
    configure_command(kWaits + "; echo no paper >&2; exit 65");
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_GT(begun(), 1);

    server.signal(SIGTERM);
    EXPECT_TRUE(server.hear_until("stopping"));
    write("go", "");

    EXPECT_EQ(server.wait(), 0);
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("exit code 65: no paper"));
}

TEST_F(Graceful, ACommandThatOutlivesTheGraceIsAskedToEndThenKilledAndLeftToTheNext) {
    configure_command(
        R"(trap "echo x >> asked" TERM; echo $$ >> began; while :; do sleep 0.02; done)", "1s");
    Process server = serve(here());
    server.port();
    publish_one();
    const pid_t command = begun();
    ASSERT_GT(command, 1);

    server.signal(SIGTERM);

    EXPECT_EQ(server.wait(), 0);
    EXPECT_TRUE(nothing_is_left_of(command));
    EXPECT_EQ(times("asked"), 1U);
    EXPECT_EQ(times("began"), 1U);
    EXPECT_THAT(run_here({"messages", "list", "--state", "open"}).output,
                HasSubstr("order.placed"));
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("nothing"));
}

TEST_F(Graceful, WhatACommandStartedHasTimeToCleanUpAfterTheCommandHasEnded) {
    configure_command(
        R"((trap "sleep 0.2; echo x >> cleaned; exit" TERM; echo $$ >> began; while :; do sleep 0.02; done) & wait)",
        "1s");
    Process server = serve(here());
    server.port();
    publish_one();
    const pid_t command = begun();
    ASSERT_GT(command, 1);

    server.signal(SIGTERM);

    EXPECT_EQ(server.wait(), 0);
    EXPECT_TRUE(nothing_is_left_of(command));
    EXPECT_EQ(times("cleaned"), 1U);
}

TEST_F(Graceful, ACommandOfTheConfigurationBeforeHoldsAStopNoLongerThanItsGrace) {
    configure_command("echo $$ >> began; sleep 1000", "2s");
    Process server = serve(here());
    server.port();
    publish_one();
    const pid_t command = begun();
    ASSERT_GT(command, 1);

    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("reloaded"));
    server.signal(SIGTERM);
    EXPECT_TRUE(server.hear_until("stopping"));

    EXPECT_FALSE(ends_within(command, 500)) << "it has its time";
    EXPECT_TRUE(ends_within(server.pid(), 15'000));
    EXPECT_EQ(server.wait(), 0);
    EXPECT_TRUE(nothing_is_left_of(command));
}

TEST_F(Graceful, AStopIsHeardWhileAReloadWaitsForTheOneBefore) {
    configure_command(kWaits);
    Process server = serve(here());
    server.port();
    publish_one();
    const pid_t command = begun();
    ASSERT_GT(command, 1);
    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("reloaded"));

    server.signal(SIGHUP);
    server.signal(SIGTERM);

    EXPECT_TRUE(server.hear_until("stopping"));
    EXPECT_FALSE(ends_within(command, 0)) << "the stop was heard when it was over";
    write("go", "");
    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(times("ended"), 1U);
}

TEST_F(Graceful, AReloadThatHadToWaitForTheOneBeforeIsCarriedOut) {
    configure_command(kWaits);
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_GT(begun(), 1);
    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("reloaded"));

    server.signal(SIGHUP);
    write("go", "");

    EXPECT_TRUE(server.hear_until("reloaded"));
    EXPECT_EQ(times("ended"), 1U) << "three at once";
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Graceful, NothingIsBegunWhileAStopWaitsForWhoHasNotSentHisRequest) {
    configure_command(kWaits, "3s");
    Process server = serve(here());
    HttpClient slow{server.port()};
    ASSERT_TRUE(slow.send("POST /webhooks/x HTTP/1.1\r\nHost: x\r\n"));
    publish_in_lane("a");
    publish_in_lane("a");
    ASSERT_GT(begun(), 1);

    server.signal(SIGTERM);
    EXPECT_TRUE(server.hear_until("stopping"));
    write("go", "");

    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(times("ended"), 1U);
    EXPECT_EQ(times("began"), 1U);
}

TEST_F(Graceful, AnOperatorsCancelEndsARunningCommandAtOnce) {
    configure_command("echo $$ >> began; sleep 1000");
    Process server = serve(here());
    server.port();
    const Ran published = run_here({"publish", "--type", "order.placed"});
    const pid_t command = begun();
    ASSERT_GT(command, 1);

    EXPECT_EQ(run_here({"messages", "cancel", published.output.substr(0, 36)}).code, 0);

    EXPECT_TRUE(ends_within(command, 10'000));
    EXPECT_TRUE(eventually({"dead", "list"}, "cancelled by an operator"));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Graceful, RunOnceLeavesInTimeAndTakesItsCommandAlong) {
    configure_command("echo $$ >> began; sleep 1000");
    publish_one();

    Process once{here(), {"run-once", "--at-most", "1s"}};

    EXPECT_TRUE(ends_within(once.pid(), 15'000));
    EXPECT_EQ(once.wait(), 0);
    const pid_t command = begun();
    ASSERT_GT(command, 1);
    EXPECT_TRUE(nothing_is_left_of(command));
}

/// Both ways in which requests go out. The other box has a command.
class GracefulRequest : public Graceful, public testing::WithParamInterface<const char*> {
protected:
    void configure_receiver(const Endpoint& endpoint, const std::string& shutdown_timeout = "30s") {
        configure(std::string{"[["} + GetParam() + "]]\nbox = 'outbox'\nurl = '" + endpoint.url() +
                      "'\nsecret = 'file:secret'\n" +
                      (std::string_view{GetParam()} == "targets" ? "key = 'it'\n" : "") +
                      "[[targets]]\nbox = 'inbox'\nkey = 'other'\n"
                      "command = ['/bin/sh', '-c', 'echo $$ >> began']\n",
                  shutdown_timeout);
    }
};

TEST_P(GracefulRequest, OneThatIsUnderWayAtAStopGetsItsAnswerAndIsNotSentAgain) {
    Endpoint endpoint;
    endpoint.hold();
    configure_receiver(endpoint);
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_TRUE(endpoint.wait_for(1));

    server.signal(SIGTERM);
    EXPECT_TRUE(server.hear_until("stopping"));
    EXPECT_FALSE(ends_within(server.pid(), 1000)) << "it waits for the answer";
    endpoint.let_go();

    EXPECT_EQ(server.wait(), 0);
    EXPECT_THAT(run_here({"messages", "list", "--state", "done"}).output,
                HasSubstr("order.placed"));
    EXPECT_EQ(endpoint.requests().size(), 1U);
}

TEST_P(GracefulRequest, OneThatIsUnderWayAtAReloadGetsItsAnswerAndIsNotSentAgain) {
    Endpoint endpoint;
    endpoint.hold();
    configure_receiver(endpoint);
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_TRUE(endpoint.wait_for(1));

    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("reloaded"));
    ASSERT_EQ(run_here({"publish", "--type", "order.placed", "--box", "inbox"}).code, 0);
    EXPECT_GT(begun(), 1) << "the new one has taken over what it may";
    endpoint.let_go();

    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "outbox"));
    EXPECT_EQ(server.end(SIGTERM), 0);
    EXPECT_EQ(endpoint.requests().size(), 1U);
}

TEST_P(GracefulRequest, OneThatIsNotAnsweredInTimeHoldsNoStop) {
    Endpoint endpoint;
    endpoint.hold();
    configure_receiver(endpoint, "500ms");
    Process server = serve(here());
    server.port();
    publish_one();
    ASSERT_TRUE(endpoint.wait_for(1));

    server.signal(SIGTERM);

    EXPECT_TRUE(ends_within(server.pid(), 15'000));
    EXPECT_EQ(server.wait(), 0);
    EXPECT_THAT(run_here({"messages", "list", "--state", "open"}).output,
                HasSubstr("order.placed"));
    endpoint.let_go();
}

INSTANTIATE_TEST_SUITE_P(Both, GracefulRequest, testing::Values("targets", "subscriptions"),
                         [](const auto& given) { return std::string{given.param}; });

}  // namespace
}  // namespace waybill::test
