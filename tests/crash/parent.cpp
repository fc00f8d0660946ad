#include "crash/parent.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "waybill/sqlite.hpp"

namespace waybill::crash {
namespace {

/// Where the child writes: kTold of child.cpp.
constexpr int kTold = 3;

struct Child {
    pid_t id = 0;
    int told = -1;
};

Child spawn(const std::vector<std::string>& arguments) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
    // dup2 onto itself would keep close-on-exec: move the end out of the way first.
    const int end = ::fcntl(pipe[1], F_DUPFD_CLOEXEC, kTold + 1);
    ::close(pipe[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, end, kTold);
    std::vector<char*> values;
    for (const std::string& argument : arguments) {
        values.push_back(const_cast<char*>(argument.c_str()));
    }
    values.push_back(nullptr);
    Child child{.told = pipe[0]};
    const int failed =
        ::posix_spawn(&child.id, values[0], &actions, nullptr, values.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(end);
    if (failed != 0) throw std::runtime_error{"cannot start " + arguments[0]};
    return child;
}

/// Whole lines of a pipe, until its other end is gone.
class Lines {
public:
    explicit Lines(int file) : file_(file) {}
    ~Lines() { ::close(file_); }
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;

    bool next(std::string& line) {
        for (;;) {
            const std::size_t end = held_.find('\n');
            if (end != std::string::npos) {
                line = held_.substr(0, end);
                held_.erase(0, end + 1);
                return true;
            }
            std::array<char, 4096> bytes{};
            const ssize_t count = ::read(file_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return false;
            held_.append(bytes.data(), static_cast<std::size_t>(count));
        }
    }

private:
    int file_;
    std::string held_{};
};

}  // namespace

Parent::Parent() {
    const char* folder = std::getenv("WAYBILL_CRASH_FOLDER");
    file_ = folder == nullptr ? folder_.file("crash.db") : std::string{folder} + "/crash.db";
    for (const char* end : {"", "-wal", "-shm", "-owner"}) std::filesystem::remove(file_ + end);
}

void Parent::end(pid_t child) {
    const char* cut = std::getenv("WAYBILL_CRASH_CUT");
    if (cut == nullptr) {
        ::kill(child, SIGKILL);
    } else if (std::system((std::string{cut} + " " + std::to_string(child)).c_str()) != 0) {
        throw std::runtime_error{std::string{"this failed: "} + cut};
    }
}

End Parent::live(const Life& life) {
    const Child child = spawn({WAYBILL_CRASH_CHILD, file(), std::to_string(life.round),
                               std::to_string(life.messages), std::to_string(life.minutes_later),
                               std::to_string(static_cast<int>(life.trap.kind)),
                               std::to_string(life.trap.at), std::to_string(life.trap.seed),
                               std::to_string(life.bombs), life.relaxed ? "1" : "0"});
    End end;
    Lines lines{child.told};
    for (std::string line; lines.next(line); ++end.lines) {
        books_.hear(Line::parse(line));
        // What it told before it died is still in the pipe, and heard.
        if (end.lines + 1 == life.lines_max) Parent::end(child.id);
    }
    int status = 0;
    while (::waitpid(child.id, &status, 0) < 0 && errno == EINTR) {
    }
    end.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
    if (!end.killed && end.code != 0 && end.code != trapped) {
        trouble_ += "the child ended by itself with status " + std::to_string(status) + "\n";
    }
    books_.crashed();
    return end;
}

void Parent::look(const std::function<void(Catalogue&)>& at) {
    const auto store = sqlite::open(file());
    // It may have died before it had made its tables.
    store->migrate();
    for (const std::string& problem : store->integrity_check()) trouble_ += problem + "\n";
    at(*store);
}

void Parent::inspect() {
    look([&](Catalogue& catalogue) { books_.inspect(catalogue); });
}

void Parent::finish(int round, int minutes_later) {
    const End end = live({.round = round, .messages = 0, .minutes_later = minutes_later});
    if (end.code != 0) trouble_ += "the last child did not finish\n";
    look([&](Catalogue& catalogue) { books_.close(catalogue, rows()); });
}

Books::Rows Parent::rows() const {
    Books::Rows all;
    sqlite3* database = nullptr;
    sqlite3_open_v2(file().c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
    const auto note = [](void* to, int, char** values, char**) {
        ++(*static_cast<std::map<std::string, int>*>(to))[values[0]];
        return 0;
    };
    for (const char* table : tables) {
        // No such table: no row yet.
        const std::string sql = std::string{"select message from "} + table;
        sqlite3_exec(database, sql.c_str(), note, &all[table], nullptr);
    }
    sqlite3_close(database);
    return all;
}

std::string Parent::verdict() const {
    std::string text = trouble_;
    for (const std::string& line : books_.broken()) text += line + "\n";
    return text;
}

}  // namespace waybill::crash
