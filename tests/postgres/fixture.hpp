#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls.hpp"
#include "support/postgres_server.hpp"
#include "support/postgres_under_test.hpp"

namespace waybill::test {

using namespace std::chrono_literals;

/// A store with the box "orders" of one partition, and its owner.
class Postgres : public testing::Test {
protected:
    Postgres() {
        const BoxDeclaration box{"orders", {.partitions = 1}};
        store_->declare({&box, 1}, {});
    }

    /// A connection of somebody else.
    std::unique_ptr<postgres::Database> stranger(Duration deadline = 5min) const {
        return std::make_unique<postgres::Database>(
            postgres::Address{.conninfo = PostgresServer::instance().conninfo(),
                              .schema = schema_.name(),
                              .deadline = deadline,
                              // What it holds it holds until the test lets go.
                              .idle_max = 5min});
    }
    static Append order(int number, const std::string& key = "") {
        Message message{.box = "orders", .type = "order.placed"};
        message.id.bytes[0] = 1;
        message.id.bytes[15] = static_cast<std::uint8_t>(number);
        message.body = "order " + std::to_string(number);
        message.dedup_key = key;
        return {.message = std::make_shared<const Message>(std::move(message)),
                .dedup_scope = "orders",
                .body_hash = "same"};
    }
    std::vector<AppendResult> append(std::vector<Append> batch) { return store_->append(batch); }
    static std::vector<AppendResult> append_on(postgres::Database& db, const Append& item) {
        postgres::Boxes boxes;
        return postgres::append({db, boxes}, {&item, 1});
    }

    Taken own(postgres::PostgresStore& store, int number = 1) {
        InstanceState state{.name = "host", .boxes = {"orders"}};
        state.incarnation.bytes[0] = static_cast<std::uint8_t>(number);
        const PartitionState seen = store.beat(state).partitions.at(0);
        const TakeRequest wanted{seen.id, seen.token};
        return store.take(state.incarnation, {&wanted, 1}).at(0);
    }
    static std::vector<std::string> bodies(const ReadPage& page) {
        std::vector<std::string> all;
        for (const Entry& entry : page.entries) all.push_back(entry.message->body);
        return all;
    }
    ReadPage increment(const Taken& taken, const Position& position,
                       std::uint32_t rows_max = 1000) {
        return store_->read(
            {.partitions = {taken.partition}, .position = position, .rows_max = rows_max});
    }
    ReadPage scan(const Taken& taken) {
        return store_->read({.kind = ReadRequest::Kind::scan, .partition = taken.partition});
    }
    static SettleBatch finish(const Taken& taken, const Entry& entry) {
        return {.fences = {{taken.partition, taken.token}},
                .items = {{.partition = entry.partition,
                           .sequence = entry.sequence,
                           .message = entry.message->id,
                           .finish = true}}};
    }
    template <class Body>
    static Reaction reaction_of(Body body) {
        try {
            body();
        } catch (const StoreError& error) {
            return error.reaction();
        }
        ADD_FAILURE() << "nothing was thrown";
        return Reaction::give_up;
    }
    /// Until somebody else's statement waits for a lock.
    void wait_for_a_waiter() {
        auto db = stranger();
        const auto waits = [&] {
            return db->script("select from pg_stat_activity where wait_event_type = 'Lock'", "wait")
                       .count() > 0;
        };
        while (!waits()) std::this_thread::yield();
    }

    PostgresSchema schema_{};
    std::unique_ptr<postgres::PostgresStore> store_ = schema_.connect();
};

}  // namespace waybill::test
