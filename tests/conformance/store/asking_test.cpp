/// What people ask of any store.

#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;

TEST_P(StoreConformance, BoxesAreListedWithWhatIsOpenAndWhetherTheyArePaused) {
    declare_box();
    declare_box({}, "mails");
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    host.finish(host.scan().at(0));
    host.park(host.scan().at(0));

    const bool paused = catalogue().pause_box("mails", true);

    EXPECT_TRUE(paused);
    EXPECT_THAT(catalogue().boxes(),
                ElementsAre(BoxState{.name = "mails", .paused = true},
                            BoxState{.name = "orders", .open = 1, .parked = 1}));
}

TEST_P(StoreConformance, WhatIsDoneIsCountedByBoxAndWithoutWhatDied) {
    declare_box();
    declare_box({}, "mails");
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    const std::vector<Entry> rows = host.scan();
    host.finish(rows.at(0));
    host.die(rows.at(1), "billing");

    const auto done = [&](const std::string& box) {
        return catalogue().count({.state = Filter::State::done, .box = box});
    };
    EXPECT_EQ(done(""), 1U);
    EXPECT_EQ(done("orders"), 1U);
    EXPECT_EQ(done("mails"), 0U);
    EXPECT_EQ(done("nowhere"), 0U);
    const DeliveryRef dead{id_of(2), "billing"};
    catalogue().discard({&dead, 1});
    EXPECT_EQ(done(""), 2U);
}

TEST_P(StoreConformance, MessagesAreListedOldestFirstWhenAskedSo) {
    declare_box();
    append_all({order(1), order(2), order(3), order(4)});
    Host host = owner();
    host.finish(host.scan().at(1));
    const auto pages_of = [&](const Filter& filter) {
        std::string text;
        std::string cursor;
        do {
            const auto page = catalogue().browse(filter, cursor, 2);
            for (const MessageSummary& item : page.items) text += item.message->body.substr(6);
            cursor = page.next;
            text += '|';
        } while (!cursor.empty());
        return text;
    };

    EXPECT_EQ(pages_of({.oldest_first = true}), "12|34|");
    EXPECT_EQ(pages_of({}), "43|21|");
    EXPECT_EQ(pages_of({.state = Filter::State::open, .oldest_first = true}), "13|4|");
    EXPECT_EQ(catalogue().count({.state = Filter::State::open, .oldest_first = true}), 3U);
}

TEST_P(StoreConformance, ABoxNobodyDeclaredIsNotPaused) {
    declare_box();

    EXPECT_FALSE(catalogue().pause_box("order", true));
    EXPECT_THAT(catalogue().boxes(), ElementsAre(BoxState{.name = "orders"}));
}

TEST_P(StoreConformance, AMessageWaitsForEveryTargetThatWantsItUntilThatHasEnded) {
    const Target all{.box = "orders", .key = "all"};
    const Target renamed{.box = "orders", .key = "new", .legacy_keys = {"all"}};
    const Target others{.box = "orders", .key = "others", .matcher = {.type = "invoice.*"}};
    const Target elsewhere{.box = "mails", .key = "all"};
    declare_box();
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    const std::vector<Entry> rows = host.scan();
    Settlement failed = unchanged(rows.at(0));
    failed.progress = {{.target = "all", .state = Progress::State::ready, .failures = 1}};
    Settlement done = unchanged(rows.at(1));
    done.progress = {{.target = "all", .state = Progress::State::done}};
    host.settle({failed, done});
    host.park(rows.at(2));

    EXPECT_EQ(catalogue().waiting_for(all), 1U);
    EXPECT_EQ(catalogue().waiting_for(renamed), 1U) << "what its former key did counts for it";
    EXPECT_EQ(catalogue().waiting_for(others), 0U);
    EXPECT_EQ(catalogue().waiting_for(elsewhere), 0U);
}

TEST_P(StoreConformance, WhatATenantHasATargetOfItsOwnForDoesNotWaitForThatOfTheOthers) {
    const Target others{
        .box = "orders", .key = "default", .matcher = {.tenant = std::string{other_tenants}}};
    const Target acme{.box = "orders", .key = "acme", .matcher = {.tenant = "acme"}};
    declare_box();
    declare_target(others);
    declare_target(acme);
    Message of_acme = order(1);
    of_acme.tenant = "acme";
    append_all({of_acme, order(2)});

    EXPECT_EQ(catalogue().waiting_for(others), 1U);
    EXPECT_EQ(catalogue().waiting_for(acme), 1U);
}

TEST_P(StoreConformance, ARequeuedMessageWaitsOnlyForTheTargetsItWasRequeuedFor) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    EXPECT_EQ(catalogue().waiting_for({.box = "orders", .key = "billing"}), 1U);
    EXPECT_EQ(catalogue().waiting_for({.box = "orders", .key = "mail"}), 0U);
}

TEST_P(StoreConformance, ACursorThatNoListingGaveIsNotTheFirstPage) {
    declare_box();
    append(order(1));

    for (const char* cursor : {"x", "1x", "-1", " 1", "1.5", "99999999999999999999"}) {
        EXPECT_THROW(catalogue().browse({}, cursor, 10), InvalidCursor) << cursor;
        EXPECT_THROW(catalogue().dead_letters({}, cursor, 10), InvalidCursor) << cursor;
    }
}

}  // namespace
}  // namespace waybill::test
