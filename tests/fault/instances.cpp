#include "fault/instances.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace waybill::fault {
namespace {

/// Where a child writes: kTold of child.cpp.
constexpr int kTold = 3;

pid_t spawn(const std::vector<std::string>& arguments, int to_us) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to_us, kTold);
    std::vector<char*> values;
    for (const std::string& argument : arguments) {
        values.push_back(const_cast<char*>(argument.c_str()));
    }
    values.push_back(nullptr);
    pid_t child = -1;
    const int failed =
        ::posix_spawn(&child, values[0], &actions, nullptr, values.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error{"cannot start " + arguments[0]};
    return child;
}

int waited(pid_t process, int options) {
    int status = 0;
    while (::waitpid(process, &status, options) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace

Instances::Instances() {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
    from_them_ = pipe[0];
    // dup2 onto itself would keep close-on-exec: out of the way.
    to_us_ = ::fcntl(pipe[1], F_DUPFD_CLOEXEC, kTold + 1);
    ::close(pipe[1]);
    gate_ = ::open(folder_.file("gate").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    reader_ = std::make_unique<test::Background>([this](const std::stop_token&) { hear(); });
}

Instances::~Instances() {
    for (const auto& [name, process] : processes_) {
        ::kill(process, SIGKILL);
        waited(process, 0);
    }
    ::close(to_us_);
    reader_.reset();
    ::close(from_them_);
    ::close(gate_);
}

void Instances::start(const Instance& instance) {
    const auto number = [](auto value) { return std::to_string(value); };
    processes_[instance.name] = spawn(
        {WAYBILL_FAULT_CHILD, "name=" + instance.name, "conninfo=" + instance.conninfo,
         "targets=" + instance.targets, "lease=" + number(instance.lease.count()),
         "beat=" + number(instance.beat.count()), "patience=" + number(instance.patience.count()),
         "partitions=" + number(instance.partitions), "slots=" + number(instance.slots),
         std::string{"wake_ups="} + (instance.wake_ups ? "1" : "0"),
         std::string{"more="} + (instance.more ? "1" : "0"), "gate=" + folder_.file("gate")},
        to_us_);
}

void Instances::note(Told::Kind kind, const std::string& name) {
    const std::string line = Told{.kind = kind, .instance = name}.line();
    const std::size_t since = position();
    [[maybe_unused]] const auto written = ::write(to_us_, line.data(), line.size());
    wait_for([&](const Told& told) { return told.kind == kind && told.instance == name; }, 1,
             patience, since);
}

void Instances::kill(const std::string& name) {
    const pid_t process = processes_.at(name);
    ::kill(process, SIGKILL);
    waited(process, 0);
    processes_.erase(name);
    note(Told::Kind::gone, name);
}

void Instances::freeze(const std::string& name) {
    const pid_t process = processes_.at(name);
    ::kill(process, SIGSTOP);
    waited(process, WUNTRACED);
    note(Told::Kind::frozen, name);
}

void Instances::thaw(const std::string& name) {
    note(Told::Kind::thawed, name);
    ::kill(processes_.at(name), SIGCONT);
}

bool Instances::is_alive(const std::string& name) const {
    siginfo_t info{};
    // Left for whoever waits for it.
    const auto process = static_cast<id_t>(processes_.at(name));
    return ::waitid(P_PID, process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void Instances::ask_to_end(const std::string& name) {
    ::kill(processes_.at(name), SIGTERM);
}

int Instances::wait_for_end(const std::string& name) {
    const int status = waited(processes_.at(name), 0);
    processes_.erase(name);
    note(Told::Kind::gone, name);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int Instances::end(const std::string& name) {
    ask_to_end(name);
    return wait_for_end(name);
}

void Instances::close_gate() {
    ::flock(gate_, LOCK_EX);
}

void Instances::open_gate() {
    ::flock(gate_, LOCK_UN);
}

void Instances::hear() {
    std::string held;
    std::array<char, 65536> bytes{};
    for (;;) {
        const ssize_t count = ::read(from_them_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        held.append(bytes.data(), static_cast<std::size_t>(count));
        const auto now = test::steady_now();
        const std::lock_guard lock{mutex_};
        std::size_t begin = 0;
        for (std::size_t end = held.find('\n'); end != std::string::npos;
             end = held.find('\n', begin)) {
            heard_.push_back({Told::parse(held.substr(begin, end - begin)), now});
            begin = end + 1;
        }
        held.erase(0, begin);
        changed_.notify_all();
    }
}

std::vector<Instances::Heard> Instances::heard() {
    const std::lock_guard lock{mutex_};
    return heard_;
}

std::size_t Instances::count(const Test& test) {
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(
        std::ranges::count_if(heard_, [&](const Heard& heard) { return test(heard.told); }));
}

std::size_t Instances::position() {
    const std::lock_guard lock{mutex_};
    return heard_.size();
}

bool Instances::wait_for(const Test& test, std::size_t times,
                         std::chrono::steady_clock::duration at_most, std::size_t since) {
    std::unique_lock lock{mutex_};
    std::size_t looked = since;
    std::size_t passed = 0;
    return changed_.wait_for(lock, at_most, [&] {
        for (; looked < heard_.size(); ++looked) passed += test(heard_[looked].told) ? 1U : 0U;
        return passed >= times;
    });
}

bool Instances::wait_until(const std::function<bool(const std::vector<Heard>&)>& test,
                           std::chrono::steady_clock::duration at_most) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, at_most, [&] { return test(heard_); });
}

}  // namespace waybill::fault
