#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "simulation/history.hpp"
#include "simulation/plan.hpp"
#include "simulation/sim_store.hpp"

namespace waybill::sim {

using ProcessNumber = std::int32_t;
inline constexpr ProcessNumber nobody = -1;

/// Holds a run against the promises, online. It hears what the store commits, what handlers are told
/// and answer, and keeps its own books: it asks the store for rows, never for verdicts.
///
/// checker.cpp: who owns, who hears; checker_append.cpp: I1, I3, I4, I12; checker_start.cpp: I6, I10, limits;
/// checker_settle.cpp: I2, I5, I7, I8, I9; checker_end.cpp: I2, I11, I17.
class Checker final : public Witness {
public:
    Checker(const Plan& plan, History& history, Mutation mutation)
        : plan_(plan), history_(history), mutation_(mutation) {}

    void watch(const SimStore& store) { store_ = &store; }
    void tell_time(Duration now) { now_ = now; }

    // Publishers.
    MessageNumber add_message(const Message& message);
    void on_acked(MessageNumber message);
    void on_answered(const Append& item, const AppendResult& result);
    void on_rolled_back(MessageNumber message);
    /// Nobody knows whether it was committed.
    void on_unknown(MessageNumber message);
    // Operators.
    void on_cancel_asked(const Uuid& message) { cancelled_.insert(message); }
    void on_skip_asked(const Uuid& message) { skipped_.insert(message); }
    void on_requeued(const DeadKey& key);
    /// What was open for it counts no longer, also if it is registered again.
    void on_forgotten(const std::string& box, const std::string& key);
    void note(const char* what, ProcessNumber process = -1, MessageNumber message = no_message,
              Sequence sequence = 0, std::string text = {});

    // Processes.
    void on_up(ProcessNumber process, const Uuid& incarnation, bool is_guest);
    void on_gone(ProcessNumber process, bool is_crash);
    void on_trouble(ProcessNumber process);
    /// A channel call of it went out.
    void on_call(ProcessNumber process) { processes_[process].call_since = now_; }
    void on_call_answered(ProcessNumber process);
    void on_paused(ProcessNumber process, bool is_paused);
    void on_trouble_everywhere();
    void on_clock_step();
    void on_page(ProcessNumber process, const ReadRequest& request, const ReadPage& page);
    /// Its last beat was answered.
    void on_heard(ProcessNumber process, const BeatReply& reply);
    void on_registry(ProcessNumber process, const std::vector<Target>& registry);
    void on_start(ProcessNumber process, const engine::Run& run, Duration deadline);
    void on_return(ProcessNumber process, engine::RunId run, const engine::RunResults& results);
    void on_status(ProcessNumber process, const engine::Status& status);
    void on_event(ProcessNumber process, const Event& event);
    void on_stopped(ProcessNumber process);

    // The end.
    /// Open rows that should be terminal by now.
    std::vector<const OpenRow*> unfinished() const;
    void at_end();
    void fail(std::string rule, std::string text, MessageNumber message = no_message);

    MessageNumber number_of(const Uuid& id) const;
    bool has_running(ProcessNumber process) const;
    bool has_ghosts(ProcessNumber process) const;
    std::vector<PartitionId> partitions_running(ProcessNumber process) const;

