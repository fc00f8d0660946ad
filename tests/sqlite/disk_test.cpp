#include <atomic>
#include <filesystem>
#include <set>

#include "sqlite/faulty_disk.hpp"
#include "sqlite/fixture.hpp"
#include "support/app.hpp"
#include "waybill/system.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Call = FaultyDisk::Call;

class SqliteDisk : public testing::Test {
protected:
    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
    FaultyDisk disk;
};

TEST_F(SqliteDisk, AFullDiskRefusesAppendsSaysSoAndIsSurvived) {
    OpenedStore opened{path};
    opened.append(1);
    disk.fail(Call::write, SQLITE_FULL);

    const StoreError error = error_of([&] { opened.append(2); });
    const StoreHealth during = opened.store->health();
    const bool readable = opened.has(1);
    disk.repair();
    opened.append(3);

    EXPECT_EQ(error.reaction(), Reaction::back_off);
    EXPECT_THAT(error.what(), HasSubstr("make room"));
    EXPECT_THAT(error.what(), HasSubstr(path));
    EXPECT_FALSE(during.reachable);
    EXPECT_THAT(during.text, HasSubstr("full"));
    EXPECT_TRUE(readable);
    EXPECT_FALSE(opened.has(2));
    EXPECT_TRUE(opened.has(3));
    EXPECT_TRUE(opened.store->health().reachable);
    EXPECT_THAT(opened.store->integrity_check(), IsEmpty());
}

TEST_F(SqliteDisk, AFullDiskThatHasRoomAgainIsReachableAlthoughNobodyWrites) {
    OpenedStore opened{path};
    disk.fail(Call::write, SQLITE_FULL);
    error_of([&] { opened.append(1); });
    const StoreHealth during = opened.store->health();
    disk.repair();

    // It is looked at again once a second.
    const LocalTime patience = later(system_clock().now(), 60s);
    StoreHealth after = opened.store->health();
    while (!after.reachable && system_clock().now() < patience) after = opened.store->health();

    EXPECT_FALSE(during.reachable) << "whoever looks finds it full";
    EXPECT_TRUE(after.reachable) << after.text;
    EXPECT_FALSE(opened.has(1));
}

TEST_F(SqliteDisk, ADiskThatIsFullWhileSettlingLosesNoOutcome) {
    OpenedStore opened{path};
    opened.append(1);
    opened.take();
    const Entry row = opened.scan().at(0);
    disk.fail(Call::write, SQLITE_FULL);

    const StoreError error = error_of([&] { opened.finish(row); });
    disk.repair();
    EXPECT_EQ(opened.scan().size(), 1U);
    opened.finish(row);

    EXPECT_EQ(error.reaction(), Reaction::back_off);
    EXPECT_THAT(opened.scan(), IsEmpty());
}

TEST_F(SqliteDisk, AnEngineGoesOnWhenThereIsRoomAgain) {
    std::atomic<int> handled = 0;
    EventLog log;
    Waybill app{quick_settings(sqlite::open(path))};
    app.observe(log);
    app.inbox("orders").on("*", "billing", [&](const Message&) {
        if (++handled == 1) disk.fail(Call::write, SQLITE_FULL);
    });
    app.start();

    app.append({.type = "order.placed", .body = "1"});
    ASSERT_TRUE(log.wait_for(Event::Kind::settle_failed));
    EXPECT_THROW(app.append({.type = "order.placed", .body = "2"}), StoreError);
    disk.repair();
    app.append({.type = "order.placed", .body = "3"});

    EXPECT_TRUE(log.wait_for(Event::Kind::finished, 2));
    app.stop();
    EXPECT_EQ(handled, 2) << "what was done while the disk was full does not run again";
}

TEST_F(SqliteDisk, ACommitTheDiskDidNotConfirmIsUnknownAndNothingIsWrittenAfterIt) {
    {
        OpenedStore opened{path};
        opened.append(1);
        disk.fail_once(Call::sync, SQLITE_IOERR_FSYNC);

        const StoreError unknown = error_of([&] { opened.append(2); });
        const StoreError refused = error_of([&] { opened.append(3); });

        EXPECT_EQ(unknown.reaction(), Reaction::find_out);
        EXPECT_EQ(refused.reaction(), Reaction::give_up);
        EXPECT_THAT(refused.what(), HasSubstr("restart the process"));
        EXPECT_FALSE(opened.store->health().reachable);
    }

    OpenedStore again{path};
    EXPECT_TRUE(again.has(1));
    EXPECT_FALSE(again.has(3));
    EXPECT_THAT(again.store->integrity_check(), IsEmpty());
    again.append(4);
}

/// What a run on a failing disk was told.
struct Told {
    std::set<int> appended{};
    std::set<int> finished{};
};

/// Appends and finishes a few messages, through whatever fails.
Told run_on(const std::string& path) {
    Told told;
    try {
        OpenedStore opened{path};
        opened.take();
        for (int number = 1; number <= 4; ++number) {
            try {
                opened.append(number, 6'000);
                told.appended.insert(number);
            } catch (const StoreError&) {
                // Nothing was promised.
            }
        }
        for (const Entry& row : opened.scan()) {
            try {
                opened.finish(row);
                told.finished.insert(row.message->id.bytes[15]);
            } catch (const StoreError&) {
                // Nothing was promised.
            }
        }
    } catch (const StoreError&) {
        // Not even the file could be opened.
    }
    return told;
}

/// The n-th call that changes the file fails, for every n until one run goes through clean. The last
/// ones are the copying of the journal when the file is closed.
void fail_at_every_call(Call call, int code, bool for_good, FaultyDisk& disk,
                        const TemporaryFolder& folder) {
    { const OpenedStore prepared{folder.file("empty.db")}; }
    bool is_clean = false;
    for (int passing = 0; !is_clean; ++passing) {
        const std::string path = folder.file("run.db");
        for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(path + part);
        std::filesystem::copy_file(folder.file("empty.db"), path,
                                   std::filesystem::copy_options::overwrite_existing);
        for_good ? disk.fail(call, code, passing) : disk.fail_once(call, code, passing);
        const Told told = run_on(path);
        is_clean = !disk.has_failed();
        disk.repair();

        OpenedStore again{path};
        again.take();
        std::set<int> open;
        for (const Entry& row : again.scan()) open.insert(row.message->id.bytes[15]);
        for (const int number : told.appended) {
            EXPECT_TRUE(again.has(number)) << number << " was lost at call " << passing;
        }
        for (const int number : told.finished) {
            EXPECT_FALSE(open.contains(number)) << number << " runs again at call " << passing;
        }
        EXPECT_THAT(again.store->integrity_check(), IsEmpty()) << "at call " << passing;
        if (is_clean) {
            EXPECT_EQ(told.finished.size(), 4U);
        }
    }
}

TEST_F(SqliteDisk, NothingAcknowledgedIsLostWhicheverWriteFails) {
    fail_at_every_call(Call::write, SQLITE_IOERR_WRITE, false, disk, folder);
}

TEST_F(SqliteDisk, NothingAcknowledgedIsLostWhicheverWriteFindsTheDiskFull) {
    fail_at_every_call(Call::write, SQLITE_FULL, true, disk, folder);
}

TEST_F(SqliteDisk, NothingAcknowledgedIsLostWhicheverSyncFails) {
    fail_at_every_call(Call::sync, SQLITE_IOERR_FSYNC, false, disk, folder);
}

}  // namespace
}  // namespace waybill::test
