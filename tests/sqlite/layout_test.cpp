
#include "recent.hpp"
#include "sql.hpp"
#include "sqlite/fixture.hpp"
#include "sqlite/own_connection.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SqliteLayout : public testing::Test {
protected:
    /// Messages first … first + count - 1, in lanes by turns.
    void append_laned(int first, int count, const std::vector<std::string>& lanes) {
        std::vector<Append> batch;
        for (int i = 0; i < count; ++i) {
            Message message = *OpenedStore::order(first + i).message;
            message.lane = lanes[static_cast<std::size_t>(i) % lanes.size()];
            batch.push_back({.message = std::make_shared<const Message>(std::move(message))});
        }
        opened.store->append(batch);
    }
    std::vector<Sequence> lane(const std::string& name, Sequence from = 0,
                               std::uint32_t rows = 64) {
        const ReadPage page = opened.store->read({.kind = ReadRequest::Kind::lanes,
                                                  .lanes = {{opened.fence().partition, name, from}},
                                                  .lane_rows = rows,
                                                  .rows_max = 100'000,
                                                  .bytes_max = 1ULL << 30});
        std::vector<Sequence> found;
        for (const Entry& row : page.entries) found.push_back(row.sequence);
        return found;
    }
    void finish_all(const std::vector<Sequence>& sequences) {
        SettleBatch batch{.registry_version = opened.registry_version, .fences = {opened.fence()}};
        for (const Sequence sequence : sequences) {
            batch.items.push_back(
                {.partition = opened.fence().partition,
                 .sequence = sequence,
                 .message = OpenedStore::order(static_cast<int>(sequence)).message->id,
                 .finish = true});
        }
        opened.store->settle(batch);
    }

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
    OpenedStore opened{path};
    OwnConnection own{path};
};

/// Sequences are the numbers of the orders here: nothing else draws one.
std::vector<Sequence> numbers(Sequence first, Sequence last, Sequence step) {
    std::vector<Sequence> all;
    for (Sequence number = first; number <= last; number += step) all.push_back(number);
    return all;
}

