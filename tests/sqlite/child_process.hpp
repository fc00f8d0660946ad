#pragma once

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace waybill::test {

/// Another process that runs `body` and tells us a line through `say`. It lives until it is killed, or
/// until the test ends. Made before the test has any thread of its own.
class ChildProcess {
public:
    using Say = std::function<void(const std::string& line)>;

    explicit ChildProcess(const std::function<void(const Say&)>& body) {
        int ends[2];
        if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("no fork");
        if (pid_ == 0) {
            ::close(ends[0]);
            body([&](const std::string& line) {
                const std::string text = line + "\n";
                if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
            });
            for (;;) ::pause();
        }
        ::close(ends[1]);
        from_ = ends[0];
    }
    ~ChildProcess() {
        kill();
        ::close(from_);
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    /// The next line it said; empty when it is gone.
    std::string hear() {
        std::string line;
        char byte = 0;
        while (::read(from_, &byte, 1) == 1 && byte != '\n') line.push_back(byte);
        return line;
    }
    /// SIGKILL, and waits for its end.
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

private:
    pid_t pid_ = -1;
    int from_ = -1;
};

}  // namespace waybill::test
