#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "waybill/box.hpp"
#include "waybill/message.hpp"
#include "waybill/ownership.hpp"
#include "waybill/target.hpp"
#include "waybill/work.hpp"

/// The seam to a database: the hot path. People's questions are in catalogue.hpp, housekeeping in
/// upkeep.hpp; one adapter class may implement all three.
namespace waybill {

/// What the caller should do about a failed store call.
enum class Reaction : std::uint8_t {
    retry,      ///< nothing was applied; the same call may work at once (deadlock, busy)
    reconnect,  ///< nothing was applied; the connection is gone
    back_off,   ///< nothing was applied; the store needs time (full, read-only, starting)
    find_out,   ///< the commit was sent and its answer lost: it may or may not have been applied
    bad_data,   ///< some value in the call can never be stored; others may be
    give_up,    ///< a person must act (no such table, no permission)
};

/// A store call failed; the reaction says whether anything may have been applied and what to do.
class StoreError : public std::runtime_error {
public:
    StoreError(Reaction reaction, const std::string& what)
        : std::runtime_error(what), reaction_(reaction) {}
    Reaction reaction() const { return reaction_; }

private:
    Reaction reaction_;
};

/// A message on its way into the store, with what the store must know of its box.
struct Append {
    /// id, box and type are set.
    MessagePtr message{};
    /// Where the dedup key is unique. Only looked at when the message has one.
    std::string dedup_scope{};
    Duration dedup_window = forever;
    /// SHA-256 of the body, when there is a dedup key.
    std::string body_hash{};
};

/// What became of one appended message.
struct AppendResult {
    enum class Status : std::uint8_t {
        fresh,      ///< new, and durable
        duplicate,  ///< the key was there with the same body; as durable as a fresh one
        conflict,   ///< the key was there with another body; the first one stays
        unknown,    ///< the answer was lost: look the id up, or append again with the same key
    };
    Status status = Status::fresh;
    /// Of this message, or of the first one with its key.
    Uuid id{};
    /// fresh: its place and partition.
    Sequence sequence = 0;
    PartitionId partition = 0;
    /// duplicate, conflict: the first one ended as a dead letter.
    bool first_is_dead = false;
    /// fresh: which transaction wrote it, all of whose rows are in the same answer; for ReadRequest::known. 0: the
    /// store cannot leave it out of an increment.
    std::uint64_t transaction = 0;

    bool operator==(const AppendResult&) const = default;
};

/// A box as a store gets to know it.
struct BoxDeclaration {
    std::string name{};
    BoxOptions options{};
};

/// What a store can do; the conformance suite adapts and says what it left out.
struct Capabilities {
    /// Instances share it and are told dead by their lease; otherwise one process owns all of it.
    bool many_instances = true;
    bool survives_restart = true;
    bool user_transactions = false;
    std::uint32_t default_partitions = 1;
    /// More than these wait for each other.
    std::uint32_t appends_at_once = 1;
};

/// Every call is synchronous, does one batch, ends within the adapter's own deadline and throws
/// StoreError. Nothing is applied partly.
///
/// Thread safety: `append` from any thread; `beat` from one thread; take, give, read and settle from
///                one other thread (they are one serial channel); `on_wake` before the first call.
/// Lifetime:      outlives every engine on it.
/// Errors:        StoreError, whose reaction says what to do.
class Store {
public:
    virtual ~Store() = default;

    virtual Capabilities capabilities() const = 0;

    /// All or none, in this order, in one commit. Doubles inside the batch are answered as such.
    virtual std::vector<AppendResult> append(std::span<const Append> batch) = 0;

    /// Makes boxes and targets known. Idempotent; an existing box keeps its partitions. A changed
    /// matcher replaces the registered one; targets are only removed by Catalogue::forget_target.
    virtual void declare(std::span<const BoxDeclaration> boxes,
                         std::span<const Target> targets) = 0;

    /// Renews the instance's liveness and tells who else is alive. `state.stopping` with nothing
    /// owned any more takes the instance off the list.
    virtual BeatReply beat(const InstanceState& state) = 0;

    /// Takes each partition that is still as it was seen and whose owner is gone (or is `self`);
    /// those refused are missing from the answer. Committed when it returns: scan only after that.
    virtual std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) = 0;
    /// Gives back partitions whose token still matches; others are ignored.
    virtual void give(std::span<const GiveRequest> partitions) = 0;

    virtual ReadPage read(const ReadRequest& request) = 0;

    /// Applies the items of partitions whose token matches, all in one commit.
    virtual SettleReply settle(const SettleBatch& batch) = 0;

    /// The store calls this, from any thread, when there may be something new that was not appended
    /// through this very connection: who appends hands over. Hints may be lost.
    virtual void on_wake(std::function<void()> wake) = 0;
};

}  // namespace waybill
