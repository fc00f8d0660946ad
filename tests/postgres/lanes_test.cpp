#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "postgres/fixture.hpp"
#include "sql.hpp"

/// Which rows are in which lane is a list that is made when somebody asks: whatever came since, and however it was made,
/// nothing of a lane is skipped and nothing comes twice.
namespace waybill::test {
namespace {

using testing::ElementsAre;

class PostgresLanes : public Postgres {
protected:
    static Append laned(int number, const std::string& lane = "L") {
        Message message = *order(number).message;
        message.lane = lane;
        return {.message = std::make_shared<const Message>(std::move(message))};
    }
    std::vector<std::string> lane(const std::string& name = "L", Sequence from = 0,
                                  std::uint32_t rows = 64) {
        return bodies(store_->read({.kind = ReadRequest::Kind::lanes,
                                    .lanes = {{taken_.partition, name, from}},
                                    .lane_rows = rows}));
    }
    /// One step of making the list, or of bringing it up to date.
    bool list(std::int64_t chunk = 50'000) {
        postgres::Rows rows = stranger()->read(postgres::sql::list_lanes, chunk);
        rows.next();
        return rows.flag(0);
    }
    /// In one transaction.
    void insert_rows(int count, const std::string& name) {
        const std::string partition = std::to_string(taken_.partition);
        schema_.run(
            "with m as (insert into waybill.message select nextval('waybill.sequence'), "
            "gen_random_uuid(), " +
            partition + ", 1, 0, 0, 't', '', '', '', '', '', '" + name +
            "', '', '', 0, null, '' from generate_series(1, " + std::to_string(count) +
            ") returning sequence, id) insert into waybill.open (partition, sequence, id, due, "
            "lane) select " +
            partition + ", sequence, id, 0, waybill.lane_number('" + name + "') from m");
    }
    /// The first steps, until something is listed and not all.
    void list_half(std::int64_t chunk) {
        do {
            ASSERT_FALSE(list(chunk));
        } while (value("select count(*) from waybill.lane_row") == "0");
    }
    std::string value(const std::string& text) const {
        auto db = stranger();
        postgres::Rows rows = db->script(db->in_schema(text), "test");
        return rows.next() ? rows.string(0) : "";
    }

