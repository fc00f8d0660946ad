#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <libpq-fe.h>

#include "support/pacing.hpp"
#include "support/postgres_cluster.hpp"

namespace waybill::test {

/// A pgbouncer of our own in front of a cluster.
///
/// Errors: std::runtime_error when there is none here.
class PostgresPooler {
public:
    explicit PostgresPooler(const PostgresCluster& cluster,
                            const std::string& mode = "transaction") {
        const std::string settings = folder_.write(
            "pgbouncer.ini", "[databases]\n* = host=" + cluster.socket_folder() +
                                 " user=waybill\n[pgbouncer]\nunix_socket_dir = " + folder_.path() +
                                 "\nlisten_port = 6432\nauth_type = any\npool_mode = " + mode +
                                 "\ndefault_pool_size = 8\nmax_client_conn = 200\n");
        program_ = Servant{{"/usr/sbin/pgbouncer", settings}, folder_.path() + "/log", 9};
        const std::string ping = conninfo("postgres");
        const auto answers = [&] { return PQping(ping.c_str()) == PQPING_OK; };
        if (!look_until(answers, std::chrono::seconds{60})) {
            throw std::runtime_error("pgbouncer does not start: see " + folder_.path() + "/log");
        }
    }
    static constexpr int port = 6432;
    /// Where its unix socket is.
    const std::string& socket_folder() const { return folder_.path(); }
    std::string conninfo(const std::string& database) const {
        return "host=" + folder_.path() + " port=6432 user=waybill dbname=" + database;
    }
    std::string url(const std::string& database) const {
        return "postgresql://waybill@/" + database + "?host=" + folder_.path() + "&port=6432";
    }

private:
    ServerFolder folder_{};
    Servant program_{};
};

}  // namespace waybill::test
