#include "server/targets/command_target.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.hpp"
#include "server/child_process.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

constexpr Duration kDeferDelay = std::chrono::seconds{30};
constexpr std::size_t kErrorsBytesMax = 2'000;
/// How often a waiting process is asked about its deadline.
constexpr int kLookMs = 50;
/// From SIGTERM to SIGKILL. Shorter than what an engine gives at the end of a stop.
constexpr int kLastWordsMs = 500;

class Pipe {
public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int read_end() const { return ends_[0]; }
    int write_end() const { return ends_[1]; }
    void close_read() { close(ends_[0]); }
    void close_write() { close(ends_[1]); }

private:
    static void close(int& end) {
        if (end >= 0) ::close(std::exchange(end, -1));
    }
    std::array<int, 2> ends_{-1, -1};
};

struct Descriptor {
    explicit Descriptor(int opened) : number(opened) {}
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    const int number;
};

constexpr std::string_view kMessageId = "WAYBILL_MESSAGE_ID";
constexpr std::string_view kAttempt = "WAYBILL_ATTEMPT";
constexpr std::string_view kAttribute = "WAYBILL_ATTRIBUTE_";
constexpr std::array<std::pair<std::string_view, std::string Message::*>, 8> kFields{
    {{"WAYBILL_BOX", &Message::box},
     {"WAYBILL_TYPE", &Message::type},
     {"WAYBILL_SOURCE", &Message::source},
     {"WAYBILL_TENANT", &Message::tenant},
     {"WAYBILL_USER", &Message::user},
     {"WAYBILL_LANE", &Message::lane},
     {"WAYBILL_CORRELATION_ID", &Message::correlation_id},
     {"WAYBILL_CONTENT_TYPE", &Message::content_type}}};

std::string variable_name(std::string_view attribute) {
    std::string name{kAttribute};
    for (const char c : attribute) {
        const bool lower = c >= 'a' && c <= 'z';
        const bool plain = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name += lower ? static_cast<char>(c - 'a' + 'A') : plain ? c : '_';
    }
    return name;
}

/// Ours, without secrets, and without what somebody could mistake for this message's.
std::vector<std::string> inherited(const std::vector<std::string>& hidden) {
    std::vector<std::string> variables = own_environment();
    std::erase_if(variables, [&](std::string_view text) {
        const std::string_view name = text.substr(0, text.find('='));
        return name.starts_with("WAYBILL_") || std::ranges::find(hidden, name) != hidden.end();
    });
    return variables;
}

std::vector<std::string> environment_for(const Message& message, const Context& context,
                                         const std::vector<std::string>& hidden) {
    std::vector<std::string> variables = inherited(hidden);
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) variables.push_back(std::string{name} + "=" + value);
    };
    add(kMessageId, to_string(message.id));
    for (const auto& [name, field] : kFields) add(name, message.*field);
    add(kAttempt, std::to_string(context.attempt()));
    for (const auto& [name, value] : message.attributes) add(variable_name(name), value);
    return variables;
}

/// Takes what there is to read. False: there is no more, ever.
bool read_some(int end, std::string& said) {
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(end, buffer.data(), buffer.size());
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    said.append(buffer.data(), static_cast<std::size_t>(size));
    if (said.size() > kErrorsBytesMax) said.erase(0, said.size() - kErrorsBytesMax);
    return true;
}

enum class End : std::uint8_t { by_itself, out_of_time, unwanted };

