#include <algorithm>

#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = ReadRequest::Kind;

TEST_P(StoreConformance, AScanComesInPagesInSequenceOrder) {
    declare_box();
    std::vector<Message> messages;
    for (int number = 1; number <= 25; ++number) messages.push_back(order(number));
    append_all(messages);
    Host host = owner();

    std::vector<Sequence> seen;
    std::vector<std::size_t> sizes;
    ReadRequest request{.kind = Kind::scan, .partition = host.partition(), .rows_max = 10};
    ReadPage page;
    do {
        page = host.read(request);
        for (const Entry& row : page.entries) seen.push_back(row.sequence);
        sizes.push_back(page.entries.size());
        if (!page.entries.empty()) request.after = page.entries.back().sequence;
    } while (page.more);

    EXPECT_EQ(seen.size(), 25U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_THAT(sizes, ElementsAre(10U, 10U, 5U));
}

TEST_P(StoreConformance, AScanStartsAfterTheGivenSequence) {
    declare_box();
    const auto results = append_all({order(1), order(2), order(3)});
    Host host = owner();

    const ReadPage page = host.read(
        {.kind = Kind::scan, .partition = host.partition(), .after = results[0].sequence});

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 2", "order 3"));
}

TEST_P(StoreConformance, AScanSeesOnlyItsPartition) {
    declare_box({.partitions = 8});
    for (int number = 1; number <= 40; ++number) append(order(number));
    Host host = owner();

    std::size_t total = 0;
    for (const PartitionId id : host.partitions()) {
        const ReadPage page = host.read({.kind = Kind::scan, .partition = id});
        for (const Entry& row : page.entries) EXPECT_EQ(row.partition, id);
        total += page.entries.size();
    }

    EXPECT_EQ(total, 40U);
}

TEST_P(StoreConformance, APageHoldsNoMoreBytesThanAsked) {
    declare_box();
    for (int number = 1; number <= 6; ++number) {
        Message message = order(number);
        message.body.assign(10'000, 'x');
        append(message);
    }
    Host host = owner();

    const ReadPage page =
        host.read({.kind = Kind::scan, .partition = host.partition(), .bytes_max = 35'000});

    EXPECT_TRUE(page.more);
    EXPECT_GE(page.entries.size(), 1U);
    EXPECT_LE(page.entries.size(), 3U);
}

TEST_P(StoreConformance, ARowLargerThanThePageStillComes) {
    declare_box();
    Message large = order(1);
    large.body.assign(100'000, 'x');
    append_all({large, order(2)});
    Host host = owner();

    const ReadPage page =
        host.read({.kind = Kind::scan, .partition = host.partition(), .bytes_max = 1'000});

    EXPECT_EQ(page.entries.size(), 1U);
    EXPECT_EQ(page.entries[0].message->body.size(), 100'000U);
    EXPECT_TRUE(page.more);
}

TEST_P(StoreConformance, AnIncrementWithARowLargerThanThePageGetsPastIt) {
    declare_box();
    Host host = owner();
    Position position = host.read({.partitions = host.partitions()}).position;
    Message large = order(1);
    large.body.assign(100'000, 'x');
    append_all({large, order(2)});

    const ReadPage first =
        host.read({.partitions = host.partitions(), .position = position, .bytes_max = 1'000});
    const ReadPage second = host.read(
        {.partitions = host.partitions(), .position = first.position, .bytes_max = 1'000});

    EXPECT_EQ(first.entries.size(), 1U);
    EXPECT_THAT(bodies(second.entries), ElementsAre("order 2"));
}

TEST_P(StoreConformance, AFinishedRowIsScannedNoMore) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();

    host.finish(host.scan()[0]);

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 2"));
}

}  // namespace
}  // namespace waybill::test
