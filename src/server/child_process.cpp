#include "server/child_process.hpp"

#include <csignal>
#include <cstring>
#include <stdexcept>

#include <spawn.h>
#include <unistd.h>

namespace waybill::server {
namespace {

class FileActions {
public:
    explicit FileActions(const ChildProcess& child) {
        ::posix_spawn_file_actions_init(&actions_);
        pass_on(child.input, STDIN_FILENO);
        pass_on(child.output, STDOUT_FILENO);
        pass_on(child.errors, STDERR_FILENO);
        // What it leaves running would otherwise hold the port and the connections of our clients.
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    }
    ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;

    const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    void pass_on(int ours, int its) {
        if (ours >= 0) ::posix_spawn_file_actions_adddup2(&actions_, ours, its);
    }
    posix_spawn_file_actions_t actions_{};
};

class Attributes {
public:
    Attributes() {
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        sigset_t signals;
        ::sigemptyset(&signals);
        ::posix_spawnattr_setsigmask(&attributes_, &signals);
        ::sigaddset(&signals, SIGPIPE);
        ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    }
    ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

    const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

}  // namespace

pid_t spawn(ChildProcess child) {
    const FileActions actions{child};
    const Attributes attributes;
    const std::vector<char*> arguments = pointers(child.command);
    const std::vector<char*> environment = pointers(child.environment);
    pid_t started = -1;
    const int error = ::posix_spawnp(&started, arguments.front(), actions.get(), attributes.get(),
                                     arguments.data(), environment.data());
    if (error != 0) {
        throw std::runtime_error("cannot run " + child.command.front() + ": " +
                                 std::strerror(error));
    }
    return started;
}

std::vector<std::string> own_environment() {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        variables.emplace_back(*variable);
    }
    return variables;
}

}  // namespace waybill::server
