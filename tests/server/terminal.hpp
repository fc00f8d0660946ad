#pragma once

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/server_process.hpp"

namespace waybill::test {

/// The program on a terminal, with somebody who reads and types.
class Terminal {
public:
    Terminal(const std::string& folder, std::vector<std::string> words) {
        words.insert(words.begin(), WAYBILL_PROGRAM);
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        pid_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
        if (pid_ < 0) throw std::runtime_error("no terminal");
        if (pid_ == 0) {
            if (::chdir(folder.c_str()) != 0) ::_exit(99);
            ::execv(WAYBILL_PROGRAM, arguments.data());
            ::_exit(99);
        }
    }
    ~Terminal() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(terminal_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    std::string hear_until(const std::string& wanted) {
        std::string heard;
        while (!heard.ends_with(wanted) && read_byte(heard)) {
        }
        return heard;
    }
    void type(const std::string& text) {
        [[maybe_unused]] const ssize_t written = ::write(terminal_, text.data(), text.size());
    }
    Ran finish() {
        Ran ran;
        while (read_byte(ran.output)) {
        }
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return ran;
    }

private:
    /// False: the program is gone.
    bool read_byte(std::string& to) {
        char byte = 0;
        ssize_t size = 0;
        while ((size = ::read(terminal_, &byte, 1)) < 0 && errno == EINTR) {
        }
        if (size <= 0) return false;
        to.push_back(byte);
        return true;
    }

    pid_t pid_ = -1;
    int terminal_ = -1;
};

}  // namespace waybill::test
