#include "deliver/secret_search.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/manual_clock.hpp"

namespace waybill::deliver {
namespace {

using namespace std::chrono_literals;
using test::Gate;
using test::ManualClock;
using Kind = SecretSearch::Answer::Kind;

TEST(Keyring, BelievesASecretAsLongAsToldAndThatThereIsNoneForMoments) {
    ManualClock clock;
    Keyring keyring{5min};
    keyring.put("acme", {"s"}, clock.now());
    keyring.put("none", {}, clock.now());

    EXPECT_EQ(keyring.find("acme", clock.now()), KnownSecret{"s"});
    EXPECT_EQ(keyring.find("none", clock.now()), KnownSecret{});
    EXPECT_EQ(keyring.find("other", clock.now()), std::nullopt);
    clock.advance(Keyring::none_most);
    EXPECT_EQ(keyring.find("none", clock.now()), std::nullopt);
    clock.advance(5min - Keyring::none_most - 1us);
    EXPECT_EQ(keyring.find("acme", clock.now()), KnownSecret{"s"});
    clock.advance(1us);
    EXPECT_EQ(keyring.find("acme", clock.now()), std::nullopt);
}

TEST(Keyring, BelievesThatThereIsNoneNoLongerThanASecret) {
    ManualClock clock;
    Keyring keyring{2s};
    keyring.put("none", {}, clock.now());

    clock.advance(2s);

    EXPECT_EQ(keyring.find("none", clock.now()), std::nullopt);
}

TEST(Keyring, BelievesNothingWhereThatIsTheWish) {
    ManualClock clock;
    Keyring keyring{0s};

    keyring.put("acme", {"s"}, clock.now());
    keyring.put("none", {}, clock.now());

    EXPECT_EQ(keyring.find("acme", clock.now()), std::nullopt);
    EXPECT_EQ(keyring.find("none", clock.now()), std::nullopt);
}

TEST(Keyring, BelievesWhatWasSaidLast) {
    ManualClock clock;
    Keyring keyring{5min};

    keyring.put("acme", {}, clock.now());
    keyring.put("acme", {"s"}, clock.now());

    EXPECT_EQ(keyring.find("acme", clock.now()), KnownSecret{"s"});
}

/// What was answered, in order.
class Answers {
public:
    SecretSearch::Then one() {
        return [this](const SecretSearch::Answer& answer) {
            const std::lock_guard lock{mutex_};
            all_.push_back(answer);
            changed_.notify_all();
        };
    }
    /// The one of that number, when it has come.
    SecretSearch::Answer wait_for(std::size_t number) {
        std::unique_lock lock{mutex_};
        const bool came = changed_.wait_for(lock, 60s, [&] { return all_.size() >= number; });
        return came ? all_.at(number - 1) : SecretSearch::Answer{Kind::failed, "never answered"};
    }
    std::size_t count() {
        const std::lock_guard lock{mutex_};
        return all_.size();
    }

private:
    std::mutex mutex_;  ///< guards the one below
    std::vector<SecretSearch::Answer> all_{};
    std::condition_variable changed_{};
};

class SecretSearchTest : public testing::Test {
protected:
    ~SecretSearchTest() override { gate_.open(); }
    SecretSearch& begin(Duration patience) {
        search_ = std::make_unique<SecretSearch>(vault(), keyring_, clock_, patience);
        return *search_;
    }
    /// A vault that is slow for whoever's name begins with "slow".
    SecretSearch::Find vault() {
        return [this](const std::string& tenant) -> std::optional<std::string> {
            ++looked_up_;
            if (tenant.starts_with("slow")) gate_.pass();
            if (tenant.ends_with("broken")) throw std::runtime_error("sealed");
            if (tenant == "none") return std::nullopt;
            return "of " + tenant;
        };
    }

