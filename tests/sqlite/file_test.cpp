#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "sqlite/child_process.hpp"
#include "sqlite/fixture.hpp"
#include "sqlite/own_connection.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "waybill/waybill.hpp"

namespace waybill::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SqliteFile : public testing::Test {
protected:
    /// Writes over part of the file, where there is something.
    void damage(std::uint64_t from, std::uint64_t bytes) {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(static_cast<std::streamoff>(from));
        file << std::string(bytes, '\xA5');
    }

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
};

TEST_F(SqliteFile, WhatWasAppendedIsThereAfterARestart) {
    Sequence first = 0;
    {
        OpenedStore opened{path};
        first = opened.append(1).sequence;
    }

    OpenedStore again{path};
    again.take();

    ASSERT_EQ(again.scan().size(), 1U);
    EXPECT_EQ(again.scan()[0].sequence, first);
    EXPECT_EQ(again.append(1).status, AppendResult::Status::duplicate);
}

TEST_F(SqliteFile, AMessageWhoseRowIsGoneIsADeadLetterAndHoldsNobodyUp) {
    std::vector<std::string> handled;
    const auto settings = [&] { return Settings{.store = sqlite::open(path)}; };
    const auto note = [&](const Message& message) { handled.push_back(message.body); };
    {
        Waybill app{settings()};
        app.inbox("orders", {.lanes = Lanes::strict});
        app.append({{.type = "order", .body = "1", .lane = "a"},
                    {.type = "order", .body = "2", .lane = "a"}});
    }
    OwnConnection{path}.run("delete from waybill_message where sequence = 1");

    Waybill app{settings()};
    app.inbox("orders", {.lanes = Lanes::strict}).on("*", "note", note);
    ASSERT_TRUE(app.run_until_idle());

    EXPECT_EQ(handled, std::vector<std::string>{"2"});
    EXPECT_EQ(app.catalogue().count({.state = Filter::State::open}), 0U);
    const auto letters = app.catalogue().dead_letters({}, {}, 10).items;
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.reason, "the message's row is missing");
}

TEST_F(SqliteFile, AFreshFileAnswersQuestionsBeforeAnythingWasStarted) {
    Waybill app{{.store = sqlite::open(path)}};
    app.inbox("orders").on("*", "note", [](const Message&) {});

    const Health health = app.health();
    EXPECT_TRUE(health.store.reachable) << health.store.text;
    EXPECT_EQ(app.catalogue().count({}), 0U);
    EXPECT_EQ(app.catalogue().targets().size(), 1U);
    EXPECT_THAT(app.dead_letters().list().items, IsEmpty());
}

TEST_F(SqliteFile, WhoDescribesNothingMayLookAtAFreshFile) {
    Waybill catalogue_first{{.store = sqlite::open(path)}};
    EXPECT_EQ(catalogue_first.catalogue().count({}), 0U);

    Waybill health_first{{.store = sqlite::open(folder.file("other.db"))}};
    EXPECT_TRUE(health_first.health().store.reachable);
}

TEST_F(SqliteFile, WhoDoesNotWantMigrationsIsToldToRunThem) {
    Waybill app{{.store = sqlite::open(path), .migrate = false}};

    const Health health = app.health();
    EXPECT_FALSE(health.store.reachable);
    EXPECT_THAT(health.store.text, HasSubstr("migrate"));
}

TEST_F(SqliteFile, ASequenceIsNotIssuedAgainAfterARestart) {
    Sequence newest = 0;
    {
        OpenedStore opened{path};
        newest = opened.append(1).sequence;
        opened.take();
        Settlement gone{.partition = opened.fence().partition,
                        .sequence = newest,
                        .message = OpenedStore::order(1).message->id,
                        .finish = true,
                        .drop_message = true};
        opened.store->settle({.fences = {opened.fence()}, .items = {gone}});
        EXPECT_FALSE(opened.has(1));
    }

    EXPECT_GT(OpenedStore{path}.append(2).sequence, newest);
}

