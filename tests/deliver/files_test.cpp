#include "deliver/files.hpp"

#include <gtest/gtest.h>

namespace waybill::deliver {
namespace {

TEST(Files, ThereIsRoomForFourThousandRequestsWhereTheLimitIsHigh) {
    EXPECT_EQ(files_within(20'000), (Files{.requests = 4'096, .connections_kept = 1'024}));
    EXPECT_EQ(files_within(6'144), (Files{.requests = 4'096, .connections_kept = 1'024}));
}

TEST(Files, ALowLimitLeavesSomeForTheRestOfTheProgram) {
    for (const std::uint64_t limit : {16U, 256U, 1'024U, 4'000U}) {
        const Files files = files_within(limit);
        EXPECT_LT(files.requests + files.connections_kept, limit * 9 / 10) << limit;
        EXPECT_GT(files.requests, limit / 2) << limit;
    }
}

TEST(Files, OneRequestAtATimeIsAlwaysPossible) {
    EXPECT_EQ(files_within(0), (Files{.requests = 1, .connections_kept = 1}));
}

}  // namespace
}  // namespace waybill::deliver
