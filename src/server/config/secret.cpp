#include "server/config/secret.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/child_process.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

void drop_line_end(std::string& text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
}

FoundSecret from_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return {.problem =
                    "the file " + path + " cannot be read; create it, or allow this user to"};
    }
    FoundSecret found{std::string{std::istreambuf_iterator<char>{file}, {}}, {}, false};
    drop_line_end(found.value);
    if (found.value.empty())
        found.problem = "the file " + path + " is empty; write the secret to it";
    return found;
}

/// A shell with a command, in a process group of its own, whose output is ours to read.
class Shell {
public:
    explicit Shell(const std::string& command) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
        output_ = ends[0];
        try {
            pid_ = spawn({.command = {"/bin/sh", "-c", command},
                          .environment = own_environment(),
                          .output = ends[1]});
        } catch (const std::runtime_error&) {
            // runs() says so.
        }
        ::close(ends[1]);
    }
    ~Shell() {
        if (pid_ > 0) {
            ::kill(-pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
        if (output_ >= 0) ::close(output_);
    }
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;

    bool runs() const { return pid_ > 0; }
    /// False: it goes on beyond the deadline, or says more than any secret is long.
    bool read_all(std::string& said, LocalTime deadline) const {
        std::array<char, 4096> buffer{};
        while (said.size() <= kSaidMax) {
            const Duration left = deadline - system_clock().now();
            pollfd wanted{.fd = output_, .events = POLLIN, .revents = 0};
            const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
            const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(ms, 0)));
            if (ready < 0 && errno == EINTR) continue;
            if (ready <= 0) return false;
            const ssize_t size = ::read(output_, buffer.data(), buffer.size());
            if (size < 0 && errno == EINTR) continue;
            if (size <= 0) return true;
            said.append(buffer.data(), static_cast<std::size_t>(size));
        }
        return false;
    }
    /// How it ended, as waitpid() says it; nothing: it has not by then.
    std::optional<int> end(LocalTime deadline) {
        int status = -1;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (system_clock().now() >= deadline) return std::nullopt;
            ::poll(nullptr, 0, 1);
        }
        pid_ = -1;
        return status;
    }

private:
    static constexpr std::size_t kSaidMax = 64 * 1024;

    pid_t pid_ = -1;
    int output_ = -1;
};

FoundSecret from_command(const std::string& command, Duration deadline) {
    Shell shell{command};
    if (!shell.runs()) return {.problem = "the command cannot be run"};
    FoundSecret found;
    const LocalTime until = later(system_clock().now(), deadline);
    const auto status = shell.read_all(found.value, until) ? shell.end(until) : std::nullopt;
    if (!status) {
        return {.problem =
                    "the command did not end in time, or said too much; run it by hand to "
                    "see why"};
    }
    if (*status != 0) return {.problem = "the command failed; run it by hand to see why"};
    drop_line_end(found.value);
    if (found.value.empty()) found.problem = "the command printed nothing";
    return found;
}

}  // namespace

Environment process_environment() {
    Environment all;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
        const std::string_view text{*one};
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        all.emplace(text.substr(0, equals), text.substr(equals + 1));  // the first one counts
    }
    return all;
}

const std::string* variable(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : &found->second;
}

FoundSecret find_secret(const std::string& reference, const Environment& environment,
                        Duration command_deadline) {
    if (reference.starts_with("env:")) {
        const std::string* const value = variable(environment, reference.substr(4));
        if (value == nullptr) return {.problem = "is not set; export it, or use \"file:…\""};
        if (value->empty()) return {.problem = "is empty; export it with the secret"};
        return {*value, {}, false};
    }
    if (reference.starts_with("file:")) return from_file(reference.substr(5));
    if (reference.starts_with("cmd:")) return from_command(reference.substr(4), command_deadline);
    if (reference.empty()) return {.problem = "is empty; use \"env:NAME\""};
    return {reference, {}, true};
}

bool is_reference(const std::string& text) {
    return text.starts_with("env:") || text.starts_with("file:") || text.starts_with("cmd:");
}

std::string masked(const std::string& reference) {
    return is_reference(reference) ? reference : "***";
}

}  // namespace waybill::server
