#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postgres/fixture.hpp"
#include "waybill/append.hpp"
#include "waybill/postgres/publish.hpp"

namespace waybill::test {

using Status = AppendResult::Status;

/// An application with a table of its own beside the store.
class PostgresPublishing : public Postgres {
protected:
    PostgresPublishing() { own_->script("create temporary table orders (id int)", "test"); }

    static Message placed(const std::string& body, const std::string& lane = "") {
        return {.box = "orders", .type = "order.placed", .body = body, .lane = lane};
    }
    AppendResult publish(const Message& message) {
        return postgres::publish(own_->handle(), message, options_);
    }
    /// The only column of the only row.
    std::string ask(const std::string& statement) { return ask_on(*own_, statement); }
    static std::string ask_on(postgres::Database& db, const std::string& statement) {
        postgres::Rows rows = db.script(db.in_schema(statement), "test");
        return rows.next() ? rows.string(0) : "";
    }
    std::vector<Message> stored() {
        const Taken taken = own(*store_);
        std::vector<Message> all;
        for (const Entry& entry : scan(taken).entries) all.push_back(*entry.message);
        return all;
    }
    std::vector<std::string> stored_bodies() {
        std::vector<std::string> all;
        for (const Message& message : stored()) all.push_back(message.body);
        return all;
    }
    /// Every field set, some of them awkward.
    static Message full() {
        return {.id = *parse_uuid("01890000-0000-7000-8000-000000000001"),
                .box = "orders",
                .type = "order.placed",
                .source = "shop \"x\" \\ {y}",
                .body = std::string{"bytes \0 \xff \\ \" {}", 15},
                .content_type = "text/plain",
                .attributes = {{"a,b", "1"}, {"käse", "\"\\{NULL}"}, {"n", "NULL"}},
                .tenant = "acme",
                .user = "eve",
                .correlation_id = "NULL",
                .occurred_at = StoreTime{1'704'067'200s},
                .not_before = StoreTime{1'704'067'201s},
                .lane = "l-1",
                .dedup_key = "k",
                .collapse_key = "c"};
    }

    /// The application's.
    std::unique_ptr<postgres::Database> own_ = stranger();
    postgres::PublishOptions options_{.schema = schema_.name()};
};

}  // namespace waybill::test
