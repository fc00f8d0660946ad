#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/outcome.hpp"
#include "waybill/ownership.hpp"

/// Open work: what is not finished, as the store keeps it and as its owner reads and settles it.
namespace waybill {

/// The durable memory of one delivery, written only once something happened to it.
struct Progress {
    enum class State : std::uint8_t { ready, done, dead };
    std::string target{};
    State state = State::ready;
    std::uint32_t failures = 0;
    /// ready: not before this moment.
    StoreTime due{};
    std::string last_error{};
    /// dead: its lane goes on all the same (an operator skipped or cancelled it).
    bool skipped = false;

    bool operator==(const Progress&) const = default;
};

/// One row of open work with its message.
struct Entry {
    PartitionId partition = 0;
    /// The place in the box. A requeued message has a new row with a new sequence.
    Sequence sequence = 0;
    /// Never null.
    MessagePtr message{};
    /// The message's row is gone, and `message` has nothing but its id and box: dead at once. Its
    /// letter has no target; the store keeps what it needs to show it.
    bool missing = false;
    /// The earliest moment any of its deliveries may run.
    StoreTime due{};
    std::vector<Progress> progress{};
    /// Not empty: exactly these targets (a requeue, and what had died because of it).
    std::vector<std::string> only{};
    /// How often an operator requeued it: the generation of its deliveries.
    std::uint32_t requeues = 0;
    /// A strict lane stopped here when its head died, until requeue or skip.
    bool halted = false;
    /// No registered target matched.
    bool parked = false;
    /// How often it was alone in flight when its owner died.
    std::uint32_t strikes = 0;
    /// It was started alone, under this epoch, and has not ended. 0: no.
    std::uint64_t solo_epoch = 0;

    bool operator==(const Entry&) const = default;
};

/// A delivery that ends as a dead letter. The store adds its own copy of the message.
struct DeadLetter {
    Uuid message{};
    Sequence sequence = 0;
    std::string target{};
    std::string reason{};
    std::uint32_t failures = 0;
    std::uint32_t requeues = 0;
    /// It died with this target, which it runs after; requeueing that one revives it. Empty: by itself.
    std::string because{};
    StoreTime at{};

    bool operator==(const DeadLetter&) const = default;
};

/// A line of the attempt log; (message, target, requeues, number) is its identity, so that writing
/// it twice is writing it once.
struct Attempt {
    Uuid message{};
    std::string target{};
    std::uint32_t requeues = 0;
    /// 1-based.
    std::uint32_t number = 1;
    enum class Result : std::uint8_t { done, failed, dead } result = Result::done;
    StoreTime at{};
    Duration took{};
    std::string error{};
    /// What the executor wants people to see of it, as JSON; empty: nothing.
    std::string detail{};

    bool operator==(const Attempt&) const = default;
};

/// The result of work on one row, as absolute values: repeating it after an unknown answer changes
/// nothing.
struct Settlement {
    PartitionId partition = 0;
    Sequence sequence = 0;
    /// A row that holds another message is not touched.
    Uuid message{};
    /// The row goes. Otherwise the fields below replace what it had.
    bool finish = false;
    /// With finish: the message row goes too (nothing of it is to be kept, or it collapsed).
    bool drop_message = false;
    /// The deliveries that changed; others keep what they have.
    std::vector<Progress> progress{};
    StoreTime due{};
    bool halted = false;
    bool parked = false;
    std::uint32_t strikes = 0;
    std::uint64_t solo_epoch = 0;
    std::uint32_t requeues = 0;
    std::vector<DeadLetter> dead{};
    /// Targets whose dead letters of this message are withdrawn, before those of `dead` are written:
    /// they run again in the same place. `requeues` is then larger than the row's, or it was applied
    /// before; with finish it need not be.
    std::vector<std::string> revived{};
    std::vector<Attempt> attempts{};
};

/// An operator's wish that only the owner can grant.
struct Command {
    enum class Kind : std::uint8_t {
        cancel,  ///< end all open deliveries of `message` as dead letters "cancelled"
        skip,    ///< the halted head `sequence` leaves its lane; its dead letter stays
        resume,  ///< requeue of a halted head: `target` of `sequence` runs again in its old place
    };
    std::uint64_t id = 0;
    PartitionId partition = 0;
    Kind kind = Kind::cancel;
    Uuid message{};
    Sequence sequence = 0;
    std::string target{};