TEST_F(SqliteFile, APreviousProcessThatDidNotGiveBackEndedUncleanly) {
    {
        OpenedStore opened{path};
        opened.take();
    }

    OpenedStore again{path};
    const InstanceState self{.incarnation = {{2}}, .boxes = {"orders"}};
    const PartitionState seen = again.store->beat(self).partitions.at(0);
    const TakeRequest wanted{seen.id, seen.token};
    const Taken taken = again.store->take(self.incarnation, {&wanted, 1}).at(0);

    EXPECT_EQ(seen.state, PartitionState::Owner::dead);
    EXPECT_TRUE(taken.unclean);
    EXPECT_EQ(taken.unclean_ends, 1U);
}

TEST_F(SqliteFile, AnInstanceThatWasStoppingDidNotEndUncleanly) {
    {
        OpenedStore opened{path};
        opened.take();
        opened.store->beat({.incarnation = {{1}}, .stopping = true, .boxes = {"orders"}});
    }

    OpenedStore again{path};
    const InstanceState self{.incarnation = {{2}}, .boxes = {"orders"}};
    const PartitionState seen = again.store->beat(self).partitions.at(0);
    const TakeRequest wanted{seen.id, seen.token};

    EXPECT_FALSE(again.store->take(self.incarnation, {&wanted, 1}).at(0).unclean);
}

TEST_F(SqliteFile, ASecondProcessIsToldWhoOwnsTheFile) {
    ChildProcess owner{[this](const ChildProcess::Say& say) {
        auto* opened = new OpenedStore{path};
        opened->store->beat({.incarnation = {{1}}, .name = "billing-1", .boxes = {"orders"}});
        say("ready");
    }};
    ASSERT_EQ(owner.hear(), "ready");

    const StoreError error = error_of([&] { sqlite::open(path); });

    EXPECT_EQ(error.reaction(), Reaction::back_off);
    EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(owner.pid())));
    EXPECT_THAT(error.what(), HasSubstr("\"billing-1\""));
    EXPECT_THAT(error.what(), HasSubstr(path));
}

TEST_F(SqliteFile, TheFileOfAKilledProcessIsFreeAtOnceWithAllItHadAcknowledged) {
    ChildProcess owner{[this](const ChildProcess::Say& say) {
        auto* opened = new OpenedStore{path};
        for (int number = 1; number <= 20; ++number) opened->append(number);
        say("appended");
    }};
    ASSERT_EQ(owner.hear(), "appended");

    owner.kill();

    OpenedStore mine{path};
    mine.take();
    EXPECT_EQ(mine.scan().size(), 20U);
    EXPECT_THAT(mine.store->integrity_check(), IsEmpty());
}

TEST_F(SqliteFile, OpeningItTwiceInOneProcessPointsToConnect) {
    OpenedStore opened{path};

    const StoreError error = error_of([&] { sqlite::open(path); });

    EXPECT_THAT(error.what(), HasSubstr("by this process"));
    EXPECT_THAT(error.what(), HasSubstr("connect()"));
}

TEST_F(SqliteFile, ALinkToTheFileIsTheSameFile) {
    OpenedStore opened{path};
    fs::create_symlink(path, folder.file("link.db"));

    EXPECT_THAT(error_of([&] { sqlite::open(folder.file("link.db")); }).what(),
                HasSubstr("in use"));
}

TEST_F(SqliteFile, AFolderInsteadOfAFileIsCalledAFolder) {
    const StoreError error = error_of([&] { sqlite::open(folder.file("")); });
    EXPECT_THAT(error.what(), HasSubstr("is a folder; name a file in it"));
}

TEST_F(SqliteFile, TwoNamesOfOneFileAreNotTwoOwners) {
    auto opened = std::make_unique<OpenedStore>(path);
    fs::create_hard_link(path, folder.file("other.db"));

    const StoreError beside = error_of([&] { sqlite::open(folder.file("other.db")); });
    opened.reset();
    const StoreError alone = error_of([&] { sqlite::open(path); });
    fs::remove(folder.file("other.db"));

    for (const StoreError& error : {beside, alone}) {
        EXPECT_EQ(error.reaction(), Reaction::give_up);
        EXPECT_THAT(error.what(), HasSubstr("2 names (hard links)"));
        EXPECT_THAT(error.what(), HasSubstr("remove the other names"));
    }
    EXPECT_NO_THROW(OpenedStore{path}) << "one name is left";
}

