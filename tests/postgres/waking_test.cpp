#include <condition_variable>
#include <mutex>

#include "postgres/fixture.hpp"
#include "support/pacing.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// How often somebody was woken.
class Bell {
public:
    std::function<void()> ring() {
        return [this] {
            const std::lock_guard lock{mutex_};
            ++rings_;
            changed_.notify_all();
        };
    }
    int rings() {
        const std::lock_guard lock{mutex_};
        return rings_;
    }
    bool wait_beyond(int rings) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, 60s, [&] { return rings_ > rings; });
    }

private:
    std::mutex mutex_{};  ///< guards rings_
    std::condition_variable changed_{};
    int rings_ = 0;
};

class PostgresWaking : public Postgres {
protected:
    /// Until so many listen, and have heard what there was.
    void wait_for_listeners(int count) {
        auto db = stranger();
        const std::string listening =
            "select from pg_stat_activity where state = 'idle' and "
            "query = 'listen \"" +
            schema_.name() + "\"'";
        while (db->script(listening, "wait").count() < count) std::this_thread::yield();
    }

    /// Takes what a connection that listens was told.
    static int told_to(postgres::Database& listening) {
        PQconsumeInput(listening.handle());
        int count = 0;
        while (PGnotify* const told = PQnotifies(listening.handle())) {
            PQfreemem(told);
            ++count;
        }
        return count;
    }

    std::unique_ptr<postgres::PostgresStore> loud_ = schema_.connect(true);
};

TEST_F(PostgresWaking, WhatOneInstanceAppendsWakesTheOthers) {
    Bell bell;
    auto other = schema_.connect(true);
    other->on_wake(bell.ring());
    wait_for_listeners(1);
    const int before = bell.rings();

    loud_->append(std::vector{order(1)});

    EXPECT_TRUE(bell.wait_beyond(before));
}

TEST_F(PostgresWaking, ARequeueWakesEveryoneAndOnesOwnAppendDoesNot) {
    Bell bell;
    loud_->on_wake(bell.ring());
    wait_for_listeners(1);
    const int before = bell.rings();

    loud_->append(std::vector{order(1)});
    const DeliveryRef none{order(1).message->id, "billing"};
    loud_->requeue({&none, 1});

    EXPECT_TRUE(bell.wait_beyond(before));
    EXPECT_EQ(bell.rings(), before + 1);
}

/// A NOTIFY takes a lock on the whole database at its commit, and wakes every instance there is.
class PostgresBurst : public PostgresWaking {
protected:
    /// `calls` appends of so many messages each, one after the other: how often others were told of them, which is once for
    /// each pause, and at the beginning and the end.
    void expect_told_once_in(Duration pause, int calls, int messages) {
        auto listening = stranger();
        listening->script("listen \"" + schema_.name() + "\"", "listen");
        loud_->append(std::vector{order(1)});
        int told = 0;
        const auto one_came = [&] { return (told += told_to(*listening)) > 0; };
        ASSERT_TRUE(look_until(one_came, 60s));

        const auto begin = steady_now();
        for (int call = 0; call < calls; ++call) loud_->append(fresh(messages));
        // What was last is told before it goes.
        loud_.reset();
        const auto took = steady_now() - begin;

        told = 0;
        EXPECT_TRUE(look_until(one_came, 60s));
        listening->script("select", "so that all has come");
        told += told_to(*listening);
        EXPECT_LE(told, took / pause + 2);
        RecordProperty("told", told);
    }

private:
    std::vector<Append> fresh(int messages) {
        std::vector<Append> batch;
        for (int n = 0; n < messages; ++n, ++made_) {
            Message message = *order(made_ % 250).message;
            message.id.bytes[14] = static_cast<std::uint8_t>(1 + made_ / 250);
            batch.push_back({.message = std::make_shared<const Message>(std::move(message))});
        }
        return batch;
    }

    int made_ = 0;
};

TEST_F(PostgresBurst, OfAppendsIsToldAtMostEveryFiveMilliseconds) {
    expect_told_once_in(5ms, 1'000, 1);
}

/// All instances are at work then, and look this often by themselves.
TEST_F(PostgresBurst, OfManyMessagesIsToldAtMostEveryTwentyMilliseconds) {
    expect_told_once_in(20ms, 50, 100);
}

TEST_F(PostgresWaking, AListenerWhoseConnectionWasLostListensAgainAndLooks) {
    Bell bell;
    loud_->on_wake(bell.ring());
    wait_for_listeners(1);
    const int before = bell.rings();
    schema_.run(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where query like 'listen%' and pid <> pg_backend_pid()");

    EXPECT_TRUE(bell.wait_beyond(before)) << "something may have been missed";
    EXPECT_THAT(loud_->health().text, Not(HasSubstr("no wake-ups")));
    const int after = bell.rings();
    schema_.connect(true)->append(std::vector{order(1)});
    EXPECT_TRUE(bell.wait_beyond(after));
}

}  // namespace
}  // namespace waybill::test
