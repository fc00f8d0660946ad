#include "support/postgres_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

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

void give_away(const std::string& path) {
    const Account who = account();
    if (::chown(path.c_str(), who.user, who.group) != 0) {
        throw std::runtime_error("cannot give " + path + " to its user");
    }
}

/// To its end.
void run(const std::vector<std::string>& words, const std::string& log) {
    Servant program{words, log, SIGKILL};
    if (program.wait() != 0) throw std::runtime_error(words[0] + " failed: see " + log);
}

}  // namespace

std::string postgres_program(const std::string& name) {
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

Servant::Servant(const std::vector<std::string>& words, const std::string& log, int last_signal) {
    const Account who = account();
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ != 0) return;
    // Between fork and exec only what is safe in a signal handler.
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::getuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setgid(who.group) != 0 || ::setuid(who.user) != 0)) {
        ::_exit(126);
    }
    // After the change of user, which would clear it.
    ::prctl(PR_SET_PDEATHSIG, last_signal);
    if (::getppid() != parent) ::_exit(0);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

Servant::Servant(Servant&& other) noexcept : process_(std::exchange(other.process_, -1)) {}

Servant& Servant::operator=(Servant&& other) noexcept {
    end(SIGKILL);
    process_ = std::exchange(other.process_, -1);
    return *this;
}

bool Servant::is_running() {
    if (process_ <= 0) return false;
    if (::waitpid(process_, nullptr, WNOHANG) == 0) return true;
    process_ = -1;
    return false;
}

int Servant::end(int signal) {
    if (process_ <= 0) return 0;
    ::kill(process_, signal);
    return wait();
}

int Servant::wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
}

ServerFolder::ServerFolder() {
    const fs::path parent = parent_folder();
    remove_leftovers(parent);
    std::string name = (parent / (kPrefix + std::to_string(::getpid()) + "-XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    give_away(path_);
}

ServerFolder::~ServerFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string ServerFolder::make(const std::string& name) const {
    const std::string path = path_ + "/" + name;
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    give_away(path);
    return path;
}

std::string ServerFolder::write(const std::string& name, const std::string& text) const {
    const std::string path = path_ + "/" + name;
    std::ofstream{path} << text;
    give_away(path);
    return path;
}

PostgresCluster::PostgresCluster(Settings settings) : settings_(std::move(settings)) {
    run({postgres_program("initdb"), "--no-sync", "--auth=trust", "--encoding=UTF8",
         "--locale=C.UTF-8", "--username=waybill", "--wal-segsize=4", "-D",
         folder_.path() + "/data"},
        folder_.path() + "/log");
    start();
}

PostgresCluster::PostgresCluster(Standby of) : settings_(of.primary.settings_) {
    run({postgres_program("pg_basebackup"), "-h", of.primary.socket_folder(), "-U", "waybill", "-D",
         folder_.path() + "/data", "-X", "stream", "-R", "--checkpoint=fast", "--no-sync"},
        folder_.path() + "/log");
    start();
}

PostgresCluster::~PostgresCluster() {
    server_.end(SIGQUIT);
}

void PostgresCluster::start() {
    std::vector<std::string> words{postgres_program("postgres"), "-D", folder_.path() + "/data",
                                   "-k", folder_.path()};
    std::vector<std::string> all{"listen_addresses=",          "shared_buffers=64MB",
                                 "max_connections=200",        "max_wal_size=64MB",
                                 "min_wal_size=8MB",           "autovacuum_naptime=1min",
                                 "max_prepared_transactions=4"};
    const bool replicated = settings_.replicated;
    all.emplace_back(replicated ? "wal_level=replica" : "wal_level=minimal");
    all.emplace_back(replicated ? "max_wal_senders=4" : "max_wal_senders=0");
    all.insert(all.end(), settings_.more.begin(), settings_.more.end());
    for (const std::string& setting : all) {
        words.emplace_back("-c");
        words.push_back(setting);
    }
    server_ = Servant{words, folder_.path() + "/log", SIGQUIT};
    wait_until_it_answers();
}

void PostgresCluster::wait_until_it_answers() {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (PQping(conninfo().c_str()) != PQPING_OK) {
        if (std::chrono::steady_clock::now() > until || !server_.is_running()) {
            throw std::runtime_error("PostgreSQL does not start: see " + folder_.path() + "/log");
        }
        std::this_thread::sleep_for(5ms);  // Nobody announces it.
    }
}

void PostgresCluster::crash() {
    server_.end(SIGQUIT);
}

void PostgresCluster::stop() {
    server_.end(SIGINT);
}

void PostgresCluster::dump(const std::string& database, const std::string& schema,
                           const std::string& name) {
    run({postgres_program("pg_dump"), "--schema=" + schema, "--file=" + folder_.path() + "/" + name,
         conninfo(database)},
        folder_.path() + "/log");
}

void PostgresCluster::restore(const std::string& database, const std::string& name) {
    run({postgres_program("psql"), "--no-psqlrc", "--quiet", "--single-transaction",
         "--set=ON_ERROR_STOP=1", "--file=" + folder_.path() + "/" + name, conninfo(database)},
        folder_.path() + "/log");
}

void PostgresCluster::promote() {
    run({postgres_program("pg_ctl"), "promote", "-w", "-D", folder_.path() + "/data"},
        folder_.path() + "/log");
}

void PostgresCluster::create(const std::string& database) const {
    ask("create database " + database);
}

std::string PostgresCluster::ask(const std::string& statements, const std::string& database) const {
    PGconn* const connection = PQconnectdb(conninfo(database).c_str());
    PGresult* const result = PQexec(connection, statements.c_str());
    const ExecStatusType status = PQresultStatus(result);
    const bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    const std::string answer =
        PQntuples(result) > 0 && PQnfields(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    const std::string error = PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
    if (!is_done) throw std::runtime_error(statements + ": " + error);
    return answer;
}

}  // namespace waybill::test
