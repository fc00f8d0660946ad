#pragma once

#include <cstdint>
#include <string_view>

#include "waybill/message.hpp"
#include "waybill/ownership.hpp"

namespace waybill {

/// Everything that happens in an engine, as it happens. Tests wait on these, metrics count them.
struct Event {
    enum class Kind : std::uint8_t {
        owned,          ///< a partition was taken
        scanned,        ///< its first scan is complete
        lost,           ///< its token moved
        given,          ///< it was given back
        lease_late,     ///< the lease ran out locally: no starts until it is renewed
        lease_renewed,  ///< after having been late
        rescan,         ///< a reconnect or a new timeline: everything is read again
        started,        ///< a delivery (count: attempt)
        done,           ///< a delivery is durably done
        failed,  ///< an attempt (text: reason, count: failures); after the last one `died` follows
        deferred,
        died,            ///< a delivery is durably a dead letter (text: reason)
        released,        ///< an attempt that counts for nothing
        timed_out,       ///< an attempt reached its timeout; its thread may still run
        ghost_returned,  ///< a run that had timed out or lost its partition came back
        finished,        ///< a message: all its deliveries are terminal, durably
        parked,
        unparked,
        collapsed,  ///< replaced by a younger message
        halted,     ///< a strict lane stopped at its dead head
        resumed,
        struck,             ///< it was alone in flight when its owner died
        fused,              ///< this instance runs carefully (count: how many in flight)
        settle_failed,      ///< it will be repeated (text: why)
        settle_unstorable,  ///< a text that could not be stored was replaced
        read_failed,
        beat_failed,
        accepted,  ///< the store carries out again what it had refused (text: what)
        behind,    ///< a chain of a partition left memory and catches up from the store
        caught_up,
        reconciled,   ///< a row that should have been known and was not: must never happen
        resigned,     ///< too many abandoned threads: this instance gives up
        hook_failed,  ///< a stop hook threw (text: what); heard on the thread that stops
        stopped,
    };
    Kind kind{};
    PartitionId partition = 0;
    Sequence sequence = 0;
    Uuid message{};
    std::string_view target{};
    std::string_view text{};
    std::uint64_t count = 0;
};

/// Called on the engine's own thread: return quickly, throw nothing.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_event(const Event& event) noexcept = 0;
};

/// The name of a kind, as above.
std::string_view to_string(Event::Kind kind);

}  // namespace waybill
