#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace waybill::test {

/// What a program printed and how it ended.
struct Ran {
    int code = -1;
    std::string output{};
};

/// The file of a program.
struct Executable {
    std::string path{};
};

/// The program `waybill`, or another, as a process of its own; its standard output is ours to read.
class Process {
public:
    enum class Errors : std::uint8_t { to_ours, to_output };

    /// Runs it in `folder`, with this in front of its environment.
    Process(const std::string& folder, std::vector<std::string> words,
            Errors errors = Errors::to_ours, const std::vector<std::string>& environment = {})
        : Process(Executable{WAYBILL_PROGRAM}, folder, std::move(words), errors, environment) {}
    Process(const Executable& program, const std::string& folder, std::vector<std::string> words,
            Errors errors, const std::vector<std::string>& environment) {
        words.insert(words.begin(), program.path);
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("no fork");
        if (pid_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            if (errors == Errors::to_output) ::dup2(ends[1], STDERR_FILENO);
            // Those of whoever runs the tests are none of its business.
            for (const char* name : {"WAYBILL_SIM_SEEDS", "WAYBILL_JOBS"}) ::unsetenv(name);
            for (const std::string& variable : environment) {
                const std::size_t equals = variable.find('=');
                ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
            }
            if (::chdir(folder.c_str()) != 0) ::_exit(99);
            ::execv(program.path.c_str(), arguments.data());
            ::_exit(99);
        }
        ::close(ends[1]);
        from_ = ends[0];
    }
    ~Process() {
        end(SIGKILL);
        ::close(from_);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Of `serve`: the port it listens on.
    std::uint16_t port() {
        const std::string line = hear();
        const std::string host = "://127.0.0.1:";
        const std::size_t at = line.find(host);
        if (at == std::string::npos) throw std::runtime_error("it does not listen: " + line);
        return static_cast<std::uint16_t>(std::stoi(line.substr(at + host.size())));
    }
    pid_t pid() const { return pid_; }
    void signal(int number) { ::kill(pid_, number); }
    /// The exit code; -1 when a signal ended it.
    int end(int number) {
        if (pid_ <= 0) return -1;
        ::kill(pid_, number);
        return wait();
    }
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    /// All it prints, and how it ends.
    Ran finish() {
        Ran ran;
        for (std::string line = hear(); !line.empty(); line = hear()) ran.output += line;
        ran.code = wait();
        return ran;
    }

    /// False: it ended without saying that.
    bool hear_until(const std::string& wanted) {
        for (std::string line = hear(); !line.empty(); line = hear()) {
            if (line.find(wanted) != std::string::npos) return true;
        }
        return false;
    }

private:
    /// The next line with its end; empty: there is none.
    std::string hear() {
        std::string line;
        for (char byte = 0;;) {
            const ssize_t size = ::read(from_, &byte, 1);
            if (size < 0 && errno == EINTR) continue;
            if (size <= 0) return line;
            line.push_back(byte);
            if (byte == '\n') return line;
        }
    }

    pid_t pid_ = -1;
    int from_ = -1;
};

/// Runs it to its end.
inline Ran run(const std::string& folder, std::vector<std::string> words) {
    return Process{folder, std::move(words)}.finish();
}
/// The same, and its output has what it said on standard error.
inline Ran run_and_hear_errors(const std::string& folder, std::vector<std::string> words,
                               const std::vector<std::string>& environment = {}) {
    return Process{folder, std::move(words), Process::Errors::to_output, environment}.finish();
}

}  // namespace waybill::test