    bool operator==(const Command&) const = default;
};

/// The owner's answer to a command.
struct CommandResult {
    std::uint64_t id = 0;
    PartitionId partition = 0;
    bool carried_out = false;
    /// For people: what happened, or why not.
    std::string text{};

    bool operator==(const CommandResult&) const = default;
};

/// A partition and the proof that it is ours.
struct Fence {
    PartitionId partition = 0;
    Token token{};

    bool operator==(const Fence&) const = default;
};

/// Results on their way into the store: all in one commit, those of a lost partition not at all.
struct SettleBatch {
    /// The registry the sender judged by. If the store's is newer nothing is applied: a message must
    /// not be finished before the sender knows all targets it was for.
    std::uint64_t registry_version = 0;
    std::vector<Fence> fences{};
    std::vector<Settlement> items{};
    std::vector<CommandResult> commands{};
};

/// Partitions whose token had moved: nothing of them was applied.
struct SettleReply {
    std::vector<PartitionId> lost{};
    /// Nothing was applied: learn the registry (beat) and settle again.
    bool registry_stale = false;
};

/// Where an instance is in what it has read: the store's own encoding, empty at first.
using Position = std::string;

/// A lane of a partition, to be read from some place on.
struct LaneRef {
    PartitionId partition = 0;
    std::string lane{};
    /// Rows from this sequence on.
    Sequence from = 0;
};

/// What the owner asks the store for: one page of one kind.
struct ReadRequest {
    enum class Kind : std::uint8_t {
        increment,  ///< what became visible since `position`, in all `partitions`. Empty position: only answers one
        scan,    ///< `partition` in sequence order after `after`, parked rows left out
        due,     ///< `partitions`: rows due in (due_from, due_until], by (due, sequence)
        lanes,   ///< the first `lane_rows` rows of each of `lanes`
        parked,  ///< `partition`: parked rows in sequence order after `after`
    };
    Kind kind = Kind::increment;
    std::vector<PartitionId> partitions{};
    Position position{};
    /// increment: the asker has all rows up to here; only of a store that said `complete_through`.
    Sequence known_through = 0;
    /// increment: the asker needs no row of these transactions; they are left out. See AppendResult::transaction.
    std::vector<std::uint64_t> known{};
    PartitionId partition = 0;
    Sequence after = 0;
    /// due: with `after` the place to go on from: rows with (due, sequence) > (due_from, after).
    StoreTime due_from{};
    StoreTime due_until{};
    std::vector<LaneRef> lanes{};
    std::uint32_t lane_rows = 64;
    std::uint32_t rows_max = 1000;
    std::uint64_t bytes_max = 4ULL << 20;
};

/// The answer to a ReadRequest.
struct ReadPage {
    std::vector<Entry> entries{};
    /// increment: where the next one goes on.
    Position position{};
    /// increment: all rows up to here have been returned or are gone, and no other will ever appear
    /// among them. Nothing: the store cannot say, because its sequence is not its order of commit.
    std::optional<Sequence> complete_through{};
    /// The page was full (rows or bytes): ask again at once. Of lanes also: what is in them is not known yet.
    bool more = false;
    /// increment: unanswered commands for `partitions`.
    std::vector<Command> commands{};
    std::string generation{};
    /// The connection is a new one since the last read: what was asked before may be missing.
    bool reconnected = false;
    StoreTime now{};
};

}  // namespace waybill
