#include "waybill/observer.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace waybill {
namespace {

TEST(EventKind, EveryOneHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (int kind = 0; kind <= static_cast<int>(Event::Kind::stopped); ++kind) {
        const std::string_view name = to_string(static_cast<Event::Kind>(kind));
        EXPECT_NE(name, "unknown") << kind;
        EXPECT_TRUE(names.insert(name).second) << name << " is the name of two";
    }
}

TEST(EventKind, NamesAreThoseOfTheCode) {
    EXPECT_EQ(to_string(Event::Kind::owned), "owned");
    EXPECT_EQ(to_string(Event::Kind::ghost_returned), "ghost_returned");
    EXPECT_EQ(to_string(Event::Kind::stopped), "stopped");
}

TEST(EventKind, OneThatDoesNotExistIsUnknown) {
    EXPECT_EQ(to_string(static_cast<Event::Kind>(255)), "unknown");
}

}  // namespace
}  // namespace waybill
