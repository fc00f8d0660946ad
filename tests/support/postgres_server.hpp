#pragma once

#include <string>

#include "support/postgres_cluster.hpp"

namespace waybill::test {

/// The PostgreSQL of this test program: one, started when it is first asked for.
///
/// Thread safety: asked first on the main thread, whose end is the server's.
/// Errors:        std::runtime_error when there is no PostgreSQL here: a missing one fails, it never skips.
class PostgresServer {
public:
    static PostgresServer& instance();

    /// Of a superuser.
    const std::string& conninfo() const { return conninfo_; }
    /// The same for another database of it.
    std::string url(const std::string& database) const { return cluster_.url(database); }
    /// Makes an empty one.
    void create(const std::string& database) const { cluster_.create(database); }
    PostgresCluster& cluster() { return cluster_; }

private:
    PostgresServer() = default;

    PostgresCluster cluster_{};
    std::string conninfo_ = cluster_.conninfo();
};

}  // namespace waybill::test
