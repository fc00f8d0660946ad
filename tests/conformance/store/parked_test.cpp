#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = ReadRequest::Kind;

ReadPage parked(const Host& host, Sequence after = 0, std::uint32_t rows_max = 1000) {
    return host.read({.kind = Kind::parked,
                      .partition = host.partition(),
                      .after = after,
                      .rows_max = rows_max});
}

TEST_P(StoreConformance, AParkedRowIsLeftOutOfTheScan) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();

    host.park(host.scan()[0]);

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 2"));
}

TEST_P(StoreConformance, ParkedRowsAreReadInSequenceOrderInPages) {
    declare_box();
    append_all({order(1), order(2), order(3), order(4)});
    Host host = owner();
    for (const Entry& row : host.scan()) {
        if (row.message->body != "order 2") host.park(row);
    }

    const ReadPage first = parked(host, 0, 2);
    const ReadPage second = parked(host, first.entries.back().sequence, 2);

    EXPECT_THAT(bodies(first.entries), ElementsAre("order 1", "order 3"));
    EXPECT_TRUE(first.more);
    EXPECT_THAT(bodies(second.entries), ElementsAre("order 4"));
    EXPECT_TRUE(second.entries.at(0).parked);
}

TEST_P(StoreConformance, AnUnparkedRowIsBackInItsOldPlace) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();
    const Entry row = host.scan()[0];
    host.park(row);

    host.park(row, false);

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 1", "order 2"));
    EXPECT_THAT(parked(host).entries, IsEmpty());
    EXPECT_FALSE(host.scan()[0].parked);
}

TEST_P(StoreConformance, AParkedRowKeepsWhatWasRecordedOfIt) {
    declare_box();
    append(order(1));
    Host host = owner();
    Settlement item = unchanged(only_row(host));
    item.progress = {{.target = "billing", .state = Progress::State::done}};
    item.parked = true;

    host.settle({item});

    EXPECT_EQ(parked(host).entries.at(0).progress, item.progress);
}

TEST_P(StoreConformance, AParkedRowMayBeFinished) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    host.park(row);

    host.finish(row);

    EXPECT_THAT(parked(host).entries, IsEmpty());
    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::done);
}

TEST_P(StoreConformance, AParkedMessageIsShownAsParked) {
    declare_box();
    append(order(1));
    Host host = owner();

    host.park(only_row(host));

    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::parked);
}

}  // namespace
}  // namespace waybill::test
