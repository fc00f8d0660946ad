#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waybill/box.hpp"
#include "waybill/target.hpp"

// T81: every limit of every option, just inside and just outside.

namespace waybill {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

// ---- Boxes ------------------------------------------------------------------------------------

TEST(BoxName, HasUpTo128OfTheAllowedCharacters) {
    for (const std::string& name :
         {"a"s, "orders"s, "Orders-2_b.c"s, "0"s, std::string(128, 'x')}) {
        EXPECT_TRUE(is_box_name(name)) << name;
    }
    for (const std::string& name :
         {""s, std::string(129, 'x'), "a b"s, "a/b"s, "a\0"s, "k\xC3\xA4se"s, "a\n"s, "orders;"s,
          "@"s, "["s, "`"s, "{"s, ":"s}) {
        EXPECT_FALSE(is_box_name(name)) << name;
    }
}

struct BoxRow {
    const char* what = "";
    std::function<void(BoxOptions&)> change{};
    /// Parts of the one problem expected; empty: none.
    std::vector<std::string> problem{};
};

const std::vector<BoxRow> box_rows{
    {"defaults", [](auto&) {}, {}},
    {"concurrency 0", [](auto& o) { o.concurrency = 0; }, {}},
    {"concurrency 1", [](auto& o) { o.concurrency = 1; }, {}},
    {"concurrency most", [](auto& o) { o.concurrency = 100'000; }, {}},
    {"concurrency over",
     [](auto& o) { o.concurrency = 100'001; },
     {"concurrency is 100,001", "0 … 100,000"}},
    {"partitions 0", [](auto& o) { o.partitions = 0; }, {}},
    {"partitions most", [](auto& o) { o.partitions = 1024; }, {}},
    {"partitions over", [](auto& o) { o.partitions = 1025; }, {"partitions is 1,025", "0 … 1,024"}},
    {"body 0", [](auto& o) { o.body_bytes_max = 0; }, {"body_bytes_max is 0", "1 … 268,435,456"}},
    {"body 1", [](auto& o) { o.body_bytes_max = 1; }, {}},
    {"body most", [](auto& o) { o.body_bytes_max = 256ULL << 20; }, {}},
    {"body over",
     [](auto& o) { o.body_bytes_max = (256ULL << 20) + 1; },
     {"268,435,457", "256 MiB"}},
    {"dedup 0", [](auto& o) { o.dedup_window = 0s; }, {"dedup_window is 0 s", "forever"}},
    {"dedup negative", [](auto& o) { o.dedup_window = -1us; }, {"dedup_window is -1 us"}},
    {"dedup least", [](auto& o) { o.dedup_window = 1us; }, {}},
    {"keep_done 0", [](auto& o) { o.keep_done = 0s; }, {}},
    {"keep_done negative", [](auto& o) { o.keep_done = -1us; }, {"keep_done is -1 us"}},
    {"keep_done forever", [](auto& o) { o.keep_done = forever; }, {}},
    {"keep_attempts 0", [](auto& o) { o.keep_attempts = 0s; }, {}},
    {"keep_attempts negative", [](auto& o) { o.keep_attempts = -1us; }, {"keep_attempts is -1 us"}},
    {"keep_dead 0", [](auto& o) { o.keep_dead = 0s; }, {}},
    {"keep_dead negative", [](auto& o) { o.keep_dead = -1us; }, {"keep_dead is -1 us"}},
    {"halt on strict lanes", [](auto& o) { o.on_dead = OnDead::halt; }, {}},
    {"halt on exclusive lanes",
     [](auto& o) {
         o.on_dead = OnDead::halt;
         o.lanes = Lanes::exclusive;
     },
     {"on_dead = halt", "lanes = strict"}},
    {"halt with the dead dropped",
     [](auto& o) {
         o.on_dead = OnDead::halt;
         o.keep_dead = 0s;
     },
     {"on_dead = halt", "keep_dead = 0 s"}},
};

TEST(BoxOptions, EveryLimitIsKept) {
    for (const auto& [what, change, problem] : box_rows) {
        BoxOptions options;
        change(options);

        const Problems problems = check("orders", options);

        ASSERT_EQ(problems.size(), problem.empty() ? 0U : 1U) << what;
        for (const std::string& part : problem) {
            EXPECT_THAT(problems[0], AllOf(HasSubstr("box \"orders\": "), HasSubstr(part))) << what;
        }
    }
}

TEST(BoxOptions, AllProblemsAreToldAtOnce) {
    const BoxOptions options{.dedup_window = 0s,
                             .keep_done = -1s,
                             .keep_dead = -1s,
                             .concurrency = 1'000'000,
                             .partitions = 9999,
                             .body_bytes_max = 0};

    EXPECT_THAT(
        check("no box", options),
        ElementsAre(HasSubstr("the name must be"), HasSubstr("concurrency"),
                    HasSubstr("partitions"), HasSubstr("body_bytes_max"), HasSubstr("dedup_window"),
                    HasSubstr("keep_done"), HasSubstr("keep_dead")));
}

// ---- Targets ----------------------------------------------------------------------------------

Target billing() {
    Target target;
    target.box = "orders";
    target.key = "billing";
    return target;
}

struct TargetRow {
    const char* what = "";
    std::function<void(Target&, TargetOptions&)> change{};
    std::vector<std::string> problem{};
};

const std::vector<TargetRow> target_rows{
    {"defaults", [](auto&, auto&) {}, {}},
    {"no box", [](auto& t, auto&) { t.box = ""; }, {"its box \"\"", "1 … 128"}},
    {"no key", [](auto& t, auto&) { t.key = ""; }, {"key has 0 bytes", "1 … 200"}},
    {"longest key", [](auto& t, auto&) { t.key = std::string(200, 'k'); }, {}},
    {"key over", [](auto& t, auto&) { t.key = std::string(201, 'k'); }, {"key has 201 bytes"}},
    {"key with newline",
     [](auto& t, auto&) { t.key = "a\nb"; },
     {"key must be UTF-8 without control"}},
    {"key in latin-1", [](auto& t, auto&) { t.key = "K\xE4se"; }, {"key must be UTF-8"}},
    {"key with spaces", [](auto& t, auto&) { t.key = "k\xC3\xA4se, big"; }, {}},
    {"legacy keys",
     [](auto& t, auto&) {
         t.legacy_keys = {"old", "older"};
     },
     {}},
    {"empty legacy key",
     [](auto& t, auto&) { t.legacy_keys = {""}; },
     {"legacy key \"\" has 0 bytes"}},
    {"most legacy keys", [](auto& t, auto&) { t.legacy_keys.assign(32, "k"); }, {}},
    {"too many", [](auto& t, auto&) { t.legacy_keys.assign(33, "k"); }, {"legacy_keys has 33"}},
    {"after", [](auto& t, auto&) { t.after = "other"; }, {}},
    {"after over",
     [](auto& t, auto&) { t.after = std::string(201, 'k'); },
     {"after has 201 bytes"}},
    {"type empty", [](auto& t, auto&) { t.matcher.type = ""; }, {"matcher.type is empty", "\"*\""}},
    {"type most", [](auto& t, auto&) { t.matcher.type = std::string(256, 't'); }, {}},
    {"type over",
     [](auto& t, auto&) { t.matcher.type = std::string(257, 't'); },
     {"matcher.type has 257"}},
    {"source empty", [](auto& t, auto&) { t.matcher.source = ""; }, {}},
    {"source over",
     [](auto& t, auto&) { t.matcher.source = std::string(257, 's'); },
     {"matcher.source"}},
    {"tenant empty", [](auto& t, auto&) { t.matcher.tenant = ""; }, {}},
    {"tenant over",
     [](auto& t, auto&) { t.matcher.tenant = std::string(257, 's'); },
     {"matcher.tenant"}},
    {"pattern with NUL",
     [](auto& t, auto&) { t.matcher.source = "a\0"s; },
     {"matcher.source must be"}},
    {"attempts 0",
     [](auto&, auto& o) { o.retry.max_attempts = 0; },
     {"max_attempts is 0", "1 … 1,000"}},
    {"attempts 1", [](auto&, auto& o) { o.retry.max_attempts = 1; }, {}},
    {"attempts most", [](auto&, auto& o) { o.retry.max_attempts = 1000; }, {}},
    {"attempts over",
     [](auto&, auto& o) { o.retry.max_attempts = 1001; },
     {"max_attempts is 1,001"}},
    {"timeout 0", [](auto&, auto& o) { o.timeout = 0s; }, {"timeout is 0 s", "1 ms … 24 h"}},
    {"timeout under", [](auto&, auto& o) { o.timeout = 999us; }, {"timeout is 999 us"}},
    {"timeout least", [](auto&, auto& o) { o.timeout = 1ms; }, {}},
    {"timeout most", [](auto&, auto& o) { o.timeout = 24h; }, {}},
    {"timeout over", [](auto&, auto& o) { o.timeout = 24h + 1us; }, {"timeout is"}},
    {"concurrency most", [](auto&, auto& o) { o.concurrency = 100'000; }, {}},
    {"concurrency over",
     [](auto&, auto& o) { o.concurrency = 100'001; },
     {"concurrency is 100,001"}},
    {"rate 0", [](auto&, auto& o) { o.rate = 0.0; }, {}},
    {"rate least", [](auto&, auto& o) { o.rate = 0.001; }, {}},
    {"rate under",
     [](auto&, auto& o) { o.rate = 0.0009; },
     {"rate is 0.0009", "0.001 … 1,000,000"}},
    {"rate negative", [](auto&, auto& o) { o.rate = -1.0; }, {"rate is -1"}},
    {"rate most", [](auto&, auto& o) { o.rate = 1e6; }, {}},
    {"rate over", [](auto&, auto& o) { o.rate = 1e6 + 1; }, {"rate is"}},
    {"rate infinite", [](auto&, auto& o) { o.rate = infinite; }, {"rate is inf"}},
    {"rate not a number", [](auto&, auto& o) { o.rate = not_a_number; }, {"rate is nan"}},
    {"batch 0", [](auto&, auto& o) { o.batch_max = 0; }, {"batch_max is 0", "1 … 10,000"}},
    {"batch 1", [](auto&, auto& o) { o.batch_max = 1; }, {}},
    {"batch most", [](auto&, auto& o) { o.batch_max = 10'000; }, {}},
    {"batch over", [](auto&, auto& o) { o.batch_max = 10'001; }, {"batch_max is 10,001"}},
};

struct BackoffRow {
    const char* what = "";
    std::function<void(Backoff&)> change{};
    std::vector<std::string> problem{};
};

const std::vector<BackoffRow> backoff_rows{
    {"base 0", [](auto& b) { b.base = 0s; }, {}},
    {"base negative", [](auto& b) { b.base = -1us; }, {"base is -1 us", "0 s … 720 h"}},
    {"base is cap", [](auto& b) { b.base = b.cap; }, {}},
    {"cap under base", [](auto& b) { b.cap = 4s; }, {"cap is 4 s", "base, which is 5 s"}},
    {"cap most", [](auto& b) { b.cap = 720h; }, {}},
    {"cap over", [](auto& b) { b.cap = 720h + 1us; }, {"retry.backoff.cap is"}},
    {"cap forever", [](auto& b) { b.cap = forever; }, {"cap is forever"}},
    {"multiplier 1", [](auto& b) { b.multiplier = 1.0; }, {}},
    {"multiplier under", [](auto& b) { b.multiplier = 0.99; }, {"multiplier is 0.99", "1 … 100"}},
    {"multiplier most", [](auto& b) { b.multiplier = 100.0; }, {}},
    {"multiplier over", [](auto& b) { b.multiplier = 100.1; }, {"multiplier is 100.1"}},
    {"multiplier nan", [](auto& b) { b.multiplier = not_a_number; }, {"multiplier is nan"}},
    // T48: jitter outside 0 … 1 is rejected.
    {"jitter 0", [](auto& b) { b.jitter = Jitter::symmetric(0.0); }, {}},
    {"jitter 1", [](auto& b) { b.jitter = Jitter::symmetric(1.0); }, {}},
    {"jitter over",
     [](auto& b) { b.jitter = Jitter::symmetric(1.01); },
     {"share is 1.01", "0 … 1"}},
    {"jitter negative", [](auto& b) { b.jitter = Jitter::symmetric(-0.1); }, {"share is -0.1"}},
    {"jitter nan", [](auto& b) { b.jitter = Jitter::symmetric(not_a_number); }, {"share is nan"}},
    {"equal jitter", [](auto& b) { b.jitter = Jitter::equal(); }, {}},
    {"schedule",
     [](auto& b) {
         b.schedule = {0s, 720h};
     },
     {}},
    {"schedule negative",
     [](auto& b) {
         b.schedule = {1s, -1s};
     },
     {"schedule[1] is -1 s"}},
    {"schedule over", [](auto& b) { b.schedule = {720h + 1us}; }, {"schedule[0] is"}},
    {"schedule longest", [](auto& b) { b.schedule.assign(1000, 1s); }, {}},
    {"schedule too long", [](auto& b) { b.schedule.assign(1001, 1s); }, {"schedule has 1,001"}},
    {"schedule alone counts",
     [](auto& b) {
         b.schedule = {1s};
         b.base = -1s;
         b.multiplier = 0.0;
     },
     {}},
};

void expect(const Problems& problems, const std::vector<std::string>& parts, const char* what) {
    ASSERT_EQ(problems.size(), parts.empty() ? 0U : 1U) << what;
    for (const std::string& part : parts) {
        EXPECT_THAT(problems[0], AllOf(HasSubstr("target \""), HasSubstr(part))) << what;
    }
}

TEST(TargetOptions, EveryLimitIsKept) {
    for (const auto& [what, change, problem] : target_rows) {
        Target target = billing();
        TargetOptions options;
        change(target, options);

        expect(check(target, options), problem, what);
    }
}

TEST(TargetOptions, EveryLimitOfABackoffIsKept) {
    for (const auto& [what, change, problem] : backoff_rows) {
        TargetOptions options;
        change(options.retry.backoff);

        expect(check(billing(), options), problem, what);
    }
}

TEST(TargetOptions, AllProblemsAreToldAtOnce) {
    Target target = billing();
    target.matcher.type = "";
    TargetOptions options;
    options.retry.max_attempts = 0;
    options.retry.backoff.multiplier = 0.0;
    options.timeout = 0s;
    options.batch_max = 0;

    EXPECT_THAT(check(target, options),
                ElementsAre(HasSubstr("matcher.type"), HasSubstr("max_attempts"),
                            HasSubstr("multiplier"), HasSubstr("timeout"), HasSubstr("batch_max")));
}

}  // namespace
}  // namespace waybill
