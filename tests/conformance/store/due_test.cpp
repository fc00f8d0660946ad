#include <algorithm>

#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = ReadRequest::Kind;

TEST_P(StoreConformance, DueRowsComeByDueTimeNotBySequence) {
    declare_box();
    const StoreTime start = now();
    std::vector<Message> messages{order(1), order(2), order(3)};
    messages[0].not_before = start + 3min;
    messages[1].not_before = start + 1min;
    messages[2].not_before = start + 2min;
    append_all(messages);
    Host host = owner();

    const ReadPage page = host.read({.kind = Kind::due,
                                     .partitions = host.partitions(),
                                     .due_from = start,
                                     .due_until = start + 1h});

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 2", "order 3", "order 1"));
}

TEST_P(StoreConformance, ADueTimeAtTheEndOfTheRangeIsInItAndOneAfterIsNot) {
    declare_box();
    const StoreTime start = now();
    std::vector<Message> messages{order(1), order(2), order(3)};
    messages[0].not_before = start + 1min;
    messages[1].not_before = start + 2min;
    messages[2].not_before = start + 2min + 1us;
    append_all(messages);
    Host host = owner();

    const ReadPage page = host.read({.kind = Kind::due,
                                     .partitions = host.partitions(),
                                     .due_from = start,
                                     .due_until = start + 2min});

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 1", "order 2"));
}

TEST_P(StoreConformance, DueRowsOfOneMomentComeInPagesWithoutLossOrDouble) {
    declare_box({.partitions = 3});
    const StoreTime due = now() + 1min;
    for (int number = 1; number <= 10; ++number) {
        Message message = order(number);
        message.not_before = due;
        append(message);
    }
    Host host = owner();

    std::vector<Sequence> seen;
    ReadRequest request{.kind = Kind::due,
                        .partitions = host.partitions(),
                        .due_from = due - 1s,
                        .due_until = due,
                        .rows_max = 3};
    ReadPage page;
    do {
        page = host.read(request);
        for (const Entry& row : page.entries) seen.push_back(row.sequence);
        if (!page.entries.empty()) {
            request.due_from = page.entries.back().due;
            request.after = page.entries.back().sequence;
        }
    } while (page.more);

    EXPECT_EQ(seen.size(), 10U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_P(StoreConformance, ARetryIsFoundByItsNewDueTimeOnly) {
    declare_box();
    const StoreTime start = now();
    Message message = order(1);
    message.not_before = start + 1min;
    append(message);
    Host host = owner();
    Settlement retried = unchanged(only_row(host));
    retried.due = start + 10min;
    host.settle({retried});

    const auto due = [&](StoreTime from, StoreTime until) {
        return host.read({.kind = Kind::due,
                          .partitions = host.partitions(),
                          .due_from = from,
                          .due_until = until});
    };

    EXPECT_THAT(due(start, start + 5min).entries, IsEmpty());
    EXPECT_EQ(due(start + 5min, start + 15min).entries.size(), 1U);
}

TEST_P(StoreConformance, AFinishedRowIsNoLongerDue) {
    declare_box();
    Message message = order(1);
    message.not_before = now() + 1min;
    append(message);
    Host host = owner();

    host.finish(only_row(host));

    const ReadPage page = host.read({.kind = Kind::due,
                                     .partitions = host.partitions(),
                                     .due_from = now(),
                                     .due_until = now() + 1h});
    EXPECT_THAT(page.entries, IsEmpty());
}

TEST_P(StoreConformance, AParkedRowIsNotDue) {
    declare_box();
    Message message = order(1);
    message.not_before = now() + 1min;
    append(message);
    Host host = owner();

    host.park(only_row(host));

    const ReadPage page = host.read({.kind = Kind::due,
                                     .partitions = host.partitions(),
                                     .due_from = now(),
                                     .due_until = now() + 1h});
    EXPECT_THAT(page.entries, IsEmpty());
}

TEST_P(StoreConformance, RowsOfOtherPartitionsAreNotDueHere) {
    declare_box();
    declare_box({}, "mails");
    Message mail = order(1);
    mail.box = "mails";
    mail.not_before = now() + 1min;
    append(mail);
    Host host = owner();

    const ReadPage page = host.read({.kind = Kind::due,
                                     .partitions = host.partitions(),
                                     .due_from = now(),
                                     .due_until = now() + 1h});

    EXPECT_THAT(page.entries, IsEmpty());
}

}  // namespace
}  // namespace waybill::test