    Taken taken_ = own(*store_);
};

TEST_F(PostgresLanes, WhatCameAfterTheListIsRead) {
    append({laned(1), laned(2, "another"), laned(3)});
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 3"));

    append({laned(4), laned(5, "another")});

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 3", "order 4"));
    EXPECT_THAT(lane("L", 0, 2), ElementsAre("order 1", "order 3"));
    EXPECT_THAT(lane("another"), ElementsAre("order 2", "order 5"));
    EXPECT_TRUE(list());
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 3", "order 4"));
}

TEST_F(PostgresLanes, AMessageWhoseTransactionCommitsAfterTheListIsNotSkipped) {
    auto db = stranger();
    postgres::Transaction late{*db};
    append_on(*db, laned(1));
    append({laned(2)});

    EXPECT_THAT(lane(), ElementsAre("order 2"));
    EXPECT_TRUE(list());
    append({laned(3)});
    late.commit();

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2", "order 3"));
    EXPECT_TRUE(list());
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2", "order 3"));
}

TEST_F(PostgresLanes, AMessageThatCommitsWhileTheListIsMadeIsNotSkipped) {
    auto db = stranger();
    postgres::Transaction late{*db};
    append_on(*db, laned(1));
    append({laned(2), laned(3), laned(4)});

    list_half(2);
    late.commit();
    while (!list(2)) {
    }

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2", "order 3", "order 4"));
}

TEST_F(PostgresLanes, AHalfMadeListIsNotRead) {
    append({laned(1), laned(2), laned(3)});
    list_half(1);

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2", "order 3"));
}

TEST_F(PostgresLanes, MoreThanOneStatementShouldListMakesTheListAnew) {
    append({laned(1)});
    while (!list(1)) {
    }
    std::vector<Append> many;
    for (int i = 2; i <= 20; ++i) many.push_back(laned(i));
    append(many);

    EXPECT_FALSE(list(1));
    while (!list(1)) {
    }

    EXPECT_EQ(value("select edition from waybill.lane_list"), "2");
    EXPECT_EQ(lane().size(), 20U);
}

/// It was thrown away when it was whole, for so much had come while it was made; and again.
TEST_F(PostgresLanes, AListIsMadeThoughMoreComesMeanwhileThanOneStepLists) {
    int number = 0;
    const auto append_some = [&](int count) {
        std::vector<Append> batch;
        for (int i = 0; i < count; ++i) batch.push_back(laned(++number));
        append(std::move(batch));
    };
    append_some(100);

    int steps = 1;
    for (; steps < 60 && !list(4); ++steps) append_some(2);

    EXPECT_LT(steps, 60);
    EXPECT_EQ(value("select edition from waybill.lane_list"), "1");
    EXPECT_EQ(lane("L", 0, 1'000).size(), static_cast<std::size_t>(number));
}

TEST_F(PostgresLanes, ATransactionThatIsLargerThanAStepMakesTheListAnew) {
    append({laned(1)});
    auto db = stranger();
    postgres::Transaction late{*db};
    for (int i = 2; i <= 30; ++i) append_on(*db, laned(i));
    while (!list(2)) {
    }
    late.commit();

    while (!list(2)) {
    }

    EXPECT_EQ(value("select edition from waybill.lane_list"), "2");
    EXPECT_EQ(lane().size(), 30U);
}

/// Every read would walk over them for as long as somebody holds a snapshot.
TEST_F(PostgresLanes, WhatCameAndWentIsNotWalkedOverForEver) {
    append({laned(1)});
    EXPECT_THAT(lane(), ElementsAre("order 1"));
    schema_.run("select setval('waybill.sequence', nextval('waybill.sequence') + 100000)");

    EXPECT_THAT(lane(), ElementsAre("order 1"));

    EXPECT_EQ(value("select drawn from waybill.lane_list"),
              value("select last_value from waybill.sequence"));
}

TEST_F(PostgresLanes, NobodyQueuesForTheList) {
    append({laned(1)});
    EXPECT_THAT(lane(), ElementsAre("order 1"));
    auto db = stranger();
    postgres::Transaction other{*db};
    db->read(postgres::sql::list_lanes, std::int64_t{50'000});

    EXPECT_FALSE(list());
    other.commit();

    EXPECT_TRUE(list());
}

TEST_F(PostgresLanes, AListThatIsMostlyOfWhatIsGoneIsMadeAnew) {
    append({laned(1), laned(2)});
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
    store_->settle(finish(taken_, scan(taken_).entries.at(0)));
    EXPECT_THAT(lane(), ElementsAre("order 2"));

    schema_.run("update waybill.lane_list set listed_max = 1");
    while (!list()) {
    }

    EXPECT_THAT(lane(), ElementsAre("order 2"));
    EXPECT_EQ(value("select count(*) from waybill.lane_row"), "1") << "the old edition is gone";
}

TEST_F(PostgresLanes, ACrashThatEmptiedTheListCostsNothing) {
    append({laned(1), laned(2)});
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));

    schema_.run("truncate waybill.lane_row, waybill.lane_list");

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
}

/// Its stamps and its list are those of another cluster: here they say nothing, or the opposite.
TEST_F(PostgresLanes, AListThatWasRestoredFromABackupIsNotBelieved) {
    append({laned(1)});
    EXPECT_THAT(lane(), ElementsAre("order 1"));
    schema_.run("update waybill.open set xact = '9000000000000'");
    schema_.run(
        "update waybill.lane_list set generation = 'another', seen = "
        "'8999999999999:9000000000001:'");

    append({laned(2)});

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
}

TEST_F(PostgresLanes, ARowThatIsListedAndLookedThroughComesOnce) {
    append({laned(1), laned(2)});
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));

    schema_.run("update waybill.lane_list set seen = '3:3:'");

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
    EXPECT_THAT(lane("L", 0, 1), ElementsAre("order 1"));
}

TEST_F(PostgresLanes, MoreThanIsLookedThroughIsListedFirst) {
    append({laned(1)});
    EXPECT_THAT(lane(), ElementsAre("order 1"));
    insert_rows(5'000, "other");
    append({laned(2)});

    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
    EXPECT_EQ(value("select listed from waybill.lane_list"), "5002");
}

/// It was listed, and then so much had come that it was listed again, for as long as the call might take.
TEST_F(PostgresLanes, ALaneIsReadThoughMoreComesThanIsUsuallyLookedThrough) {
    append({laned(1)});
    EXPECT_THAT(lane(), ElementsAre("order 1"));
    // Listing that is outrun: others read the schema after this test.
    schema_.run("alter function waybill.list_lanes rename to list_lanes_kept");
    schema_.run(
        "create function waybill.list_lanes(chunk bigint) returns boolean language sql as 'select "
        "true'");
    insert_rows(3'000, "L");

    EXPECT_EQ(lane().size(), 64U);

    schema_.run("drop function waybill.list_lanes");
    schema_.run("alter function waybill.list_lanes_kept rename to list_lanes");
}

/// A step listed its share of one partition among all of all boxes, and a lane stood for an hour.
TEST_F(PostgresLanes, AStepTakesAllItMayOfOnePartitionAmongHundreds) {
    for (int i = 0; i < 12; ++i) {
        const BoxDeclaration box{"empty " + std::to_string(i), {}};
        store_->declare({&box, 1}, {});
    }
    insert_rows(2'000, "L");

    int steps = 1;
    while (!list(1'000)) ++steps;

    EXPECT_LE(steps, 10);
    EXPECT_EQ(value("select listed from waybill.lane_list"), "2000");
}

/// What is long gone, and kept in the index by somebody's snapshot, was walked over by every step.
TEST_F(PostgresLanes, AStepLooksAtSoManySequencesAndNotAtAllThatAreGone) {
    append({laned(1)});
    schema_.run("select setval('waybill.sequence', nextval('waybill.sequence') + 100000)");
    append({laned(2)});

    int steps = 1;
    while (!list(1'000)) ++steps;

    EXPECT_GE(steps, 4) << "100,000 of them in steps that grow";
    EXPECT_LE(steps, 12);
    EXPECT_THAT(lane(), ElementsAre("order 1", "order 2"));
}

/// It rolled back, and the next one was the same, for as long as it was too much.
TEST_F(PostgresLanes, AStepThatIsCancelledIsWrittenDownAndTheNextOnesGoOn) {
    append({laned(1)});
    auto holder = stranger();
    {
        postgres::Transaction holding{*holder};
        holder->script(holder->in_schema("lock table waybill.lane_row in access exclusive mode"),
                       "test");
        auto db = stranger();
        db->script("set statement_timeout = '100ms'", "test");

        postgres::Rows rows = db->read(postgres::sql::list_lanes, std::int64_t{50'000});

        rows.next();
        EXPECT_FALSE(rows.flag(0));
        EXPECT_EQ(value("select through || ' ' || edition from waybill.lane_list"), "0 1");
    }
    EXPECT_THAT(lane(), ElementsAre("order 1"));
}

/// With many boxes and much that is scheduled, the first step was too long for any deadline, and so was the next.
TEST_F(PostgresLanes, WhatIsOpenBelowTheMarksIsListedAtOnceOrWhereItIsTooMuchInSteps) {
    insert_rows(300, "L");
    schema_.run("select setval('waybill.sequence', 1000000)");
    schema_.run(
        "insert into waybill.low_water (partition, through, still_open) select p.id, 1000000, "
        "array(select o.sequence from waybill.open o where o.partition = p.id order by 1) "
        "from waybill.partition p");
    const auto steps_of = [&](std::int64_t chunk) {
        int steps = 1;
        while (steps < 100 && !list(chunk)) ++steps;
        EXPECT_EQ(value("select count(*) from waybill.lane_row"), "300");
        schema_.run("truncate waybill.lane_list, waybill.lane_row");
        return steps;
    };

    EXPECT_LE(steps_of(100), 2);
    EXPECT_GT(steps_of(50), 6);
}

TEST_F(PostgresLanes, EarlierEditionsAreDeletedPieceByPieceFromWhereItWasLeft) {
    insert_rows(300, "L");
    for (int edition = 0; edition < 3; ++edition) {
        while (!list(50)) {
        }
        schema_.run("update waybill.lane_list set listed_max = 1");
    }
    schema_.run("update waybill.lane_list set listed_max = 1000000");
    for (int i = 0; i < 12; ++i) list(50);

    EXPECT_EQ(value("select count(*) from waybill.lane_row"), "300");
    EXPECT_EQ(value("select oldest = edition from waybill.lane_list"), "t");
}

/// Publishers whose transactions overlap, rows that are parked, unparked and gone, marks that move, lists that are made in
/// small steps, begun anew and lost.
class PostgresLanesInterleaved : public PostgresLanes, public testing::WithParamInterface<int> {
protected:
    int any(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
    void run(postgres::Database& db, const std::string& text) {
        db.script(db.in_schema(text), "test");
    }
    void publish(postgres::Database& db) {
        run(db,
            "with m as (insert into waybill.message select nextval('waybill.sequence'), "
            "gen_random_uuid(), " +
                std::to_string(taken_.partition) + ", 1, 0, 0, 't', '', '', '', '', '', 'L" +
                std::to_string(any(3)) + "', '', '', 0, null, '' from generate_series(1, " +
                std::to_string(1 + any(4)) +
                ") returning sequence, id, partition, lane) insert into waybill.open "
                "(partition, sequence, id, due, lane, parked) select partition, sequence, id, 0, "
                "waybill.lane_number(lane), " +
                (any(3) == 0 ? "true" : "false") + " from m");
    }
    void change_something() {
        switch (any(8)) {
            case 0: return run(*people_, "truncate waybill.lane_row, waybill.lane_list");
            case 1: return run(*people_, "update waybill.lane_list set listed_max = 0");
            case 2:
            case 3:
                return run(*people_,
                           "delete from waybill.open where sequence in (select sequence from "
                           "waybill.open order by random() limit 2)");
            default:
                return run(*people_,
                           "update waybill.open set parked = not parked where sequence = (select "
                           "sequence from waybill.open offset " +
                               std::to_string(any(20)) + " limit 1)");
        }
    }
    /// Decided is what everybody has drawn, while nobody is at it.
    void move_low_water() {
        postgres::Ints partitions;
        partitions.add(taken_.partition);
        const std::int64_t through = std::stoll(value("select last_value from waybill.sequence"));
        people_->write(postgres::sql::move_low_water, partitions, through, 1 + any(3));
    }
    /// What the statement answers; nothing when there is no list to answer by.
    std::optional<std::vector<Sequence>> listed(const std::string& name, Sequence from, int rows) {
        postgres::Ints partitions;
        postgres::Texts lanes;
        postgres::Longs numbers;
        postgres::Longs first;
        partitions.add(taken_.partition);
        lanes.add(name);
        numbers.add(postgres::lane_number(name));
        first.add(from);
        postgres::Rows found =
            people_->read(postgres::sql::read_lanes, partitions, lanes, numbers, first, rows, 1'001,
                          any(2) == 0 ? 10 : 1'000, std::int64_t{any(2) == 0 ? 5 : 20'000});
        found.next();
        if (found.flag(16)) return std::nullopt;
        std::vector<Sequence> sequences;
        while (found.next()) sequences.push_back(found.integer(5));
        return sequences;
    }
    std::vector<Sequence> asked(const std::string& name, Sequence from, int rows) {
        postgres::Rows found = people_->script(
            people_->in_schema("select o.sequence from waybill.open o join waybill.message m using "
                               "(id) where not o.parked and m.lane = '" +
                               name + "' and o.sequence >= " + std::to_string(from) +
                               " order by 1 limit " + std::to_string(rows)),
            "test");
        std::vector<Sequence> sequences;
        while (found.next()) sequences.push_back(std::stoll(found.string(0)));
        return sequences;
    }

    std::mt19937 random_{static_cast<unsigned>(GetParam())};
    std::unique_ptr<postgres::Database> people_ = stranger();
};

TEST_P(PostgresLanesInterleaved, ALaneIsWhatAPlainQuestionSays) {
    struct Publisher {
        std::unique_ptr<postgres::Database> db{};
        std::unique_ptr<postgres::Transaction> transaction{};
    };
    std::vector<Publisher> publishers(3);
    for (Publisher& one : publishers) one.db = stranger();
    int compared = 0;
    for (int i = 0; i < 300; ++i) {
        Publisher& one = publishers[static_cast<std::size_t>(any(3))];
        const bool nobody_publishes = std::ranges::none_of(
            publishers, [](const Publisher& who) { return who.transaction != nullptr; });
        switch (any(10)) {
            case 0:
            case 1:
                if (!one.transaction && any(2) == 0) {
                    one.transaction = std::make_unique<postgres::Transaction>(*one.db);
                }
                publish(*one.db);
                break;
            case 2:
                if (one.transaction && any(3) > 0) one.transaction->commit();
                one.transaction.reset();
                break;
            case 3: change_something(); break;
            case 4:
                if (nobody_publishes) move_low_water();
                break;
            case 5:
            case 6:
                list(std::array{20, 100, 1'000, 20'000}.at(static_cast<std::size_t>(any(4))));
                break;
            default: {
                const std::string name = "L" + std::to_string(any(3));
                const Sequence from = any(2) == 0 ? 0 : i / 4;
                const int rows = any(2) == 0 ? 2 : 64;
                const auto found = listed(name, from, rows);
                if (!found) break;
                ++compared;
                ASSERT_EQ(*found, asked(name, from, rows)) << "step " << i;
            }
        }
    }
    EXPECT_GT(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PostgresLanesInterleaved, testing::Range(1, 4));

/// Every message that has a lane would pay for it, and few lanes are read from the store.
TEST_F(PostgresLanes, NoIndexOfOpenWorkHasTheLane) {
    EXPECT_EQ(value("select count(*) from pg_index where indrelid = 'waybill.open'::regclass "
                    "and pg_get_indexdef(indexrelid) like '%lane%'"),
              "0");
}

}  // namespace
}  // namespace waybill::test
