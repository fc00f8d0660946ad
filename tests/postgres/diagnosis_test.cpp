/// What is made of facts: no database is asked.

#include <fstream>
#include <functional>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using postgres::doctor::Facts;
using postgres::doctor::Instance;
using postgres::doctor::Pooler;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using Severity = Finding::Severity;

/// A store where all is well.
Facts healthy() {
    Facts facts{.version = 150000, .database = "app", .user = "waybill"};
    facts.connections = 12;
    facts.connections_max = 97;
    facts.settings = {{"fsync", "on"},
                      {"full_page_writes", "on"},
                      {"synchronous_commit", "on"},
                      {"synchronous_standby_names", ""},
                      {"data_sync_retry", "off"},
                      {"server_encoding", "UTF8"},
                      {"autovacuum", "on"},
                      {"track_counts", "on"},
                      {"default_transaction_read_only", "off"}};
    facts.schema = {.version = 5, .newest = 5};
    facts.instances = {{.seen = {.name = "a"}, .listener = 77, .knows = 5}};
    facts.tables = {{.name = "open", .rows = 100, .dead_rows = 2'000, .vacuum_at = 2'002}};
    facts.skew = 20ms;
    return facts;
}

struct Case {
    const char* is;
    std::function<void(Facts&)> change;
    Severity severity;
    const char* name;
    const char* said;
    const char* fix;
};