/// Feeds the body and gathers the errors, until the program has ended: others that it started may keep
/// the pipe open.
End converse(Pipe& input, Pipe& errors, int ended, std::string_view body, std::string& said,
             const Context& context) {
    ::fcntl(input.write_end(), F_SETFL, O_NONBLOCK);
    ::fcntl(errors.read_end(), F_SETFL, O_NONBLOCK);
    if (body.empty()) input.close_write();
    for (;;) {
        const End verdict = context.time_left() <= Duration{} ? End::out_of_time
                            : context.stop_requested()        ? End::unwanted
                                                              : End::by_itself;
        // Closed ends are -1, which poll passes over.
        std::array<pollfd, 3> waiting{
            {{ended, POLLIN, 0}, {errors.read_end(), POLLIN, 0}, {input.write_end(), POLLOUT, 0}}};
        ::poll(waiting.data(), waiting.size(), verdict == End::by_itself ? kLookMs : 0);
        if (waiting[2].revents != 0) {
            const ssize_t written = ::write(input.write_end(), body.data(), body.size());
            if (written > 0) body.remove_prefix(static_cast<std::size_t>(written));
            // A program that does not want the rest may still succeed.
            if (body.empty() || (written < 0 && errno != EAGAIN)) input.close_write();
        }
        if (waiting[1].revents != 0 && !read_some(errors.read_end(), said)) errors.close_read();
        if (waiting[0].revents != 0) {
            // What it said last may still be in the pipe, which holds no more than 64 KiB.
            for (int page = 0; page < 16 && errors.read_end() >= 0; ++page) {
                if (!read_some(errors.read_end(), said)) errors.close_read();
            }
            return End::by_itself;
        }
        // Only now: one that has ended meanwhile has done its work, and would do it twice.
        if (verdict != End::by_itself) return verdict;
    }
}

/// Until it has ended, and so has whatever it started: those hold its standard error. One that does not
/// is not waited for.
void ask_to_end(pid_t child, Pipe& errors, int ended, std::string& said) {
    ::kill(-child, SIGTERM);
    const LocalTime until = later(system_clock().now(), std::chrono::milliseconds{kLastWordsMs});
    while (ended >= 0 || errors.read_end() >= 0) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - system_clock().now());
        if (left <= Duration{}) return;
        std::array<pollfd, 2> waiting{{{ended, POLLIN, 0}, {errors.read_end(), POLLIN, 0}}};
        ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
        if (waiting[0].revents != 0) ended = -1;
        if (waiting[1].revents != 0 && !read_some(errors.read_end(), said)) errors.close_read();
    }
}

}  // namespace

void RunningCommands::began(pid_t child) {
    const std::lock_guard lock{mutex_};
    if (is_closed_) ::kill(-child, SIGKILL);
    children_.insert(child);
}

void RunningCommands::ended(pid_t child) {
    const std::lock_guard lock{mutex_};
    children_.erase(child);
}

void RunningCommands::kill_all() {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    for (const pid_t child : children_) ::kill(-child, SIGKILL);
}

bool is_message_variable(std::string_view name) {
    const auto is_it = [&](const auto& field) { return field.first == name; };
    return name == kMessageId || name == kAttempt || name.starts_with(kAttribute) ||
           std::ranges::any_of(kFields, is_it);
}

Outcome outcome_of_exit(int wait_status, const std::string& errors) {
    // Programs end what they say with a line end; a reason has none.
    const std::string text = errors.substr(0, errors.find_last_not_of(" \t\r\n") + 1);
    const std::string said = text.empty() ? "" : ": " + clean_text(text, kErrorsBytesMax);
    if (WIFSIGNALED(wait_status)) {
        return Fail{.reason = "ended by signal " + std::to_string(WTERMSIG(wait_status)) + said};
    }
    switch (WEXITSTATUS(wait_status)) {
        case 0: return Done{};
        case 65: return Dead{.reason = "exit code 65" + said};
        case 75: return Defer{.delay = kDeferDelay};
        default:
            return Fail{.reason = "exit code " + std::to_string(WEXITSTATUS(wait_status)) + said};
    }
}

Handler command_target(std::vector<std::string> command, std::vector<std::string> hidden,
                       std::shared_ptr<RunningCommands> running) {
    return [command = std::move(command), hidden = std::move(hidden), running = std::move(running)](
               const Message& message, Context& context) -> Outcome {
        Pipe input;
        Pipe errors;
        const pid_t child = spawn({.command = command,
                                   .environment = environment_for(message, context, hidden),
                                   .input = input.read_end(),
                                   .errors = errors.write_end()});
        running->began(child);
        input.close_read();
        errors.close_write();
        const Descriptor ended{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
        std::string said;
        const End end = ended.number < 0
                            ? End::out_of_time
                            : converse(input, errors, ended.number, message.body, said, context);
        if (end == End::unwanted) ask_to_end(child, errors, ended.number, said);
        if (end != End::by_itself) ::kill(-child, SIGKILL);
        // Before it is waited for: afterwards its number may be somebody else's.
        running->ended(child);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (end == End::by_itself) return outcome_of_exit(status, said);
        return Fail{.reason = "took too long and was killed"};
    };
}

}  // namespace waybill::server