TEST_F(SqliteFile, WhoMayNotReadTheDatabaseDoesNotReadWhoOwnsIt) {
    using enum fs::perms;
    { const OpenedStore opened{path}; }
    fs::permissions(path, owner_read | owner_write);
    fs::permissions(path + "-owner", owner_read | owner_write | group_read | others_read);

    const OpenedStore left_by_an_earlier_version{path};
    std::ofstream{folder.file("new.db")}.close();
    fs::permissions(folder.file("new.db"), owner_read | owner_write);
    const OpenedStore made_now{folder.file("new.db")};

    EXPECT_EQ(fs::status(path + "-owner").permissions(), owner_read | owner_write);
    EXPECT_EQ(fs::status(folder.file("new.db-owner")).permissions(), owner_read | owner_write);
}

TEST_F(SqliteFile, AFolderThatDoesNotExistIsNamed) {
    const StoreError error = error_of([&] { sqlite::open(folder.file("nowhere/orders.db")); });

    EXPECT_EQ(error.reaction(), Reaction::give_up);
    EXPECT_THAT(error.what(), HasSubstr("nowhere/orders.db"));
    EXPECT_THAT(error.what(), HasSubstr("writable"));
}

/// What a user that may only read is told, whoever runs the tests.
std::string told_to_a_reader(const std::string& path) {
    ChildProcess reader{[path](const ChildProcess::Say& say) {
        constexpr uid_t nobody = 65534;
        if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(1);
        try {
            sqlite::open(path);
            say("it was opened");
        } catch (const StoreError& error) {
            say(error.what());
        }
    }};
    return reader.hear();
}

TEST_F(SqliteFile, AFolderThatMayOnlyBeReadIsReportedAsSuch) {
    { const OpenedStore opened{path}; }
    fs::remove(path + "-owner");
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec |
                                       fs::perms::others_read | fs::perms::others_exec);

    const std::string told = told_to_a_reader(path);
    fs::permissions(folder.path(), fs::perms::owner_all);

    EXPECT_THAT(told, HasSubstr("Permission denied"));
    EXPECT_THAT(told, HasSubstr("must exist and be writable"));
}

TEST_F(SqliteFile, AFileThatMayOnlyBeReadIsReportedAsSuch) {
    { const OpenedStore opened{path}; }
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(path + "-owner", fs::perms::all);
    fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);

    const std::string told = told_to_a_reader(path);

    EXPECT_THAT(told, HasSubstr("read-only"));
    EXPECT_THAT(told, HasSubstr("writable for this user"));
}

