/// `waybill doctor` on a real database: each condition is made true, found, and mended by the fix.

#include "waybill/postgres/doctor.hpp"

#include "postgres/fixture.hpp"
#include "support/later.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::string shown(const Findings& findings) {
    std::string text;
    for (const Finding& one : findings) text += one.name + ": " + one.what + "\n" + one.fix + "\n";
    return text;
}
auto has(const std::string& name, const std::string& what, const std::string& fix) {
    return Contains(AllOf(Field(&Finding::name, name), Field(&Finding::what, HasSubstr(what)),
                          Field(&Finding::fix, HasSubstr(fix))));
}
auto lacks(const std::string& name) {
    return Not(Contains(Field(&Finding::name, name)));
}

class PostgresDoctor : public Postgres {
protected:
    PostgresDoctor() {
        options_.schema = schema_.name();
        options_.deadline = 5min;
        options_.old_transaction = Duration{};
    }
    Findings examine(const std::string& more = "") const {
        return postgres::examine(PostgresServer::instance().conninfo() + more, options_);
    }
    /// Pastes the fix of a finding as a superuser.
    void mend(const Findings& findings, const std::string& name) {
        for (const Finding& finding : findings) {
            if (finding.name == name)
                stranger()->script(finding.fix, "fix", postgres::Effect::commits);
        }
    }
    std::string pid_of(postgres::Database& db) const {
        return std::to_string(PQbackendPID(db.handle()));
    }
    std::string role(const std::string& name) {
        const std::string made = name + "_" + schema_.name();
        schema_.change("create role " + made + " login");
        return made;
    }
    /// A live instance that serves these targets.
    void beat(std::vector<std::uint64_t> executes = {}) {
        InstanceState state{.name = "host-a", .boxes = {"orders"}, .executes = std::move(executes)};
        state.incarnation.bytes[0] = 1;
        store_->beat(state);
    }

    postgres::DoctorOptions options_{};
};

TEST_F(PostgresDoctor, NamesTheTransactionThatHoldsXminAndItsFixEndsIt) {
    auto report = stranger();
    report->script(
        "set application_name = 'report'; begin isolation level repeatable read; select 1", "test");

    const Findings found = examine();
    mend(found, "held-xmin");

    EXPECT_THAT(found,
                has("held-xmin", "process " + pid_of(*report) + " (user waybill, report, idle",
                    "pg_terminate_backend(" + pid_of(*report) + ")"));
    EXPECT_THROW(report->script("select 1", "test"), StoreError);
    while (!std::ranges::none_of(examine(),
                                 [](const Finding& one) { return one.name == "held-xmin"; })) {
        std::this_thread::yield();
    }
}

TEST_F(PostgresDoctor, NamesAPublisherThatLeftItsTransactionOpen) {
    auto shop = stranger();
    shop->script("begin", "test");
    append_on(*shop, order(1));

    EXPECT_THAT(examine(),
                has("idle-publisher", "process " + pid_of(*shop), "pg_terminate_backend"));
    shop->script("commit", "test");

    EXPECT_THAT(examine(), lacks("idle-publisher"));
    options_.old_transaction = 1h;
    shop->script("begin", "test");
    append_on(*shop, order(2));
    EXPECT_THAT(examine(), lacks("idle-publisher")) << "a transaction that is young";
}

/// Settlements waited, were given up and waited again, and nothing but the log said so.
TEST_F(PostgresDoctor, NamesWhoHoldsWhatAServerWaitsForAndItsFixEndsIt) {
    auto report = stranger();
    report->script(report->in_schema("set application_name = 'report'; begin; "
                                     "select from waybill.store for update"),
                   "test");
    const BoxDeclaration box{"books", {.partitions = 1}};
    auto waiting = later_answer([&] { store_->declare({&box, 1}, {}); });

    Findings found;
    const auto names_it = [&] {
        found = examine();
        return std::ranges::any_of(found, [](const Finding& f) { return f.name == "blocked"; });
    };
    while (!names_it()) std::this_thread::yield();
    mend(found, "blocked");

    EXPECT_THAT(found, has("blocked", "process " + pid_of(*report) + " (user waybill, report, idle",
                           "pg_terminate_backend(" + pid_of(*report) + ")"));
    EXPECT_NO_THROW(waiting.get());
}

