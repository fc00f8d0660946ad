#pragma once

#include <string>

#include <sys/types.h>

namespace waybill::test {

/// A PostgreSQL of our own in a temporary folder, reached by a unix socket, with durable settings. One per
/// test program; it ends with it, also when it crashes.
///
/// Thread safety: asked first on the main thread, whose end is the server's.
/// Errors:        std::runtime_error when there is no PostgreSQL here: a missing one fails, it never skips.
class PostgresServer {
public:
    static PostgresServer& instance();

    /// Of a superuser.
    const std::string& conninfo() const { return conninfo_; }
    /// The same for another database of it.
    std::string url(const std::string& database) const {
        return "postgresql://waybill@/" + database + "?host=" + folder_;
    }
    /// Makes an empty one.
    void create(const std::string& database) const;

    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

private:
    PostgresServer();
    ~PostgresServer();

    std::string folder_{};
    std::string conninfo_{};
    pid_t process_ = -1;
};

}  // namespace waybill::test
