#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "waybill/box.hpp"
#include "waybill/executor.hpp"
#include "waybill/observer.hpp"
#include "waybill/store.hpp"
#include "waybill/target.hpp"

/// The engine as a pure state machine: events in, commands out. It owns no clock, thread or socket;
/// a shell carries its commands out and feeds it what came of them. Production (core/runtime) and
/// simulation (tests/simulation) are two such shells around the same machine.
namespace waybill::engine {

/// Whoever is told only when the time of a stop is over has this long to obey.
inline constexpr Duration last_moment = std::chrono::seconds{2};

/// Of a box that does not say how many: to its own targets, most of which need a thread.
inline constexpr std::uint32_t handlers_at_once = 64;

struct LocalTarget {
    Target target{};
    TargetOptions options{};
};

struct LocalBox {
    std::string name{};
    BoxOptions options{};
    std::vector<LocalTarget> targets{};
    /// Carries out what is registered as a subscription. It outlives the engine.
    TargetFamily* family = nullptr;
};

struct Options {
    /// Shown to people as the owner.
    std::string name = "waybill";
    /// A silent instance keeps its partitions this long. 100 ms … 10 min.
    Duration lease = std::chrono::seconds{5};
    /// Pause between beats; below a third of the lease.
    Duration beat = std::chrono::seconds{1};
    /// Memory for scheduled messages, blocked lanes included.
    std::uint64_t window_bytes = 64ULL << 20;
    /// Pause between looks at the store while there is work, doubling up to poll_idle without any.
    Duration poll_active = std::chrono::milliseconds{20};
    Duration poll_idle = std::chrono::seconds{1};
    Duration shutdown_timeout = std::chrono::seconds{30};
    /// Open work is compared with memory this often; it must find nothing.
    Duration reconcile = std::chrono::minutes{5};
    /// Timed-out handlers that still run before this instance gives up.
    std::uint32_t abandoned_max = 8;
    /// A run-once host: takes what is free, is not counted, asks for nothing.
    bool guest = false;
    /// Partitions belong to leases (many instances), not to a file lock.
    bool leases = true;
    /// Rows and bytes of one page, rows of one settle. The first page of an increment may have more rows: a store that
    /// has no order of commit finds all of them at once, and what did not fit in another, slower way.
    std::uint32_t page_rows = 1000;
    std::uint32_t increment_rows = 4000;
    std::uint64_t page_bytes = 4ULL << 20;
    std::uint32_t settle_rows = 2000;
    /// So many results that others wait for are settled in two halves, 2 or more; by a store that needs no longer for each
    /// than the engine does.
    std::uint32_t settle_halves_from = 128;
    Duration settle_halves_quick = std::chrono::microseconds{3};
    /// Results that nobody waits for are settled a moment later, together with others. Not where time moves in
    /// somebody's hand: the moment may never come.
    bool company = true;
    /// Messages of one lane kept in memory; the rest waits in the store.
    std::uint32_t lane_rows = 64;
    /// Due times further ahead than this wait in the store.
    Duration due_ahead = std::chrono::minutes{1};
};

struct Config {
    Options options{};
    std::vector<LocalBox> boxes{};
};

Problems check(const Config& config);

using RunId = std::uint64_t;

/// The executor's own types: a run is handed through without being copied.
using RunItem = DeliveryItem;
using RunResult = DeliveryResult;
using RunResults = DeliveryResults;

/// Call the executor of a target once, with one message or a batch; answer with on_outcome exactly once.
struct Run {
    RunId id = 0;
    /// Indexes into Config::boxes and LocalBox::targets; one past the last for the box's family.
    std::uint32_t box = 0;
    std::uint32_t target = 0;
    /// Of the family's target.
    std::string key{};
    AttemptsLog attempts_log = AttemptsLog::failures;
    std::vector<RunItem> items{};
    /// To pass downstream, and for inline transactions.
    Fence fence{};
    /// When the attempt ends, whatever the handler does.
    LocalTime deadline{};
};

/// What came of a run: one result per item; nothing = the handler did not mention it: released, not
/// counted.
struct Completed {
    RunId run = 0;
    RunResults results{};
};

struct DeclareCall {
    std::vector<BoxDeclaration> boxes{};
    std::vector<Target> targets{};
};
struct TakeCall {
    Uuid self{};
    std::vector<TakeRequest> wanted{};
};
struct GiveCall {
    std::vector<GiveRequest> partitions{};
};
/// One store call of the serial channel. At most one is outstanding; its answer is on_channel.
using ChannelCall = std::variant<DeclareCall, TakeCall, GiveCall, ReadRequest, SettleBatch>;

struct Failure {
    Reaction reaction = Reaction::retry;
    std::string text{};
};
struct Declared {};
struct Given {};
using ChannelReply =
    std::variant<Declared, std::vector<Taken>, Given, ReadPage, SettleReply, Failure>;
using BeatAnswer = std::variant<BeatReply, Failure>;

/// What the shell must do now. Calls on the beat connection and on the channel go on side by side.
struct Commands {
    std::optional<InstanceState> beat{};
    std::optional<ChannelCall> channel{};
    std::vector<Run> runs{};
    /// Ask these runs to end (stop token); they still answer.
    std::vector<RunId> cancels{};