TEST_F(SqliteLayout, ShortLanesAreReadWithoutAnIndex) {
    opened.take();
    append_laned(1, 1'000, {"a", "b"});

    EXPECT_EQ(lane("a", 0, 1'000), numbers(1, 1'000, 2));
    EXPECT_EQ(own.count("waybill_lane"), 0);
}

TEST_F(SqliteLayout, LongLanesAreIndexedWhenTheyAreReadAndWhatCameLaterIsFoundToo) {
    opened.take();
    append_laned(1, 9'000, {"a", "b", "c"});

    EXPECT_EQ(lane("b", 0, 10'000), numbers(2, 9'000, 3));
    EXPECT_EQ(own.count("waybill_lane"), 9'000);
    append_laned(9'001, 300, {"a", "b", "c"});

    EXPECT_EQ(lane("b", 8'999, 10'000), numbers(9'002 - 3, 9'300, 3));
    EXPECT_EQ(lane("a", 0, 2), numbers(1, 4, 3));
    EXPECT_THAT(lane("d"), IsEmpty());
    EXPECT_EQ(own.count("waybill_lane"), 9'000) << "a few are looked through";
}

TEST_F(SqliteLayout, FinishedRowsLeaveTheirLaneWhateverItsIndexSays) {
    opened.take();
    append_laned(1, 6'000, {"a", "b"});
    lane("a");

    finish_all(numbers(1, 3'001, 2));

    EXPECT_EQ(lane("a", 0, 3), numbers(3'003, 3'007, 2));
    EXPECT_EQ(lane("b", 0, 2), numbers(2, 4, 2));
}

TEST_F(SqliteLayout, AnIndexOfWhatIsFinishedIsForgotten) {
    opened.take();
    append_laned(1, 6'000, {"a"});
    lane("a");
    finish_all(numbers(1, 6'000, 1));
    append_laned(6'001, 5'000, {"a"});

    EXPECT_EQ(lane("a", 0, 10'000), numbers(6'001, 11'000, 1));
    EXPECT_EQ(own.count("waybill_lane"), 5'000);
}

TEST_F(SqliteLayout, ARowThatWasParkedWhenItsLaneWasIndexedIsFoundOnceItIsNot) {
    opened.take();
    append_laned(1, 5'000, {"a"});
    Settlement item{.partition = opened.fence().partition,
                    .sequence = 2,
                    .message = OpenedStore::order(2).message->id,
                    .parked = true};
    const auto settle = [&] {
        opened.store->settle({.registry_version = opened.registry_version,
                              .fences = {opened.fence()},
                              .items = {item}});
    };
    settle();
    const auto without = lane("a", 0, 2);

    item.parked = false;
    settle();

    EXPECT_THAT(without, ElementsAre(1, 3));
    EXPECT_THAT(lane("a", 0, 2), ElementsAre(1, 2));
}

TEST_F(SqliteLayout, TheHotPathNeverWalksThroughATable) {
    for (const sqlite::sql::Query* query : sqlite::sql::queries) {
        const std::string name = query->name;
        // What counts everything looks at everything; and one row is asked whether it is there.
        if (name == "count_open" || name == "count_dead" || name == "exceptions") continue;
        sqlite3_stmt* statement = nullptr;
        const std::string text = "explain query plan " + std::string{query->text};
        ASSERT_EQ(sqlite3_prepare_v2(own.handle(), text.c_str(), -1, &statement, nullptr),
                  SQLITE_OK)
            << name << ": " << sqlite3_errmsg(own.handle());
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const std::string step =
                reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
            for (const char* table : {"message", "open", "finished", "dead ", "attempt", "dedup",
                                      "lane", "command", "SCAN o", "SCAN m", "SCAN d"}) {
                // Who asks for what is not done looks at all of that, and at nothing else.
                const bool is_unfinished =
                    std::string_view{table} == "open" || std::string_view{table} == "dead ";
                if (name.starts_with("unfinished_") && is_unfinished) continue;
                const bool walks =
                    step.find("SCAN") != std::string::npos && step.find(table) != std::string::npos;
                EXPECT_FALSE(walks) << name << ": " << step;
            }
        }
        sqlite3_finalize(statement);
    }
}

TEST_F(SqliteLayout, PartitionsBeyondWhatAPlaceCanNameAreRefused) {
    std::vector<BoxDeclaration> boxes;
    for (int i = 0; i < 64; ++i) {
        boxes.push_back({"box-" + std::to_string(i), {.partitions = 1'024}});
    }

    EXPECT_EQ(error_of([&] { opened.store->declare(boxes, {}); }).reaction(), Reaction::bad_data);

    EXPECT_EQ(own.count("waybill_partition"), 1);
    EXPECT_EQ(opened.append(1).status, AppendResult::Status::fresh);
}

TEST(SqliteRecent, AMessageIsHandedOutOnce) {
    sqlite::RecentMessages recent;
    const std::vector items{OpenedStore::order(1), OpenedStore::order(2)};
    const std::vector<AppendResult> results{
        {.sequence = 7}, {.status = AppendResult::Status::duplicate, .sequence = 8}};
    recent.add(items, results);

    EXPECT_EQ(recent.take(7), items[0].message);
    EXPECT_EQ(recent.take(7), nullptr);
    EXPECT_EQ(recent.take(8), nullptr) << "only fresh ones were added";
    EXPECT_EQ(recent.take(99), nullptr);
}

TEST(SqliteRecent, TheOldestGoWhenThereAreTooMany) {
    sqlite::RecentMessages recent{10'000};
    const std::vector items{OpenedStore::order(1, 4'000), OpenedStore::order(2, 4'000),
                            OpenedStore::order(3, 4'000)};
    recent.add(items, std::vector<AppendResult>{{.sequence = 1}, {.sequence = 2}, {.sequence = 3}});

    EXPECT_EQ(recent.take(1), nullptr);
    EXPECT_EQ(recent.take(3), items[2].message);
    EXPECT_EQ(recent.take(2), items[1].message);
}

TEST(SqliteRecent, OnesThatComeInTheWrongOrderAreFound) {
    sqlite::RecentMessages recent;
    const std::vector items{OpenedStore::order(1)};
    for (const Sequence sequence : {5, 2, 9, 3}) {
        recent.add(items, std::vector<AppendResult>{{.sequence = sequence}});
    }

    for (const Sequence sequence : {3, 9, 2, 5}) EXPECT_NE(recent.take(sequence), nullptr);
}

}  // namespace
}  // namespace waybill::test