    Gate gate_;
    ManualClock clock_;
    Keyring keyring_{0s};
    std::atomic<int> looked_up_ = 0;
    Answers answers_;
    Answers others_;
    std::unique_ptr<SecretSearch> search_{};
};

TEST_F(SecretSearchTest, OneThatTakesLongHoldsUpNobodyElse) {
    SecretSearch& search = begin(1h);
    for (std::size_t n = 1; n < SecretSearch::side_by_side; ++n) {
        search.ask("slow" + std::to_string(n), answers_.one());
        ASSERT_TRUE(gate_.wait_for_arrivals(n));
    }

    search.ask("quick", others_.one());
    search.ask("none", others_.one());
    EXPECT_NE(others_.wait_for(2).kind, Kind::failed);

    EXPECT_EQ(answers_.count(), 0U);
    gate_.open();
    EXPECT_EQ(answers_.wait_for(1).kind, Kind::found);
}

TEST_F(SecretSearchTest, WhoAsksForTheSameMeanwhileSharesTheSearch) {
    SecretSearch& search = begin(1h);
    for (int n = 0; n < 10; ++n) search.ask("slow", answers_.one());
    ASSERT_TRUE(gate_.wait_for_arrivals(1));

    gate_.open();

    EXPECT_EQ(answers_.wait_for(10).text, "of slow");
    EXPECT_EQ(looked_up_, 1);
}

TEST_F(SecretSearchTest, NoMoreThanAFewAreLookedUpAtOnceAndTheOthersGetTheirTurn) {
    SecretSearch& search = begin(1h);
    for (int n = 0; n < 20; ++n) search.ask("slow" + std::to_string(n), answers_.one());
    ASSERT_TRUE(gate_.wait_for_arrivals(SecretSearch::side_by_side));
    EXPECT_EQ(gate_.arrived(), SecretSearch::side_by_side);

    gate_.open();

    EXPECT_EQ(answers_.wait_for(20).kind, Kind::found);
}

TEST_F(SecretSearchTest, WhoHasWaitedLongIsPutOffAndFindsItWhenHeComesBack) {
    SecretSearch& search = begin(1ms);
    search.ask("slow", answers_.one());
    EXPECT_EQ(answers_.wait_for(1).kind, Kind::late);
    search.ask("slow", answers_.one());
    EXPECT_EQ(answers_.wait_for(2).kind, Kind::late) << "he waited again";

    gate_.open();
    for (std::size_t n = 3; answers_.wait_for(n - 1).kind == Kind::late; ++n) {
        search.ask("slow", answers_.one());
    }

    EXPECT_EQ(answers_.wait_for(answers_.count()).text, "of slow");
    EXPECT_EQ(looked_up_, 1) << "a search that takes long would never be of use";
}

TEST_F(SecretSearchTest, WhyItFailedIsToldToWhoComesBackToo) {
    SecretSearch& search = begin(1ms);
    search.ask("slow and broken", answers_.one());
    ASSERT_EQ(answers_.wait_for(1).kind, Kind::late);

    gate_.open();
    for (std::size_t n = 2; answers_.wait_for(n - 1).kind == Kind::late; ++n) {
        search.ask("slow and broken", answers_.one());
    }

    EXPECT_EQ(answers_.wait_for(answers_.count()).text, "sealed");
    EXPECT_EQ(looked_up_, 1);
}

TEST_F(SecretSearchTest, WhoAsksBehindTooManyIsPutOffAtOnce) {
    SecretSearch& search = begin(1h);
    for (std::size_t n = 0; n < SecretSearch::waiting_most; ++n) {
        search.ask("slow" + std::to_string(n), answers_.one());
    }

    search.ask("slow and too late", others_.one());

    ASSERT_EQ(others_.count(), 1U);
    EXPECT_EQ(others_.wait_for(1).kind, Kind::late);
}

/// A patience of less than nothing: it has taken that long already.
TEST_F(SecretSearchTest, ThousandsWhoWaitForOneComeBackEverLessOften) {
    std::vector<std::unique_ptr<SecretSearch>> searches;
    const test::OpenAtTheEnd whatever{gate_};
    for (const auto& [patience, come_back] :
         {std::pair{Duration{1ms}, SecretSearch::come_back_least},
          std::pair{Duration{-10s}, Duration{10s}},
          std::pair{Duration{-1h}, SecretSearch::come_back_most}}) {
        searches.push_back(std::make_unique<SecretSearch>(vault(), keyring_, clock_, patience));
        Answers answers;
        for (std::size_t n = 1; n <= 2; ++n) {
            searches.back()->ask("slow", answers.one());
            const auto answer = answers.wait_for(n);
            EXPECT_EQ(answer.kind, Kind::late);
            EXPECT_GE(answer.come_back, come_back) << "each is written to the store when it does";
            EXPECT_LE(answer.come_back, SecretSearch::come_back_most);
        }
    }
}

TEST_F(SecretSearchTest, WhoAsksBehindTooManyThatTakeLongComesBackLaterToo) {
    SecretSearch& search = begin(-1h);
    for (std::size_t n = 0; n < SecretSearch::waiting_most; ++n) {
        search.ask("slow" + std::to_string(n), answers_.one());
    }

    search.ask("slow and too late", others_.one());

    EXPECT_EQ(others_.wait_for(1).come_back, SecretSearch::come_back_most);
}

TEST_F(SecretSearchTest, WhatIsFoundIsBelieved) {
    Keyring keyring{5min};
    SecretSearch search{vault(), keyring, clock_, 1h};  // none of them is slow
    for (const char* tenant : {"quick", "none", "broken"}) search.ask(tenant, answers_.one());
    ASSERT_NE(answers_.wait_for(3).text, "never answered");

    EXPECT_EQ(keyring.find("quick", clock_.now()), KnownSecret{"of quick"});
    EXPECT_EQ(keyring.find("none", clock_.now()), KnownSecret{});
    EXPECT_EQ(keyring.find("broken", clock_.now()), std::nullopt);
}

}  // namespace
}  // namespace waybill::deliver
