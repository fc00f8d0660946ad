/// A COMMIT that waits for a synchronous standby, and somebody cancels the wait. PostgreSQL says "COMMIT" with a warning,
/// and we said "accepted" of what only that server has.

#include <future>

#include "commit_watch.hpp"
#include "pool.hpp"
#include "postgres/fixture.hpp"
#include "settings.hpp"
#include "support/later.hpp"
#include "waybill/append.hpp"
#include "waybill/postgres/guard.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;

/// With a server of its own: commits hang for everybody on it.
class CancelledCommit : public testing::Test {
protected:
    CancelledCommit() {
        cluster_.create("app");
        store_ = postgres::open(
            conninfo_,
            {.deadline = 5min, .beat_deadline = 5min, .people_deadline = 5min, .wake_ups = false});
        store_->migrate();
        const BoxDeclaration box{"orders", {.partitions = 1}};
        store_->declare({&box, 1}, {});
        const InstanceState state{.incarnation = self_, .name = "host", .boxes = {"orders"}};
        const PartitionState seen = store_->beat(state).partitions.at(0);
        store_->append(orders(1));
        const TakeRequest wanted{seen.id, seen.token};
        mine_ = store_->take(self_, {&wanted, 1}).at(0);
        entry_ = store_->read({.kind = ReadRequest::Kind::scan, .partition = mine_.partition})
                     .entries[0];
        name_standby("nobody");
        // The server hears of it a moment later.
        for (bool hangs = false; !hangs;) {
            auto probe = later_answer(
                [&] { cluster_.ask("select pg_logical_emit_message(true, '', '')", "app"); });
            while (!cancel() && !is_over(probe)) std::this_thread::yield();
            hangs = cancelled_;
            probe.get();
        }
    }
    ~CancelledCommit() override { name_standby(""); }

    void name_standby(const std::string& name) const {
        cluster_.ask("alter system set synchronous_standby_names = '" + name + "'");
        cluster_.ask("select pg_reload_conf()");
    }
    /// Whoever waits for a standby no longer does. False: nobody did.
    bool cancel() {
        cancelled_ = cluster_.ask(
                         "select pg_cancel_backend(pid) from pg_stat_activity where "
                         "wait_event = 'SyncRep'") == "t";
        return cancelled_;
    }
    template <class Answer>
    static bool is_over(const std::future<Answer>& answer) {
        return answer.wait_for(0s) == std::future_status::ready;
    }
    /// What a call does whose commit is cancelled.
    template <class Call>
    auto cancelled(Call call) {
        auto answer = later_answer(call);
        while (!cancel() && !is_over(answer)) std::this_thread::yield();
        return answer.get();
    }
    template <class Call>
    void expect_unknown(Call call) {
        try {
            cancelled(call);
            ADD_FAILURE() << "it was acknowledged";
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::find_out) << error.what();
            EXPECT_THAT(error.what(), HasSubstr("synchronous standby was cancelled"));
        }
    }
    static std::vector<Append> orders(std::uint8_t number, int copies = 1) {
        Message message{.box = "orders", .type = "placed"};
        message.id.bytes[15] = number;
        const Append item{.message = std::make_shared<const Message>(message)};
        return std::vector<Append>(static_cast<std::size_t>(copies), item);
    }
    /// An application's own connection.
    struct Application {
        explicit Application(const std::string& conninfo) : own(PQconnectdb(conninfo.c_str())) {
            PQsetNoticeProcessor(
                own, [](void* all, const char* text) { *static_cast<std::string*>(all) += text; },
                &heard);
        }
        ~Application() { PQfinish(own); }
        Application(const Application&) = delete;
        Application& operator=(const Application&) = delete;

        std::string heard{};
        PGconn* own;
    };

    PostgresCluster cluster_{{.replicated = true}};
    const std::string conninfo_ = cluster_.conninfo("app");
    const Uuid self_ = *parse_uuid("01890000-0000-7000-8000-000000000001");
    std::unique_ptr<postgres::PostgresStore> store_{};
    Taken mine_{};
    Entry entry_{};
    bool cancelled_ = false;
};

TEST_F(CancelledCommit, OfTheStoreIsNotAcknowledged) {
    expect_unknown([&] { return store_->append(orders(2)); });
    expect_unknown([&] { return store_->append(orders(3, 2)); });  // in a transaction
    expect_unknown([&] { return store_->beat({.incarnation = self_, .name = "host"}); });
    expect_unknown([&] { return store_->pause_box("orders", true); });
    expect_unknown([&] {
        return store_->settle({.fences = {{mine_.partition, mine_.token}},
                               .items = {{.partition = mine_.partition,
                                          .sequence = entry_.sequence,
                                          .message = entry_.message->id,
                                          .finish = true}}});
    });

    // The repeat is a duplicate, and as durable as anything: it waits, too.
    expect_unknown([&] { return store_->append(orders(2)); });
    name_standby("");
    EXPECT_EQ(store_->append(orders(2)).at(0).status, AppendResult::Status::duplicate);
}

TEST_F(CancelledCommit, OfAnInlineHandlerIsNotRecordedAsDone) {
    const auto result = cancelled([&] {
        return store_->run_inline(
            {{mine_.partition, mine_.token}, entry_.sequence, entry_.message->id, "bill"},
            [](void* native) -> Outcome {
                // What the handler hears is its own affair.
                PQsetNoticeReceiver(
                    static_cast<PGconn*>(native), [](void*, const PGresult*) {}, nullptr);
                PQclear(PQexec(static_cast<PGconn*>(native), "set client_min_messages = error"));
                return Done{};
            });
    });

    EXPECT_EQ(result.record, InlineResult::Record::unknown);
}

TEST_F(CancelledCommit, OnTheCallersConnectionIsNotAcknowledgedEither) {
    Application app{conninfo_};
    expect_unknown([&] {
        return postgres::publish(app.own, *orders(2)[0].message, {.outside_transaction = true});
    });
    EXPECT_THAT(app.heard, HasSubstr("WARNING")) << "the caller's notices are its own";
    app.heard.clear();

    postgres::Guard guard{{.consumer = "ledger"}};
    expect_unknown([&] { return guard.run(app.own, *orders(4)[0].message, [](PGconn*) {}); });

    EXPECT_THAT(app.heard, HasSubstr("WARNING"));
    EXPECT_EQ(PQtransactionStatus(app.own), PQTRANS_IDLE);
    app.heard.clear();
    PQclear(PQexec(app.own, "do $$ begin raise notice 'still mine'; end $$"));
    EXPECT_THAT(app.heard, HasSubstr("still mine"));
}

TEST_F(CancelledCommit, ALocalCommitBesideANamedStandbyIsRefusedAsOffIs) {
    postgres::Database session{{.conninfo = conninfo_, .deadline = 5min}};
    EXPECT_THAT(postgres::check_settings(session), testing::IsEmpty());

    session.script("set synchronous_commit = local", "test");

    EXPECT_THAT(postgres::check_settings(session),
                testing::ElementsAre(HasSubstr("synchronous_commit is local")));
}

}  // namespace
}  // namespace waybill::test
