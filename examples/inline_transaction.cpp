// Exactly once: the handler writes through the store's own transaction, so that its row and its success commit together.

#include <cstdio>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

#include "check.hpp"
#include <waybill/sqlite.hpp>
#include <waybill/waybill.hpp>

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

}  // namespace

int main(int, char** argv) {
    using namespace std::chrono_literals;
    const std::string file = std::string{argv[0]} + ".db";
    for (const char* part : {"", "-wal", "-shm", "-owner"}) std::remove((file + part).c_str());

    waybill::Waybill app{{.store = waybill::sqlite::open(file)}};
    // [inline_transaction]
    app.inbox("orders").on_inline(
        "order.placed", "ledger",
        [](const waybill::Message&, waybill::Context& context, void* native) {
            run(static_cast<sqlite3*>(native), "INSERT INTO charges DEFAULT VALUES");
            if (context.attempt() == 1) throw std::runtime_error{"rolled back, and tried again"};
        },
        {.backoff = {.base = 10ms}});
    // [/inline_transaction]

    sqlite3* db = nullptr;
    CHECK(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
    run(db, "CREATE TABLE charges (id INTEGER PRIMARY KEY)");

    app.append({.type = "order.placed"});
    app.start();
    CHECK(app.wait_done());
    app.stop();

    CHECK(count_charges(db) == 1);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}
