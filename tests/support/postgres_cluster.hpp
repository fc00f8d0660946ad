#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace waybill::test {

/// A program that runs beside the test, as a user that PostgreSQL accepts. It ends with us, also when we
/// crash.
///
/// Thread safety: started on the main thread, whose end is its own.
class Servant {
public:
    Servant() = default;
    /// `last_signal`: what ends it when we are gone.
    Servant(const std::vector<std::string>& words, const std::string& log, int last_signal);
    ~Servant() { end(9); }
    Servant(Servant&& other) noexcept;
    Servant& operator=(Servant&& other) noexcept;

    bool is_running();
    /// Waits until it is gone; the status of waitpid.
    int end(int signal);
    int wait();
    pid_t process() const { return process_; }

private:
    pid_t process_ = -1;
};

/// A folder of its own for servers, in memory if there is room, owned by the user they run as. Gone at
/// the end, or when the next program looks.
class ServerFolder {
public:
    ServerFolder();
    ~ServerFolder();
    ServerFolder(const ServerFolder&) = delete;
    ServerFolder& operator=(const ServerFolder&) = delete;

    const std::string& path() const { return path_; }
    /// Makes a folder in it.
    std::string make(const std::string& name) const;
    /// Makes a file in it.
    std::string write(const std::string& name, const std::string& text) const;

private:
    std::string path_{};
};

/// One PostgreSQL in a folder of its own, reached by a unix socket, with durable settings. It may be
/// stopped, crashed, started again, copied as a standby and promoted.
///
/// Errors: std::runtime_error when there is no PostgreSQL here: a missing one fails, it never skips.
class PostgresCluster {
public:
    struct Settings {
        /// May have standbys.
        bool replicated = false;
        /// "name=value" of postgresql.conf.
        std::vector<std::string> more{};
    };

    explicit PostgresCluster(Settings settings);
    PostgresCluster() : PostgresCluster(Settings{}) {}
    ~PostgresCluster();
    PostgresCluster(const PostgresCluster&) = delete;
    PostgresCluster& operator=(const PostgresCluster&) = delete;

    /// Of a superuser.
    std::string conninfo(const std::string& database = "postgres") const {
        return "host=" + folder_.path() + " user=waybill dbname=" + database;
    }
    std::string url(const std::string& database) const {
        return "postgresql://waybill@/" + database + "?host=" + folder_.path();
    }
    const std::string& socket_folder() const { return folder_.path(); }
    /// Makes an empty database.
    void create(const std::string& database) const;
    /// Statements of a superuser; what the last one answers first.
    std::string ask(const std::string& statements, const std::string& database = "postgres") const;

    /// As SQL, and back from it.
    void dump(const std::string& database, const std::string& schema, const std::string& name);
    void restore(const std::string& database, const std::string& name);

    /// As `pg_ctl stop -m immediate`: a crash of the server.
    void crash();
    /// As `pg_ctl stop -m fast`.
    void stop();
    /// Until it answers.
    void start();
    /// A copy that follows this one. `replicated` only.
    struct Standby {
        const PostgresCluster& primary;
    };
    explicit PostgresCluster(Standby of);
    /// A standby becomes a primary, with a timeline of its own.
    void promote();

private:
    void wait_until_it_answers();

    ServerFolder folder_{};
    Settings settings_{};
    Servant server_{};
};

/// A program of the newest PostgreSQL there is.
std::string postgres_program(const std::string& name);

}  // namespace waybill::test