const Case kCases[] = {
    {"DaysWithoutATable",
     [](Facts& f) {
         f.missing_days = {"20261116", "20261117"};
     },
     Severity::warning, "missing-days", "of 20261116, 20261117 have",
     "select waybill.make_days(14, 15);"},
    {"SlotWithoutReader",
     [](Facts& f) { f.slots = {{.name = "old", .kept_bytes = std::uint64_t{5} << 30}}; },
     Severity::warning, "unused-slot", "5,120 MiB", "pg_drop_replication_slot('old')"},
    {"SlotThatHoldsXmin", [](Facts& f) { f.slots = {{.name = "old", .xmin_age = 9}}; },
     Severity::warning, "unused-slot", "and xmin", "pg_drop_replication_slot('old')"},
    {"TransactionOfAnHour",
     [](Facts& f) {
         f.sessions = {{.pid = 5, .open = 2min, .xmin_age = 3},
                       {.pid = 9,
                        .user = "bi",
                        .application = "report",
                        .open = 90min,
                        .query_start = "03:00",
                        .xmin_age = 70'000,
                        .query = "select 1"}};
     },
     Severity::problem, "held-xmin",
     "process 9 (user bi, report, ) has a transaction open for 90 min and holds xmin, 70,000",
     "pg_terminate_backend(9)"},
    {"NoFsync", [](Facts& f) { f.settings["fsync"] = "off"; }, Severity::problem, "weak-setting",
     "fsync is off", "alter system set fsync = 'on';"},
    {"TornPages", [](Facts& f) { f.settings["full_page_writes"] = "off"; }, Severity::problem,
     "weak-setting", "full_page_writes is off", "full_page_writes = 'on'"},
    {"Autovacuum", [](Facts& f) { f.settings["autovacuum"] = "off"; }, Severity::problem,
     "weak-setting", "autovacuum is off", "autovacuum = 'on'"},
    {"ReadOnly", [](Facts& f) { f.settings["default_transaction_read_only"] = "on"; },
     Severity::problem, "weak-setting", "read_only is on", "= 'off'"},
    {"Latin", [](Facts& f) { f.settings["server_encoding"] = "LATIN1"; }, Severity::problem,
     "weak-setting", "LATIN1", "encoding 'UTF8'"},
    {"Standby", [](Facts& f) { f.in_recovery = true; }, Severity::problem, "standby", "standby",
     "target_session_attrs=read-write"},
    {"CommitsThatWaitForNobody",
     [](Facts& f) { f.settings["synchronous_standby_names"] = "ANY 1 (b)"; }, Severity::problem,
     "no-synchronous-standby", "ANY 1 (b)", "synchronous_standby_names = ''"},
    {"StandbysNobodyWaitsFor", [](Facts& f) { f.standbys = 2; }, Severity::note,
     "asynchronous-standbys", "2 standbys", "ANY 1 (*)"},
    {"LocalCommitsBesideAStandby",
     [](Facts& f) {
         f.settings["synchronous_standby_names"] = "b";
         f.settings["synchronous_commit"] = "local";
         f.standbys = f.synchronous_standbys = 1;
     },
     Severity::warning, "weak-setting", "synchronous_commit is local", "commit = 'on'"},
    {"StandbysThatNobodyWouldWaitFor",
     [](Facts& f) {
         f.standbys = 2;
         f.settings["synchronous_commit"] = "local";
     },
     Severity::note, "asynchronous-standbys", "2 standbys", "commit = 'on'"},
    {"TransactionPooler", [](Facts& f) { f.pooler = Pooler::transaction; }, Severity::warning,
     "transaction-pooler", "transaction mode", ":5432/app"},
    {"SessionPooler", [](Facts& f) { f.pooler = Pooler::session; }, Severity::warning,
     "session-pooler", "session mode", ":5432/app"},
    {"ClockAhead", [](Facts& f) { f.skew = 3s; }, Severity::warning, "clock-skew", "3 s ahead of",
     "timedatectl set-ntp true"},
    {"ClockBehind", [](Facts& f) { f.skew = -10min; }, Severity::problem, "clock-skew",
     "10 min behind", "timedatectl set-ntp true"},
    {"NoConnectionsLeft", [](Facts& f) { f.connections = 95; }, Severity::warning, "connections",
     "95 of 97", "max_connections = 194"},
    {"OldRows", [](Facts& f) { f.tables[0].frozen_age = 1'500'000'000; }, Severity::warning,
     "wraparound", "1,500,000,000", "vacuum (freeze, verbose) waybill.open;"},
    {"ManyDeadRows", [](Facts& f) { f.tables[0].dead_rows = 50'000; }, Severity::warning, "bloat",
     "50,000 dead rows", "vacuum (verbose, analyze) waybill.open;"},
    {"Later", [](Facts& f) { f.schema.version = 6; }, Severity::note, "newer-schema", "version 6",
     ""},
    {"LaterAndBreaking", [](Facts& f) { f.breaking_migrations = {"6 less"}; }, Severity::problem,
     "newer-schema", "6 less", "run the version"},
    {"LackingMuch",
     [](Facts& f) {
         f.lacks.assign(20, {"table", "open", "select"});
     },
     Severity::problem, "missing-privileges", "and 17 more",
     "on all tables in schema \"waybill\" to \"waybill\";"},
    {"ListenerThatNeverCameBack",
     [](Facts& f) {
         f.instances[0].listener = 0;
         f.instances[0].seen.last_beat = StoreTime{1min};
     },
     Severity::warning, "lost-listen", "a has no connection", "listen %"},
    {"Refused", [](Facts& f) { f.instances[0].seen.refused = "results for 12 s: no"; },
     Severity::problem, "refused", "a: the store has refused results for 12 s: no",
     "waybill doctor"},
    {"Blocked",
     [](Facts& f) {
         f.blockers = {{.pid = 9, .user = "dba", .state = "idle", .open = 40s, .blocks = 2}};
     },
     Severity::problem, "blocked", "(user dba, idle) holds locks for 40 s that 2 sessions",
     "pg_terminate_backend(9)"},
    {"SameName", [](Facts& f) { f.instances.push_back(f.instances[0]); }, Severity::note,
     "same-name", "2 live instances are called a", "`instance` of its own"},
    {"TwoVersions", [](Facts& f) { f.instances.push_back({.seen = {.name = "b"}, .knows = 4}); },
     Severity::note, "two-versions", "b", ""},
    {"DeadLetter", [](Facts& f) { f.health.dead = 1; }, Severity::note, "dead-letters",
     "1 dead letter waits", "waybill dead list"},
    {"PausedBox", [](Facts& f) { f.paused_boxes = {"orders"}; }, Severity::note, "paused-box",
     "orders", "waybill boxes resume orders"},
    {"NotSeen", [](Facts& f) { f.not_seen = {"tables: no"}; }, Severity::note, "not-seen",
     "tables: no", ""},
};

class Diagnosis : public testing::TestWithParam<Case> {};

TEST_P(Diagnosis, OneConditionIsOneFindingWithItsFix) {
    Facts facts = healthy();
    GetParam().change(facts);

    const Findings findings = postgres::doctor::diagnose(facts, {});

    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, GetParam().severity);
    EXPECT_EQ(findings[0].name, GetParam().name);
    EXPECT_THAT(findings[0].what, HasSubstr(GetParam().said));
    EXPECT_THAT(findings[0].fix, HasSubstr(GetParam().fix));
    EXPECT_FALSE(findings[0].means.empty());
}

INSTANTIATE_TEST_SUITE_P(Postgres, Diagnosis, testing::ValuesIn(kCases),
                         [](const auto& tried) { return std::string{tried.param.is}; });

TEST(Diagnosis, ThePageNamesEveryFinding) {
    std::ifstream file{WAYBILL_SOURCE_DIR "/docs/operating/doctor.md"};
    const std::string page{std::istreambuf_iterator<char>{file}, {}};

    for (const Case& one : kCases) {
        EXPECT_THAT(page, HasSubstr("`" + std::string{one.name} + "`")) << one.is;
    }
}

TEST(Diagnosis, OfAHealthyStoreNothingIsSaid) {
    EXPECT_THAT(postgres::doctor::diagnose(healthy(), {}), IsEmpty());
}

TEST(Diagnosis, OfNobodyAtWorkItIsSaidOnceAndNotForEveryTarget) {
    Facts facts = healthy();
    facts.instances.clear();
    facts.unserved = {{Target{.box = "orders", .key = "bill"}, 3}};
    facts.health.open = 3;

    EXPECT_THAT(postgres::doctor::diagnose(facts, {}),
                ElementsAre(Field(&Finding::name, "nobody-works")));
}

/// "Every commit waits" was said where only those of servers do.
TEST(Diagnosis, WhereCommitsAreLocalOnlyServersWaitForAStandby) {
    Facts facts = healthy();
    facts.settings["synchronous_standby_names"] = "b";
    const auto means = [&](const std::string& commit) {
        facts.settings["synchronous_commit"] = commit;
        return postgres::doctor::diagnose(facts, {}).at(0).means;
    };

    EXPECT_THAT(means("on"), HasSubstr("every commit waits"));
    for (const char* const weak : {"local", "off"}) {
        EXPECT_THAT(means(weak), HasSubstr("every commit of a server waits")) << weak;
    }
}

/// "Within a beat" was said, and a new instance took a lease.
TEST(Diagnosis, OfDeadOwnersItIsSaidThatANewInstanceTakesALease) {
    Facts facts = healthy();
    facts.partitions_of_dead = 32;

    EXPECT_THAT(postgres::doctor::diagnose(facts, {}).at(0).means, HasSubstr("after one lease"));
}

TEST(Diagnosis, TheWorstComesFirst) {
    Facts facts = healthy();
    facts.health.dead = 4;
    facts.skew = 2s;
    facts.in_recovery = true;

    EXPECT_THAT(postgres::doctor::diagnose(facts, {}),
                ElementsAre(Field(&Finding::name, "standby"), Field(&Finding::name, "clock-skew"),
                            Field(&Finding::name, "dead-letters")));
}

}  // namespace
}  // namespace waybill::test
