#include "waybill/scope.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/background.hpp"

namespace waybill {
namespace {

TEST(Scope, OutsideAnyItSaysNothing) {
    EXPECT_EQ(ambient(), Ambient{});
    {
        const Scope scope{{.tenant = "acme"}};
        EXPECT_EQ(ambient().tenant, "acme");
    }
    EXPECT_EQ(ambient(), Ambient{});
}

TEST(Scope, AnInnerOneReplacesOnlyWhatItSays) {
    const Scope request{{.tenant = "acme", .user = "ada", .correlation_id = "c-1"}};
    {
        const Scope as_somebody_else{{.user = "grace"}};
        EXPECT_EQ(ambient(), (Ambient{"acme", "grace", "c-1"}));
    }
    EXPECT_EQ(ambient(), (Ambient{"acme", "ada", "c-1"}));
}

TEST(Scope, OtherThreadsDoNotSeeIt) {
    const Scope scope{{.tenant = "acme"}};
    std::optional<Ambient> seen;

    test::Background{[&](std::stop_token) { seen = ambient(); }}.join();

    EXPECT_EQ(seen, Ambient{});
}

TEST(Scope, AMessageCarriesWhatHoldsWhereItIsAppendedAndItsOwnWordWins) {
    test::App test;
    test.app.inbox("orders");
    const Scope scope{{.tenant = "acme", .user = "ada", .correlation_id = "c-1"}};

    const auto results = test.app.append({{.type = "t"}, {.type = "t", .tenant = "globex"}});

    const auto message = [&](std::size_t i) {
        return *test.store->get(results[i].id)->summary.message;
    };
    EXPECT_EQ(message(0).tenant, "acme");
    EXPECT_EQ(message(0).user, "ada");
    EXPECT_EQ(message(0).correlation_id, "c-1");
    EXPECT_EQ(message(1).tenant, "globex");
    EXPECT_EQ(message(1).user, "ada");
}

TEST(Scope, WhatItSaysIsCheckedLikeAnythingElse) {
    test::App test;
    test.app.inbox("orders");
    const Scope scope{{.tenant = std::string(300, 'x')}};

    EXPECT_THROW(test.app.append({.type = "t"}), InvalidMessage);
}

}  // namespace
}  // namespace waybill