/// It called the store unreachable, and threw away what it had found out.
TEST_F(PostgresDoctor, GoesOnWhereSomebodyHasLockedATable) {
    auto other = stranger();
    postgres::Transaction theirs{*other};
    other->script(other->in_schema("lock table waybill.finished in access exclusive mode"), "test");

    const Findings found = examine();

    EXPECT_THAT(found, lacks("unreachable"));
    EXPECT_THAT(found, has("not-seen", "tables: ", ""));
    EXPECT_THAT(found, has("nobody-works", "", "")) << "what comes after is asked all the same";
}

TEST_F(PostgresDoctor, AFixIsForWhereASettingWasMade) {
    const std::string reader = role("reader");
    stranger()->script("alter role " + reader + " set default_transaction_read_only = on", "test");

    EXPECT_THAT(examine(" user=" + reader),
                has("weak-setting", "default_transaction_read_only is on",
                    "alter role \"" + reader + "\" reset default_transaction_read_only;"));
}

TEST_F(PostgresDoctor, NamesAPreparedTransactionAndItsFixEndsIt) {
    auto broker = stranger();
    const std::string gid = "left-" + schema_.name();
    broker->script("begin", "test");
    append_on(*broker, order(1));
    broker->script("prepare transaction '" + gid + "'", "test");

    const Findings found = examine();
    mend(found, "prepared-transaction");

    EXPECT_THAT(found, has("prepared-transaction", gid, "rollback prepared '" + gid + "'"));
    EXPECT_THAT(examine(), lacks("prepared-transaction"));
}

TEST_F(PostgresDoctor, NamesTheRightsARoleLacksWithoutHavingThemAndItsFixGrantsThem) {
    const std::string server = role("server");
    const auto as_server = [&] { return examine(" user=" + server); };

    const Findings none = as_server();
    mend(none, "missing-privileges");
    const Findings some = as_server();
    stranger()->script("revoke delete on \"" + schema_.name() + "\".open from " + server, "test");
    const Findings one = as_server();
    mend(one, "missing-privileges");

    EXPECT_THAT(none,
                has("missing-privileges", "role " + server + " lacks", "grant usage on schema"));
    EXPECT_THAT(none, has("sees-little", server, "grant pg_read_all_stats to \"" + server + "\""));
    EXPECT_THAT(some, lacks("missing-privileges")) << shown(some);
    EXPECT_THAT(one, has("missing-privileges", "lacks delete on table open",
                         "grant delete on table \"" + schema_.name() + "\".\"open\" to"));
    EXPECT_THAT(as_server(), lacks("missing-privileges"));
}

TEST_F(PostgresDoctor, NamesTheRightsAPublisherLacksAndItsFixGrantsThem) {
    options_.publisher = role("publisher");

    const Findings found = examine();
    mend(found, "publisher-privileges");

    EXPECT_THAT(found, has("publisher-privileges", "usage on schema", "publish("));
    EXPECT_THAT(examine(), lacks("publisher-privileges"));
}

TEST_F(PostgresDoctor, NamesAnInstanceWhoseWakeUpsAreLost) {
    const auto host = schema_.connect(true);
    host->on_wake([] {});
    InstanceState state{.name = "host-a", .boxes = {"orders"}};
    state.incarnation.bytes[0] = 1;
    const auto listener = [&] {
        host->beat(state);
        postgres::Rows rows = stranger()->script(
            "select coalesce(max(listener), 0) from \"" + schema_.name() + "\".instance", "test");
        rows.next();
        return rows.string(0);
    };
    std::string backend = listener();
    for (; backend == "0"; backend = listener()) std::this_thread::yield();
    EXPECT_THAT(examine(), lacks("lost-listen"));

    stranger()->script("select pg_terminate_backend(" + backend + ", 60000)", "test");

    EXPECT_THAT(examine(), has("lost-listen", "host-a listens on backend " + backend, "listen %"));
}

