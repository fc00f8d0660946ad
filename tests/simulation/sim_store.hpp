#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/database.hpp"
#include "simulation/mutation.hpp"
#include "waybill/inline.hpp"

namespace waybill::sim {

/// A text with this in it cannot be stored. Printable, so that no cleaning on the way removes it.
inline constexpr std::string_view unstorable = "{unstorable}";

/// Hears of every commit, at the moment it happens.
class Witness {
public:
    virtual ~Witness() = default;
    /// A sequence was drawn.
    virtual void on_sequence(Sequence sequence) = 0;
    /// New open work became visible.
    virtual void on_committed(const OpenRow& row) = 0;
    /// `held`: the owner's lease had not run out.
    /// `begun`: when the taker locked the row of the former owner.
    virtual void on_taken(const PartitionRow& before, const Taken& taken, bool held,
                          Duration begun) = 0;
    virtual void on_given(const PartitionRow& before, const GiveRequest& give) = 0;
    /// Just before it is applied; `row` is what is there.
    virtual void on_settlement(const Fence& fence, const Settlement& item, const OpenRow* row) = 0;
    /// After all of a settle was applied.
    virtual void on_settled(const SettleBatch& batch) = 0;
    virtual void on_inline(const InlineRequest& request, InlineResult::Record record) = 0;
    virtual void on_dead_removed(const DeadKey& key) = 0;
    /// A dead letter of a halted head was traded for a command.
    virtual void on_promoted(const Database& lost) = 0;
};

/// A database in memory with what PostgreSQL has and the memory store has not: transactions that stay
/// open, snapshots, locks that are held for a while, and a standby that may be promoted too early.
/// Calls that hold locks come in two steps: begin (which may be told to wait) and finish.
///
/// Thread safety: none.
/// Lifetime:      the witness outlives it.
/// Errors:        none; faults are the world's business.
class SimStore {
public:
    using TxId = std::uint64_t;

    SimStore(Witness& witness, Mutation mutation, bool is_in_order)
        : witness_(witness), mutation_(mutation), is_in_order_(is_in_order) {}

    const Database& db() const { return db_; }
    std::string generation() const { return "g" + std::to_string(timeline_); }
    StoreTime clock(Duration now) const { return StoreTime{kBoot + now + step_}; }
    void step_clock(Duration by) { step_ += by; }
    void tell_time(Duration now) { now_ = now; }

    // Publishing. A transaction that is gone (failover) answers nothing or false.
    TxId begin_tx(std::int32_t instance);
    /// Nothing: the key is held by an open transaction; try later.
    std::optional<AppendResult> append(TxId tx, const Append& item);
    bool commit_tx(TxId tx);
    void rollback_tx(TxId tx);

    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets);
    /// A settle that judged by the registry holds it until its commit.
    Duration declare_waits_until() const {
        return registry_held_ >= now_ ? registry_held_ : Duration{};
    }

    /// Zero or the moment the row is free.
    Duration beat_waits_until(const Uuid& incarnation) const;
    BeatReply beat(const InstanceState& state);
    void hold_liveness(const Uuid& incarnation, Duration until) { liveness_[incarnation] = until; }

    struct TakeTicket {
        std::uint32_t timeline = 0;
        Uuid self{};
        Duration begun{};
        std::vector<Taken> granted{};
    };
    Duration take_waits_until(std::span<const TakeRequest> wanted) const;
    TakeTicket begin_take(const Uuid& self, std::span<const TakeRequest> wanted, Duration hold);
    std::optional<std::vector<Taken>> finish_take(const TakeTicket& ticket);
    void give(std::span<const GiveRequest> partitions);
    Duration give_waits_until(std::span<const GiveRequest> partitions) const;

    ReadPage read(const ReadRequest& request, std::int32_t instance);
    /// As `lanes` was this long ago: rows younger than that are left out.
    ReadPage read_old_lanes(const ReadRequest& request, Duration age);

    struct SettleTicket {
        std::uint32_t timeline = 0;
        SettleBatch batch{};
        std::vector<Fence> accepted{};
        SettleReply reply{};
    };
    static bool is_storable(const SettleBatch& batch);
    Duration settle_waits_until(const SettleBatch& batch) const;
    SettleTicket begin_settle(const SettleBatch& batch, Duration hold);
    std::optional<SettleReply> finish_settle(const SettleTicket& ticket);

    Duration inline_waits_until(const InlineRequest& request) const;
    InlineResult::Record commit_inline(const InlineRequest& request);

    bool forget_target(const std::string& box, const std::string& key);
    bool requeue(const Uuid& message, const std::string& target);
    bool discard(const Uuid& message, const std::string& target);
    bool command(const Command& command);
    void pause(const std::string& box, bool paused);
    void expire_open(Duration age);

    /// The standby stands still here; a later promote() goes back to it.
    void mark_standby() { standby_ = db_; }
    void promote();

private:
    struct Transaction {
        Xid xid = 0;
        std::int32_t instance = -1;
        std::vector<OpenRow> rows{};
        std::map<std::string, DedupRow> keys{};
    };
    struct Lock {
        Duration shared_until{};
        Duration exclusive_until{};
    };

    bool is(Mutation mutation) const { return mutation_ == mutation; }
    bool is_alive(const Uuid& incarnation, bool honest = false) const;
    bool matches_fence(const Fence& fence) const;
    Duration free_at(PartitionId partition, bool exclusive) const;
    Snapshot snapshot(std::int32_t instance) const;
    std::string dedup_name(const Append& item) const;
    const DedupRow* find_key(const Transaction& own, const std::string& name, bool& is_held) const;
    Sequence draw_sequence();
    /// In order: from its first sequence to its commit a transaction keeps all others from theirs.
    bool must_wait_to_write(const Transaction* own) const;
    Sequence committed_through() const;
    void commit_row(OpenRow row);
    void leave(Command command);
    PartitionState describe(const PartitionRow& row) const;
    void blame(PartitionId partition);
    void apply(const Settlement& item);
    ReadPage increment(const ReadRequest& request, std::int32_t instance);
    ReadPage scan(const ReadRequest& request, bool parked);
    ReadPage due(const ReadRequest& request);
    ReadPage lanes(const ReadRequest& request, Duration not_after);

    static constexpr Duration kBoot = std::chrono::hours{24 * 365 * 50};

    Witness& witness_;
    Mutation mutation_;
    const bool is_in_order_;
    std::uint64_t lane_reads_ = 0;
    Database db_{};
    Database standby_{};
    std::uint32_t timeline_ = 1;
    Duration step_{};
    Duration now_{};
    TxId next_tx_ = 1;
    std::map<TxId, Transaction> transactions_{};
    std::map<PartitionId, Lock> locks_{};
    std::map<Uuid, Duration> liveness_{};
    Duration registry_held_{};
};

}  // namespace waybill::sim
