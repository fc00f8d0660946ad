/// Operators' commands over the real program, beside a server and without one.

#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/program_fixture.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class HaltedLanesByCommand : public Program {
protected:
    HaltedLanesByCommand() {
        write("waybill.toml", R"(
[boxes.inbox]
on_dead = "halt"
[sources.shop]
secrets    = ["file:secret"]
event_type = "json:type"
event_id   = "json:id"
lane       = "json:customer"
[[targets]]
key     = "bill"
command = ["/bin/sh", "-c", "test -e works || exit 65"]
)");
        write("secret", "a secret of some length");
        write("first", R"({"id":"1","type":"first","customer":"c7"})");
        write("second", R"({"id":"2","type":"second","customer":"c7"})");
    }
    /// The first of a lane is dead, the second waits behind it.
    void halt_a_lane() {
        ASSERT_EQ(run_here({"send", "shop", "--body", "first"}).code, 0);
        ASSERT_EQ(run_here({"send", "shop", "--body", "second"}).code, 0);
        ASSERT_TRUE(eventually({"lanes", "list"}, "c7"));
    }
    Process serve() { return {folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}}; }
    std::string head() {
        const json::Value page = json::parse(run_here({"lanes", "list", "--json"}).output);
        return page.find("items")->as_array().at(0).find("message")->as_string();
    }
};

TEST_F(HaltedLanesByCommand, AreListedAndGoOnWhenTheirHeadRunsAgain) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran listed = run_here({"lanes", "list", "--target", "bill"});
    write("works", "");
    const Ran resumed = run_here({"lanes", "resume", "c7"});

    EXPECT_THAT(listed.output, HasSubstr("first"));
    EXPECT_THAT(listed.output, HasSubstr("exit code 65"));
    EXPECT_THAT(listed.output, Not(HasSubstr("second"))) << "it only waits";
    EXPECT_EQ(resumed.code, 0);
    EXPECT_THAT(resumed.output, HasSubstr("runs again in its old place"));
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "second"));
    EXPECT_THAT(run_here({"lanes", "list"}).output, HasSubstr("nothing"));
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("nothing"));
}

TEST_F(HaltedLanesByCommand, GoOnBehindAHeadThatIsSkippedAndItsDeadLetterStays) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran skipped = run_here({"lanes", "skip", head()});

    EXPECT_EQ(skipped.code, 0);
    EXPECT_THAT(skipped.output, HasSubstr("its dead letter stays"));
    EXPECT_TRUE(eventually({"lanes", "list"}, "second")) << "the next one had its turn, and died";
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("first"));
    EXPECT_EQ(hear({"lanes", "skip", "c8"}).code, 1);
    EXPECT_THAT(hear({"lanes", "skip", "c8"}).output, HasSubstr("no lane \"c8\" is halted"));
    EXPECT_EQ(hear({"lanes", "mend", "c7"}).code, 2);
}

TEST_F(HaltedLanesByCommand, AnOrderWithoutAServerIsCarriedOutWhenOneRuns) {
    {
        Process server = serve();
        server.port();
        halt_a_lane();
        ASSERT_EQ(server.end(SIGTERM), 0);
    }
    write("works", "");

    const Ran ordered = run_here({"lanes", "resume", "c7"});

    EXPECT_EQ(ordered.code, 0);
    EXPECT_THAT(ordered.output, HasSubstr("when a server runs"));
    Process server = serve();
    server.port();
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "second"));
}

}  // namespace
}  // namespace waybill::test
