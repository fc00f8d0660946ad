#include "support/postgres_server.hpp"

namespace waybill::test {

PostgresServer& PostgresServer::instance() {
    static PostgresServer server;
    return server;
}

}  // namespace waybill::test
