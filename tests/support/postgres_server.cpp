#include "support/postgres_server.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace waybill::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kPrefix = "waybill-postgres-";

/// PostgreSQL refuses to run as root.
struct Account {
    uid_t user = ::getuid();
    gid_t group = ::getgid();
};

Account account() {
    if (::getuid() != 0) return {};
    for (const char* name : {"postgres", "nobody"}) {
        if (const passwd* entry = ::getpwnam(name)) return {entry->pw_uid, entry->pw_gid};
    }
    throw std::runtime_error("no account to run PostgreSQL as");
}

/// Of the newest version.
std::string program(const std::string& name) {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
        const fs::path path = version.path() / "bin" / name;
        if (fs::exists(path, ignored)) found.push_back(path.string());
    }
    if (found.empty()) {
        throw std::runtime_error("PostgreSQL is not installed: run script/bootstrap");
    }
    return *std::ranges::max_element(found);
}

/// Where nothing touches a disk, if there is room: fsync is on, and costs nothing there.
fs::path parent_folder() {
    std::error_code failed;
    const fs::path shared = "/dev/shm";
    const auto room = fs::space(shared, failed);
    constexpr std::uintmax_t enough = std::uintmax_t{1} << 30;
    return !failed && room.available >= enough ? shared : fs::temp_directory_path();
}

/// What a program that was killed could not remove.
void remove_leftovers(const fs::path& parent) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(parent, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix)) continue;
        const int process = std::atoi(name.c_str() + std::string{kPrefix}.size());
        if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) {
            fs::remove_all(entry.path(), ignored);
        }
    }
}

/// Runs a program as `who`, until it ends or we do.
pid_t start(const std::vector<std::string>& words, const std::string& log, const Account& who) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    // Between fork and exec only what is safe in a signal handler.
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::getuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setgid(who.group) != 0 || ::setuid(who.user) != 0)) {
        ::_exit(126);
    }
    // After the change of user, which would clear it. SIGQUIT is an immediate shutdown.
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (::getppid() != parent) ::_exit(0);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

int ended(pid_t process) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace

PostgresServer& PostgresServer::instance() {
    static PostgresServer server;
    return server;
}

PostgresServer::PostgresServer() {
    const Account who = account();
    const fs::path parent = parent_folder();
    remove_leftovers(parent);
    std::string name = (parent / (kPrefix + std::to_string(::getpid()) + "-XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    const std::string data = folder_ + "/data";
    const std::string log = folder_ + "/log";
    if (::chown(folder_.c_str(), who.user, who.group) != 0) {
        throw std::runtime_error("cannot give " + folder_ + " to its user");
    }
    const pid_t initdb =
        start({program("initdb"), "--no-sync", "--auth=trust", "--encoding=UTF8",
               "--locale=C.UTF-8", "--username=waybill", "--wal-segsize=4", "-D", data},
              log, who);
    if (ended(initdb) != 0) throw std::runtime_error("initdb failed: see " + log);
    process_ = start({program("postgres"),
                      "-D",
                      data,
                      "-k",
                      folder_,
                      "-c",
                      "listen_addresses=",
                      "-c",
                      "shared_buffers=64MB",
                      "-c",
                      "max_connections=200",
                      "-c",
                      "max_wal_size=64MB",
                      "-c",
                      "min_wal_size=8MB",
                      "-c",
                      "wal_level=minimal",
                      "-c",
                      "max_wal_senders=0",
                      "-c",
                      "autovacuum_naptime=1min"},
                     log, who);
    conninfo_ = "host=" + folder_ + " user=waybill dbname=postgres";
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (PQping(conninfo_.c_str()) != PQPING_OK) {
        if (std::chrono::steady_clock::now() > until ||
            ::waitpid(process_, nullptr, WNOHANG) != 0) {
            throw std::runtime_error("PostgreSQL does not start: see " + log);
        }
        std::this_thread::sleep_for(5ms);  // Nobody announces it.
    }
}

void PostgresServer::create(const std::string& database) const {
    PGconn* const connection = PQconnectdb(conninfo_.c_str());
    PGresult* const result = PQexec(connection, ("create database " + database).c_str());
    const bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    const std::string error = PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
    if (!is_done) throw std::runtime_error("no database " + database + ": " + error);
}

PostgresServer::~PostgresServer() {
    ::kill(process_, SIGQUIT);
    ended(process_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

}  // namespace waybill::test