TEST_F(PostgresDoctor, NamesWhatNobodyServesOrOwnsAndWhatWaits) {
    const std::vector<Target> targets{{.box = "orders", .key = "bill"},
                                      {.box = "orders", .key = "mail"}};
    store_->declare({}, targets);
    append({order(1)});
    own(*store_);
    beat({target_number("orders", "bill")});

    EXPECT_THAT(examine(), has("unserved-target", "\"mail\" of box \"orders\"",
                               "waybill targets forget mail --box orders"));
    EXPECT_THAT(examine(), Not(Contains(Field(&Finding::what, HasSubstr("\"bill\"")))));
    EXPECT_THAT(examine(), lacks("dead-owners"));
    schema_.advance(10min);

    EXPECT_THAT(examine(), has("dead-owners", "1 partitions belong", "waybill instances list"));
    EXPECT_THAT(examine(), has("nobody-works", "1 message is open", "waybill serve"));
    EXPECT_THAT(examine(), has("old-message", "10 min", "waybill messages list"));
}

TEST_F(PostgresDoctor, NamesDeadRowsThatAutovacuumLeftAndItsFixRemovesThem) {
    options_.dead_rows = 1'000;
    schema_.run(
        "alter table waybill.note set (autovacuum_enabled = off);"
        "insert into waybill.note (name, text) select i::text, '' from generate_series(1, 5000) i;"
        "delete from waybill.note");
    schema_.change("select pg_stat_force_next_flush()");
    const std::string note = schema_.name() + ".note";

    const Findings found = examine();
    mend(found, "no-autovacuum");
    stranger()->script("vacuum (analyze) " + note, "test");

    EXPECT_THAT(found,
                has("bloat", note + " has 5,000 dead rows", "vacuum (verbose, analyze) " + note));
    EXPECT_THAT(found, has("no-autovacuum", note, "reset (autovacuum_enabled)"));
    EXPECT_THAT(examine(), AllOf(lacks("bloat"), lacks("no-autovacuum")));
}

TEST_F(PostgresDoctor, NamesAClockThatIsWrongAndSettingsThatForgetCommits) {
    // The test's clock is far from the host's.
    EXPECT_THAT(examine(), has("clock-skew", "behind this host's", "timedatectl"));
    EXPECT_THAT(
        examine(" options='-c synchronous_commit=off'"),
        has("weak-setting", "synchronous_commit is off", "alter system set synchronous_commit"));
    EXPECT_THAT(examine(), lacks("weak-setting"));
}

TEST_F(PostgresDoctor, WorksOnASchemaThatIsMissingOlderOrOfSomebodyElse) {
    options_.schema = schema_.name() + "_doctored";
    EXPECT_THAT(examine(), has("no-schema", "no tables of ours", "waybill migrate"));
    postgres::Options store = schema_.options();
    store.schema = options_.schema;
    postgres::open(PostgresServer::instance().conninfo(), store)->migrate(1);
    EXPECT_THAT(examine(), has("stale-schema", "version 1 of", "waybill migrate"));
    EXPECT_THAT(examine(), lacks("unreachable"));

    postgres::open(PostgresServer::instance().conninfo(), store)->migrate();
    EXPECT_THAT(examine(), AllOf(lacks("stale-schema"), lacks("clock-skew"), lacks("not-seen")))
        << shown(examine());
    stranger()->script(
        "update " + options_.schema + ".migration set checksum = 'x' where number = 2", "test");
    EXPECT_THAT(examine(), has("changed-migrations", "2 append", ""));
}

TEST_F(PostgresDoctor, ADatabaseThatCannotBeReachedIsAFinding) {
    EXPECT_THAT(examine(" dbname=nowhere"), has("unreachable", "nowhere", "pg_isready"));
}

TEST_F(PostgresDoctor, ARoleThatIsNotThereIsNotHealthy) {
    options_.server = "no'such";
    options_.publisher = "nor this";

    const Findings found = examine();

    EXPECT_THAT(found, has("no-role", "no'such", "du"));
    EXPECT_THAT(found, has("no-role", "nor this", "du"));
    EXPECT_THAT(found, lacks("not-seen"));
}

TEST_F(PostgresDoctor, MissesTheTablesOfTheComingDaysAndItsFixMakesThem) {
    // Those of the migration are of the server's day, not of the test's.
    schema_.change("select waybill.make_days(14, 15)");
    EXPECT_THAT(examine(), lacks("missing-days"));

    schema_.advance(14 * 24h);
    const Findings found = examine();
    mend(found, "missing-days");

    EXPECT_THAT(found, has("missing-days", "have no table of their own", "make_days(14, 15)"));
    EXPECT_THAT(examine(), lacks("missing-days"));
}

}  // namespace
}  // namespace waybill::test
