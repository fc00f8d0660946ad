#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/target.hpp"
#include "waybill/work.hpp"

namespace waybill {

/// Which messages or dead letters a person means. Empty fields match everything.
struct Filter {
    enum class State : std::uint8_t { any, open, parked, done, dead };
    State state = State::any;
    std::string box{};
    /// Wildcards as in Matcher.
    std::string type{};
    std::string source{};
    std::string tenant{};
    std::string target{};
    /// Dead letters whose reason contains this.
    std::string reason{};
    StoreTime since{};
    StoreTime until = store_never;
    /// The other way round: see Catalogue::browse.
    bool oldest_first = false;

    bool operator==(const Filter&) const = default;
};

/// A line of a listing.
struct MessageSummary {
    MessagePtr message{};
    Filter::State state = Filter::State::open;
    StoreTime appended_at{};
    /// The highest generation any of its deliveries was given by a requeue or a replay.
    std::uint32_t requeues = 0;
    bool operator==(const MessageSummary&) const = default;
};

/// Everything a store knows of a message.
struct MessageDetail {
    MessageSummary summary{};
    std::vector<Entry> open{};
    std::vector<DeadLetter> dead{};
    std::vector<Attempt> attempts{};
};

/// A dead letter as a person reads it.
struct DeadLetterDetail {
    DeadLetter letter{};
    /// Its own copy, body included.
    MessagePtr message{};
    /// A decimal number that grows from letter to letter, without leading zeros: a page after it
    /// begins with the next one.
    std::string cursor{};
};

/// (message, target): one delivery.
struct DeliveryRef {
    Uuid message{};
    std::string target{};
    bool operator==(const DeliveryRef&) const = default;
};

/// Part of a listing.
template <class Item>
struct Page {
    std::vector<Item> items{};
    /// Empty: that was all.
    std::string next{};
};

/// A cursor that no listing gave: nothing is guessed, least of all the first page.
class InvalidCursor : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// A box as the store knows it.
struct BoxState {
    std::string name{};
    bool paused = false;
    /// Messages, as in StoreHealth.
    std::uint64_t open = 0;
    std::uint64_t parked = 0;

    bool operator==(const BoxState&) const = default;
};

/// What became of a person's order.
struct OperationResult {
    bool carried_out = false;
    std::string text{};
    bool operator==(const OperationResult&) const = default;
};

/// What people ask of a store and tell it to do. Slower than the hot path and never in its way.
class Catalogue {
public:
    virtual ~Catalogue() = default;

    /// Newest first, unless the filter says otherwise. `cursor` is empty or what a page said is next; InvalidCursor for anything else.
    virtual Page<MessageSummary> browse(const Filter& filter, const std::string& cursor,
                                        std::uint32_t rows_max) = 0;
    /// Oldest first. The same of its cursor.
    virtual Page<DeadLetterDetail> dead_letters(const Filter& filter, const std::string& cursor,
                                                std::uint32_t rows_max) = 0;
    virtual std::optional<MessageDetail> get(const Uuid& id) = 0;
    /// Messages, or with state dead: dead letters.
    virtual std::uint64_t count(const Filter& filter) = 0;

    /// Each dead letter becomes new work of the next generation at the tail, together with those
    /// that died because of it. For a halted head its owner is told to run it again in its old place,
    /// and the letter stays until that is done. Refused where there is none. One answer per delivery.
    virtual std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) = 0;
    /// Each delivery that has ended becomes new work for its target alone, at the tail, of a
    /// generation that nothing of its message had before; a dead one is requeued. Refused when the
    /// message is not kept any more, the target is not registered or does not match it, the delivery
    /// has not ended, or its lane is halted at the message. One answer per delivery.
    virtual std::vector<OperationResult> replay(std::span<const DeliveryRef> deliveries) = 0;
    /// Deletes dead letters. Refused where there is none, and while a halted lane stands at it: the
    /// letter is what people find the lane by. Skip or resume it first.
    virtual std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) = 0;

    /// Leaves a command for the partition's owner (its id and partition are filled in) and returns
    /// its number; 0 when there is nothing to command.
    virtual std::uint64_t command(const Command& command) = 0;
    /// Nothing while the owner has not answered.
    virtual std::optional<CommandResult> command_result(std::uint64_t id) = 0;

    /// All that were ever declared, by name.
    virtual std::vector<BoxState> boxes() = 0;
    /// False: no such box.
    virtual bool pause_box(const std::string& box, bool paused) = 0;
    virtual std::vector<Target> targets() = 0;
    /// How many open rows this target has yet to end, whoever may run it. Looks at every open row of
    /// its box.
    virtual std::uint64_t waiting_for(const Target& target) = 0;
    /// Its open deliveries count no longer. False: no such target.
    virtual bool forget_target(const std::string& box, const std::string& key) = 0;
};

}  // namespace waybill
