#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

#include "fault/told.hpp"
#include "support/background.hpp"
#include "support/pacing.hpp"
#include "support/temporary_folder.hpp"

namespace waybill::fault {

/// How one instance is started.
struct Instance {
    std::string name{};
    std::string conninfo{};
    /// Of the box "orders", all with the same handler. Lanes are strict.
    std::string targets = "bill";
    std::chrono::milliseconds lease{3000};
    std::chrono::milliseconds beat{250};
    /// How long it waits for its handlers when it is told to end.
    std::chrono::milliseconds patience{30000};
    int partitions = 8;
    /// Handlers at the same time, per box.
    int slots = 64;
    bool wake_ups = true;
    /// Also the boxes "halting", "batches" and "exclusive", in which what failed comes back after an hour.
    bool more = false;
};

/// Starts instances as processes, hears what they tell, freezes and kills them.
///
/// Thread safety: none, but for hearing.
class Instances {
public:
    /// Nobody waits as long unless something broke.
    static constexpr std::chrono::seconds patience{60};

    Instances();
    ~Instances();
    Instances(const Instances&) = delete;
    Instances& operator=(const Instances&) = delete;

    void start(const Instance& instance);
    /// SIGKILL; returns when nothing of it runs any more and all it told is heard.
    void kill(const std::string& name);
    /// SIGSTOP; the same.
    void freeze(const std::string& name);
    void thaw(const std::string& name);
    bool is_alive(const std::string& name) const;
    /// SIGTERM; does not wait.
    void ask_to_end(const std::string& name);
    /// Until it has ended: its exit code, -1 for a signal.
    int wait_for_end(const std::string& name);
    int end(const std::string& name);
    /// What was done and not recorded may be done again from here on: the store has lost it.
    void note_failover() { note(Told::Kind::gone, "server"); }

    /// Until all that was told up to now is heard: what the store says may be newer.
    void catch_up() { note(Told::Kind::marked, "test"); }

    /// Handlers of "gate" messages wait until it is opened.
    void close_gate();
    void open_gate();

    struct Heard {
        Told told{};
        test::SteadyTime at{};
    };
    using Test = std::function<bool(const Told&)>;
    std::vector<Heard> heard();
    std::size_t count(const Test& test);
    /// How many lines were heard.
    std::size_t position();
    /// Until so many lines pass the test, since the beginning, or since a position: then nobody has to wait
    /// until a million old lines are looked at.
    bool wait_for(const Test& test, std::size_t times = 1,
                  std::chrono::steady_clock::duration at_most = patience, std::size_t since = 0);
    /// Until what has been heard, all of it, passes.
    bool wait_until(const std::function<bool(const std::vector<Heard>&)>& test,
                    std::chrono::steady_clock::duration at_most = patience);

private:
    void hear();
    void note(Told::Kind kind, const std::string& name);

    test::TemporaryFolder folder_{};
    int gate_ = -1;
    int to_us_ = -1;
    int from_them_ = -1;
    std::map<std::string, pid_t> processes_{};
    std::mutex mutex_{};  ///< guards heard_
    std::condition_variable changed_{};
    std::vector<Heard> heard_{};
    std::unique_ptr<test::Background> reader_{};
};

/// Tests for lines.
inline Instances::Test event(const std::string& what, const std::string& instance = "") {
    return [=](const Told& told) {
        return told.kind == Told::Kind::event && told.what == what &&
               (instance.empty() || told.instance == instance);
    };
}
inline Instances::Test ran(const std::string& instance = "") {
    return [=](const Told& told) {
        return told.kind == Told::Kind::run && (instance.empty() || told.instance == instance);
    };
}

}  // namespace waybill::fault
