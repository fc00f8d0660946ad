#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/checker.hpp"
#include "simulation/mutant.hpp"
#include "simulation/plan.hpp"
#include "simulation/sim_store.hpp"

namespace waybill::sim {

struct Fate {
    enum class Kind : std::uint8_t { fine, not_applied, answer_lost };
    Kind kind = Kind::fine;
    engine::Failure failure{};
    Duration out{};
    Duration hold{};
    Duration back{};
};

/// A call of the channel on its way.
struct Flight {
    ProcessNumber process = 0;
    std::uint64_t life = 0;
    engine::ChannelCall call{};
    Fate fate{};
    Duration sent{};
    /// It is stuck somewhere in the network until then.
    Duration stuck_until{};
};

/// One instance of the application, from start to crash or exit, and again.
struct Process {
    ProcessNumber number = 0;
    bool is_guest = false;
    bool is_new_version = true;
    /// The version of this life.
    bool runs_new_version = true;
    /// Grows with each start: what belongs to an earlier life is dropped.
    std::uint64_t life = 0;
    bool up = false;
    bool paused = false;
    bool stopping = false;
    Duration stop_asked{};
    Duration started{};
    /// Its boot clock against the world's.
    Duration boot{};
    std::unique_ptr<Dice> dice{};
    std::unique_ptr<Observer> observer{};
    std::unique_ptr<Mutant> mutant{};
    std::unique_ptr<engine::Engine> engine{};
    std::map<engine::RunId, engine::Run> runs{};
    /// What arrives while it is paused.
    std::vector<std::function<void()>> held{};
    Duration resumed_at{};
    bool reconnected = false;
    /// Some handler of this life will never return.
    bool hangs_for_ever = false;
    std::shared_ptr<Flight> flight{};
    Duration tick_at{};
    bool tick_pending = false;
};

struct Behaviour {
    enum class Kind : std::uint8_t {
        succeed,
        fail,
        permanent,
        dead,
        defer,
        hang,
        hang_for_ever,
        slow,
        crash_once,
        poison
    };
    Kind kind = Kind::succeed;
    std::uint32_t times = 1;
    Duration takes{};
    bool bad_text = false;
};

/// One thread, virtual time, one seed: processes with engines, a store, publishers, operators and
/// whoever pulls the cables.
///
/// world.cpp: time and phases; world_process.cpp: life of a process; world_calls.cpp: calls of the
/// store; world_handlers.cpp; world_publish.cpp; world_faults.cpp: faults and operators.
class World {
public:
    World(std::uint64_t seed, Mutation mutation, bool trace);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Runs to the end or to the first violation.
    void run();
    const History& history() const { return history_; }
    std::uint64_t events() const { return events_; }
    Duration now() const { return now_; }

private:
    struct Event {
        Duration at{};
        std::uint64_t tie = 0;
        std::uint64_t serial = 0;
        std::function<void()> act{};
    };
    static bool is_later(const Event& a, const Event& b) {
        return std::tie(a.at, a.tie, a.serial) > std::tie(b.at, b.tie, b.serial);
    }

    // world.cpp
    void at(Duration when, std::function<void()> act);
    void after(Duration delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }
    bool step();
    void run_until(Duration when);
    void end_faults();
    void forget_retired();
    void wait_for_quiet();
    void stop_all();
    void watch();
    bool has_violation() const { return history_.violation().has_value(); }

    // world_process.cpp
    Process& process(ProcessNumber number) { return *processes_[static_cast<std::size_t>(number)]; }
    LocalTime local(const Process& process) const { return LocalTime{now_ + process.boot}; }
    void start(Process& process);
    void crash(Process& process);
    void exit(Process& process);
    void stop(Process& process);
    void pause(Process& process, Duration length);
    void restart_later(Process& process, Duration delay);
    /// Does it in that life of that process, when it is not paused, and carries out what follows.
    void in_process(ProcessNumber number, std::uint64_t life, std::function<void(Process&)> act);
    void pump(Process& process);
    void arm_tick(Process& process);
    void strand_flight(Process& process);

    // world_calls.cpp
    Fate draw_fate(const Process* process);
    Duration latency();
    void send_beat(Process& process, InstanceState state);
    void arrive_beat(ProcessNumber number, std::uint64_t life, const InstanceState& state,
                     Fate fate);
    void send_call(Process& process, engine::ChannelCall call);
    void arrive(const std::shared_ptr<Flight>& flight);
    void arrive_take(const std::shared_ptr<Flight>& flight, const engine::TakeCall& take);
    void arrive_settle(const std::shared_ptr<Flight>& flight, const SettleBatch& batch);
    void answer(const std::shared_ptr<Flight>& flight, engine::ChannelReply reply);
    /// To everybody, but not to `except`.
    void hint(ProcessNumber except = nobody);

    // world_handlers.cpp
    Behaviour behaviour_of(MessageNumber message, const TargetPlan& target) const;
    void begin_run(Process& process, engine::Run run);
    void cancel_run(Process& process, engine::RunId id);
    engine::RunResult result_of(const Behaviour& behaviour, std::uint32_t attempt);
    void finish_run(Process& process, engine::RunId id);
    void answer_run(ProcessNumber number, std::uint64_t life, engine::RunId id,
                    engine::RunResults results, Duration delay);
    void commit_inline(ProcessNumber number, std::uint64_t life, const engine::Run& run, Fate fate);

    // world_publish.cpp
    struct Publication {
        std::vector<Append> items{};
        std::uint32_t tries = 0;
    };
    void plan_publications();
    Append make_message();
    void publish_in_transaction(std::vector<Append> items);
    void publish_directly(Publication publication);
    void arrive_append(const std::shared_ptr<Publication>& publication, ProcessNumber number,
                       std::uint64_t life, std::uint64_t reads_before, Fate fate);
    void try_again(Publication publication);
    void append_unknown(const std::shared_ptr<Publication>& publication);

    // world_faults.cpp
    void disturb();
    void operate();
    void fail_over();
    void step_clock();
    Process& any_process() { return *processes_[dice_.index(processes_.size())]; }

    const Plan plan_;
    const Mutation mutation_;
    History history_;
    Checker checker_;
    SimStore store_;
    Dice dice_;
    Dice order_;
    Duration now_{};
    std::uint64_t serial_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t events_now_ = 0;
    std::vector<Event> queue_{};
    std::vector<std::unique_ptr<Process>> processes_{};
    bool faults_on_ = true;
    bool restarts_on_ = true;
    bool failover_pending_ = false;
    Duration outage_until_{};
    std::uint32_t open_publications_ = 0;
    std::map<std::pair<MessageNumber, std::string>, std::uint32_t> attempts_{};
    std::set<MessageNumber> poisons_{};
    std::vector<Uuid> published_{};
    std::vector<Append> sent_keys_{};
};

}  // namespace waybill::sim
