// A consumer in a process of its own. Tells "running" from inside its body, waits there for "commit" or "throw"
// on its standard input, and tells at the end what became of it.

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include <libpq-fe.h>

#include "waybill/postgres/guard.hpp"

namespace {

using waybill::postgres::Guarded;

void consume(PGconn* connection) {
    PQclear(PQexec(connection, "insert into public.bookings values ('child')"));
    std::cout << "running" << std::endl;
    std::string order;
    if (!std::getline(std::cin, order) || order != "commit") throw std::runtime_error{"told to"};
}

}  // namespace

/// conninfo, schema, the message's key
int main(int, char** arguments) {
    PGconn* const connection = PQconnectdb(arguments[1]);
    waybill::postgres::Guard guard{{.consumer = "billing",
                                    .key = [&](const waybill::Message&) { return arguments[3]; },
                                    .busy_timeout = std::chrono::minutes{5},
                                    .schema = arguments[2]}};
    try {
        const Guarded result = guard.run(connection, {.type = "order.placed"}, consume);
        std::cout << (result == Guarded::duplicate ? "duplicate" : "ran") << std::endl;
    } catch (const std::exception& error) {
        std::cout << "threw" << std::endl;
    }
    PQfinish(connection);
}
