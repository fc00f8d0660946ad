// Guard: a consumer of some broker, whose messages may come twice. Its writes and the mark that it ran commit together.

#include <cstdio>
#include <string>

#include <sqlite3.h>

#include "check.hpp"
#include <waybill/sqlite.hpp>
#include <waybill/sqlite/guard.hpp>

namespace {

void run(sqlite3* db, const char* statement) {
    CHECK(sqlite3_exec(db, statement, nullptr, nullptr, nullptr) == SQLITE_OK);
}

int count_charges(sqlite3* db) {
    int count = 0;
    const auto take = [](void* to, int, char** columns, char**) {
        *static_cast<int*>(to) = std::stoi(columns[0]);
        return 0;
    };
    CHECK(sqlite3_exec(db, "SELECT count(*) FROM charges", take, &count, nullptr) == SQLITE_OK);
    return count;
}

// [guard]
/// Called by the broker's client, perhaps twice for one message.
void on_message(sqlite3* db, waybill::sqlite::Guard& guard, const waybill::Message& message) {
    const auto result = guard.run(db, message, [&](sqlite3* tx) {
        run(tx,
            "INSERT INTO charges DEFAULT VALUES");  // throwing rolls back, and it may come again
    });
    if (result == waybill::sqlite::Guarded::duplicate) {
        std::printf("%s was here before\n", message.correlation_id.c_str());
    }
}
// [/guard]

}  // namespace

int main(int, char** argv) {
    const std::string file = std::string{argv[0]} + ".db";
    for (const char* part : {"", "-wal", "-shm", "-owner"}) std::remove((file + part).c_str());
    const auto store = waybill::sqlite::open(file);  // keeps the file in order, sweeps old marks
    store->migrate();

    sqlite3* db = nullptr;
    CHECK(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
    run(db, "PRAGMA synchronous = FULL");
    run(db, "CREATE TABLE charges (id INTEGER PRIMARY KEY)");

    // [guard_made]
    waybill::sqlite::Guard guard{{
        .consumer = "billing",
        // Whoever publishes again gives a new id: what makes two messages the same is the order.
        .key = [](const waybill::Message& message) { return message.correlation_id; },
        .keep = std::chrono::hours{24 * 30},
    }};
    // [/guard_made]

    const waybill::Message first{.type = "order.placed", .correlation_id = "order 1"};
    const waybill::Message second{.type = "order.placed", .correlation_id = "order 2"};
    on_message(db, guard, first);
    on_message(db, guard, second);
    on_message(db, guard, first);

    CHECK(count_charges(db) == 2);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}