TEST_F(SqliteFile, AFileThatIsNoDatabaseIsRefused) {
    std::ofstream{path} << std::string(5'000, 'x');

    const StoreError error = error_of([&] { sqlite::open(path); });

    EXPECT_EQ(error.reaction(), Reaction::give_up);
    EXPECT_THAT(error.what(), HasSubstr("no SQLite database"));
    EXPECT_EQ(fs::file_size(path), 5'000U) << "it is not ours to change";
}

TEST_F(SqliteFile, ADamagedFileIsReportedAndWhatIsSoundCanStillBeRead) {
    {
        OpenedStore opened{path};
        for (int number = 1; number <= 400; ++number) opened.append(number, 1'000);
    }
    const std::uint64_t bytes = fs::file_size(path);
    damage(bytes / 2, 40'000);

    OpenedStore again{path};
    int sound = 0;
    std::string told;
    for (int number = 1; number <= 400; ++number) {
        try {
            sound += again.has(number) ? 1 : 0;
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::give_up);
            told = error.what();
        }
    }

    EXPECT_THAT(again.store->integrity_check(), Not(IsEmpty()));
    EXPECT_THAT(told, HasSubstr("damaged"));
    EXPECT_THAT(told, HasSubstr("restore a backup"));
    EXPECT_GT(sound, 100);
    EXPECT_LT(sound, 400);
}

TEST_F(SqliteFile, ABackupIsWholeAndAnotherTimeline) {
    OpenedStore opened{path};
    for (int number = 1; number <= 50; ++number) opened.append(number);

    opened.store->backup(folder.file("copy.db"));
    opened.append(51);

    OpenedStore copy{folder.file("copy.db")};
    copy.take();
    opened.take();
    EXPECT_EQ(copy.scan().size(), 50U);
    EXPECT_NE(copy.fence().token.generation, opened.fence().token.generation);
    EXPECT_THAT(copy.store->integrity_check(), IsEmpty());
}

TEST_F(SqliteFile, ABackupBesideWritersHasEverythingAcknowledgedBeforeIt) {
    OpenedStore opened{path};
    for (int number = 1; number <= 20; ++number) opened.append(number);
    Gate under_way;
    Background writer{[&](const std::stop_token& stop) {
        for (int number = 100; !stop.stop_requested(); ++number) {
            opened.append(number);
            if (number == 120) under_way.open();
        }
    }};
    under_way.pass();

    opened.store->backup(folder.file("copy.db"));
    writer.stop();
    writer.join();

    OpenedStore copy{folder.file("copy.db")};
    for (int number = 1; number <= 20; ++number) EXPECT_TRUE(copy.has(number));
    for (int number = 100; number <= 120; ++number) EXPECT_TRUE(copy.has(number));
    EXPECT_THAT(copy.store->integrity_check(), IsEmpty());
}

TEST_F(SqliteFile, ABackupNeverWritesOverAFileAndLeavesNoHalfOne) {
    OpenedStore opened{path};
    std::ofstream{folder.file("precious")} << "mine";

    const StoreError there = error_of([&] { opened.store->backup(folder.file("precious")); });
    const StoreError nowhere = error_of([&] { opened.store->backup(folder.file("no/copy.db")); });

    EXPECT_THAT(there.what(), HasSubstr("exists"));
    EXPECT_THAT(nowhere.what(), HasSubstr("no/copy.db"));
    EXPECT_EQ(fs::file_size(folder.file("precious")), 4U);
}

TEST_F(SqliteFile, SettingsThatBreakAPromiseAreNamed) {
    const OpenedStore opened{path, {.synchronous = sqlite::Synchronous::normal}};

    const Problems problems = opened.store->check_settings();

    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(problems[0], HasSubstr("power cut"));
}

TEST_F(SqliteFile, OptionsOutOfBoundsAreRefusedAllAtOnce) {
    const Problems problems = check(sqlite::Options{
        .partitions = 0, .busy_timeout = 0ms, .inline_deadline = 1h, .checkpoint_pages = 1});

    EXPECT_EQ(problems.size(), 4U);
    EXPECT_THROW(sqlite::open(path, {.partitions = 2'000}), ConfigError);
    EXPECT_THROW(sqlite::open(":memory:"), ConfigError);
    EXPECT_TRUE(check(sqlite::Options{}).empty());
}

TEST_F(SqliteFile, AMigrationThatWasAppliedWithAnotherTextIsRefused) {
    { const OpenedStore opened{path}; }
    OwnConnection{path}.run("update waybill_migration set checksum = 'other'");

    const StoreError error = error_of([&] { OpenedStore{path}; });

    EXPECT_EQ(error.reaction(), Reaction::give_up);
    EXPECT_THAT(error.what(), HasSubstr("migration 1 (tables)"));
}

TEST_F(SqliteFile, ANewerSchemaIsLeftAlone) {
    { const OpenedStore opened{path}; }
    OwnConnection{path}.run("insert into waybill_migration values (999, 'later', 'x', 0)");

    OpenedStore again{path};

    EXPECT_EQ(again.append(1).status, AppendResult::Status::fresh);
}

TEST_F(SqliteFile, ASchemaIsBroughtAsFarAsWasAskedAndNeverBack) {
    const auto store = sqlite::open(path);
    ASSERT_EQ(store->schema(), sqlite::schema_of_new_file());

    store->migrate(1);
    const sqlite::Schema first = store->schema();
    store->migrate();
    store->migrate(1);
    const sqlite::Schema last = store->schema();

    EXPECT_EQ(first.version, 1U);
    EXPECT_THAT(first.missing, testing::ElementsAre("2 notes"));
    EXPECT_EQ(last.version, last.newest);
    EXPECT_TRUE(last.missing.empty());
    EXPECT_THROW(store->migrate(last.newest + 1), ConfigError);
    EXPECT_THROW(store->migrate(0), ConfigError);
}

TEST_F(SqliteFile, NotesAreKeptUntilTheirTimeAndTravelWithABackup) {
    const std::string copy = path + ".copy";
    {
        const OpenedStore opened{path};
        sqlite::SqliteStore& store = *opened.store;
        store.keep_note("a", "first");
        store.keep_note("a", "second");
        store.keep_note("old", "x", StoreTime{1s});
        store.keep_note("gone", "x");
        store.drop_note("gone");
        EXPECT_EQ(store.note("old"), std::nullopt) << "its time is over";
        EXPECT_EQ(store.note("gone"), std::nullopt);
        store.backup(copy);
    }

    EXPECT_EQ(OpenedStore{path}.store->note("a"), "second");
    EXPECT_EQ(OpenedStore{copy}.store->note("a"), "second");
}

/// Everything in the folder, with its bytes.
std::map<std::string, std::string> contents_of(const fs::path& where) {
    std::map<std::string, std::string> contents;
    for (const auto& file : fs::directory_iterator{where}) {
        std::ifstream bytes{file.path(), std::ios::binary};
        contents[file.path().filename()] = {std::istreambuf_iterator<char>{bytes}, {}};
    }
    return contents;
}

TEST_F(SqliteFile, AGlanceSaysWhatAFileIsAndLeavesItAsItIs) {
    { const OpenedStore ours{path}; }
    OwnConnection{folder.file("theirs ?#%.db")}.run(
        "create table customer (id); pragma user_version = 7");
    std::ofstream{folder.file("empty.db")}.close();
    std::ofstream{folder.file("text.db")} << std::string(5'000, 'x');
    const auto before = contents_of(folder.path());

    const sqlite::Glance ours = sqlite::glance(path);
    const sqlite::Glance theirs = sqlite::glance(folder.file("theirs ?#%.db"));
    const sqlite::Glance empty = sqlite::glance(folder.file("empty.db"));
    const StoreError text = error_of([&] { sqlite::glance(folder.file("text.db")); });
    error_of([&] { sqlite::glance(folder.file("nowhere.db")); });

    EXPECT_EQ(ours.schema.version, ours.schema.newest);
    EXPECT_THAT(ours.tables_of_others, IsEmpty());
    EXPECT_EQ(theirs.schema, sqlite::schema_of_new_file());
    EXPECT_THAT(theirs.tables_of_others, testing::ElementsAre("customer"));
    EXPECT_EQ(empty, sqlite::Glance{sqlite::schema_of_new_file()});
    EXPECT_THAT(text.what(), HasSubstr("no SQLite database"));
    EXPECT_EQ(contents_of(folder.path()), before);
}

TEST_F(SqliteFile, AGlanceSeesWhatIsOnlyInTheJournalOfWhoeverHasItOpen) {
    const OpenedStore opened{path};

    const sqlite::Glance seen = sqlite::glance(path);

    EXPECT_EQ(seen.schema.version, seen.schema.newest);
}

TEST_F(SqliteFile, BeforeItsTablesAreMadeAFileSaysWhatToDo) {
    const auto store = sqlite::open(path);

    const StoreError error = error_of([&] { store->read({}); });

    EXPECT_THAT(error.what(), HasSubstr("migrate()"));
}

}  // namespace
}  // namespace waybill::test