    // Witness.
    void on_sequence(Sequence sequence) override;
    void on_committed(const OpenRow& row) override;
    void on_taken(const PartitionRow& before, const Taken& taken, bool held,
                  Duration begun) override;
    void on_given(const PartitionRow& before, const GiveRequest& give) override;
    void on_settlement(const Fence& fence, const Settlement& item, const OpenRow* row) override;
    void on_settled(const SettleBatch& batch) override;
    void on_inline(const InlineRequest& request, InlineResult::Record record) override;
    void on_dead_removed(const DeadKey& key) override;
    void on_promoted(const Database& lost) override;

private:
    struct MessageFacts {
        Message message{};
        bool acked = false;
        bool committed = false;
        bool rolled_back = false;
        bool was_lost = false;  ///< in a failover
        bool unknown = false;
        StoreTime dedup_until{};
        std::uint32_t alone_deaths = 0;
    };
    /// One (message, target), over all its generations.
    struct DeliveryFacts {
        std::uint32_t starts = 0;
        std::uint32_t fails = 0;
        bool done = false;
        bool hopeless = false;  ///< the handler said permanent, or Dead
    };
    struct ActiveRun {
        ProcessNumber process = 0;
        engine::RunId id = 0;
        std::uint32_t box = 0;
        std::string target{};
        std::string chain{};
        Fence fence{};
        Duration deadline{};
        std::vector<MessageNumber> messages{};
    };
    struct ProcessFacts {
        Uuid incarnation{};
        bool up = false;
        bool guest = false;
        bool paused = false;
        Duration trouble{};
        std::optional<Duration> call_since{};
        Duration last_return{};
        std::vector<Target> registry{};
        std::vector<std::string> paused_boxes{};
        /// Of targets with a rate, within the last second.
        std::map<std::string, std::deque<Duration>> starts{};
        using Rows = std::set<std::pair<PartitionId, Sequence>>;
        /// What it must know; rows of scans and lanes only once a whole increment has followed,
        /// because the slow look back, and a lane read for one chain, leave them to the increments.
        Rows read{};
        Rows scanned{};
        Rows before_increment{};
    };
    /// A call of it ignores the deadline that an adapter would have had.
    bool is_stuck(const ProcessFacts& process, Duration now) const;
    using DeliveryId = std::pair<MessageNumber, std::string>;

    const BoxPlan& box_plan(const std::string& name) const;
    const TargetPlan* target_plan(const BoxPlan& box, const std::string& key) const;
    static std::string chain_of(const std::vector<Target>& registry, const std::string& box,
                                const std::string& key);
    static bool is_requeued(const Entry& entry, const Target& target);
    static std::vector<const Target*> matching(const std::vector<Target>& registry,
                                               const Entry& entry);
    /// Its own or one under a former key.
    static const Progress* progress_of(const Entry& entry, const Target& target);
    bool is_current(const Fence& fence) const;
    std::uint32_t allowed_failures(MessageNumber message, const std::string& target) const;
    bool chain_is_open(const std::vector<Target>& registry, const Entry& entry,
                       const std::string& chain) const;

    void check_token(ProcessNumber process, const engine::Run& run);
    void check_row(const engine::Run& run, const engine::RunItem& item, const Target& target);
    void check_chain(ProcessNumber process, const engine::RunItem& item, const OpenRow& row,
                     const Target& target);
    void check_order(ProcessNumber process, const ActiveRun& run, const engine::RunItem& item,
                     const OpenRow& row, const std::set<Sequence>& same_run);
    void check_overlap(const ActiveRun& run);
    void check_times(const engine::RunItem& item);
    void check_limits(const ActiveRun& run, const TargetPlan& target);
    void check_progress(const Settlement& item, const Entry& entry);
    void check_dead(const Settlement& item, const Entry& entry);
    void check_halt(const Settlement& item, const Entry& entry);
    void check_finish(const Settlement& item, const Entry& entry);
    bool is_collapsed(const Settlement& item, const Entry& entry) const;
    std::set<MessageNumber> running_in(ProcessNumber process) const;
    void count_lonely_deaths(const PartitionRow& owned, const std::set<MessageNumber>& running);
    bool is_behind_halt(const OpenRow& row, const std::string& chain) const;

    const Plan& plan_;
    History& history_;
    Mutation mutation_;
    const SimStore* store_ = nullptr;
    Duration now_{};
    Duration clock_stepped_ = -std::chrono::hours{1};
    bool clock_ever_stepped_ = false;
    Sequence last_sequence_ = 0;
    std::vector<MessageFacts> messages_{};
    std::map<Uuid, MessageNumber> numbers_{};
    std::map<DeliveryId, DeliveryFacts> deliveries_{};
    std::map<ProcessNumber, ProcessFacts> processes_{};
    std::vector<ActiveRun> active_{};
    std::map<PartitionId, Token> tokens_{};
    std::map<std::string, MessageNumber> dedup_{};
    std::set<Uuid> cancelled_{};
    std::set<Uuid> skipped_{};
    std::set<DeadKey> letters_{};
    std::set<std::pair<std::string, std::string>> forgotten_{};
    /// When a row that was parked got its place in its lane.
    std::map<std::pair<PartitionId, Sequence>, Duration> unparked_{};
    /// What each incarnation had in flight when it ended.
    std::map<Uuid, std::set<MessageNumber>> died_with_{};
};

}  // namespace waybill::sim
