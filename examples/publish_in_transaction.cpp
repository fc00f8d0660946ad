// Publish: one commit for the order and its announcement. If the order is rolled back, nobody hears of it.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sqlite3.h>

#include "check.hpp"
#include <waybill/sqlite.hpp>
#include <waybill/sqlite/publish.hpp>
#include <waybill/waybill.hpp>

namespace {

void run(sqlite3* db, const char* statement) {
    CHECK(sqlite3_exec(db, statement, nullptr, nullptr, nullptr) == SQLITE_OK);
}

// [publish_in_transaction]
void place_order(sqlite3* db, const std::string& customer, bool is_paid) {
    run(db, "BEGIN IMMEDIATE");
    run(db, "INSERT INTO orders DEFAULT VALUES");
    waybill::sqlite::publish(db, {.type = "order.placed", .body = "{}", .lane = customer});
    run(db, is_paid ? "COMMIT" : "ROLLBACK");
}
// [/publish_in_transaction]

}  // namespace

int main(int, char** argv) {
    const std::string file = std::string{argv[0]} + ".db";
    for (const char* part : {"", "-wal", "-shm", "-owner"}) std::remove((file + part).c_str());

    // The application's own tables and the messages live in one file.
    waybill::Waybill app{{.store = waybill::sqlite::open(file)}};
    std::atomic<int> announced = 0;
    app.outbox("announcements")
        .on("order.placed", "announce", [&](const waybill::Message& message) {
            std::printf("announce an order of %s\n", message.lane.c_str());
            ++announced;
        });
    app.start();

    sqlite3* db = nullptr;
    CHECK(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 5'000);
    run(db, "PRAGMA synchronous = FULL");
    run(db, "CREATE TABLE orders (id INTEGER PRIMARY KEY)");

    place_order(db, "customer 1", true);
    place_order(db, "customer 2", false);
    place_order(db, "customer 3", true);

    CHECK(app.wait_idle());
    CHECK(announced == 2);
    app.stop();
    CHECK(sqlite3_close(db) == SQLITE_OK);
}