    bool empty() const { return !beat && !channel && runs.empty() && cancels.empty(); }
};

/// A message this instance has just appended, handed over with its body.
struct HandOver {
    MessagePtr message{};
    Sequence sequence = 0;
    PartitionId partition = 0;
    /// overtaking_reads() before the append was sent: one that went out or was answered since may
    /// have brought the message already. Then, or if that cannot be said, the hand-over is ignored.
    std::uint64_t reads_before = 0;
    /// See AppendResult, and how many rows it wrote: they follow each other.
    std::uint64_t transaction = 0;
    std::uint32_t transaction_rows = 0;
};

struct Status {
    bool ready = false;
    bool resigned = false;
    bool late = false;
    std::uint32_t partitions = 0;
    /// Entries in memory, and all the memory accounted for.
    std::uint64_t entries = 0;
    std::uint64_t window_used = 0;
    std::uint64_t running = 0;
    std::uint64_t ghosts = 0;
    std::uint64_t unsettled = 0;
    std::uint64_t blocked_lanes = 0;
    std::uint64_t reconciled = 0;
    std::uint32_t in_flight_max = 0;
    std::uint32_t chains_behind = 0;
    std::string refused{};
};

class Machine;

/// Thread safety: none; one thread at a time. `Random` and `Observer` are called on it.
/// Lifetime:      both references outlive the engine.
/// Errors:        throws ConfigError from the constructor; afterwards nothing.
class Engine {
public:
    Engine(Config config, Random& random, Observer& observer);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Begins to beat and to own. Once.
    void start(LocalTime now);
    /// No new starts; drains, gives everything back, then is_stopped(). Runs get cancelled: at once, or those
    /// that end by themselves when shutdown_timeout is over; then they have `last_moment`.
    void stop(LocalTime now);

    void on_tick(LocalTime now);
    /// A hint that the store has something new.
    void on_wake(LocalTime now);
    void on_beat(LocalTime now, BeatAnswer answer);
    void on_channel(LocalTime now, ChannelReply reply);
    void on_outcome(LocalTime now, RunId run, RunResults results);
    /// The same for all that ended together: decided once.
    void on_outcomes(LocalTime now, std::span<Completed> completed);
    void on_appended(LocalTime now, std::span<const HandOver> messages);

    /// What to do now; each command is handed out once. Call after every event until there is nothing: what the store
    /// is to do may come before the rest has been decided.
    Commands take_commands();
    /// When on_tick wants to be called next.
    LocalTime next_tick() const;

    /// Nothing runs, nothing waits to be settled, nothing known is due: for run-once hosts and tests.
    bool is_idle() const;
    bool is_stopped() const;
    /// Changes whenever a read is sent or answered that can bring a message before its hand-over.
    std::uint64_t overtaking_reads() const;
    Status status() const;
    const Uuid& incarnation() const;

private:
    std::unique_ptr<Machine> machine_;
};

}  // namespace waybill::engine
