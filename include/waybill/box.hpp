#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "waybill/problems.hpp"
#include "waybill/time.hpp"

namespace waybill {

/// What order means within a lane.
enum class Lanes {
    none,       ///< lanes are ignored
    exclusive,  ///< one in flight per lane; a failed head may be overtaken while it backs off
    strict,     ///< the head blocks its lane through back-off, crash and restart
};

/// What a strict lane does when its head dies.
enum class OnDead { advance, halt };

/// What becomes of a message that no registered target matches.
enum class Unmatched {
    park,  ///< waits, without holding its lane, until a matching target is registered
    done,
    dead,
};

/// Which attempts are kept as lines of the log.
enum class AttemptsLog { none, failures, all };

/// The policies of a box: a named durable stream.
struct BoxOptions {
    Lanes lanes = Lanes::strict;
    OnDead on_dead = OnDead::advance;
    Unmatched unmatched = Unmatched::park;
    /// How long a dedup key is remembered, exactly. `forever` or more than zero.
    Duration dedup_window = forever;
    /// How long a finished message can be looked up. Zero: deleted when done.
    Duration keep_done = std::chrono::hours{24 * 7};
    /// How long a dead letter is kept. Zero drops what dies: say it only if you mean it.
    Duration keep_dead = forever;
    AttemptsLog attempts_log = AttemptsLog::failures;
    /// How long a line of the attempt log is kept; it goes with its message at the latest.
    Duration keep_attempts = forever;
    /// Running deliveries of this box in this instance, requests to subscriptions included. 1 … 100,000. 0: 64 to
    /// its own targets; and of requests to subscriptions, which need no thread, 4,096 in all such boxes together.
    std::uint32_t concurrency = 0;
    /// Partitions the box is cut into when it is first declared; 0 = the store's default. 0 … 1,024.
    std::uint32_t partitions = 0;
    /// Larger bodies are refused at append. 1 byte … 256 MiB.
    std::uint64_t body_bytes_max = 16ULL << 20;

    bool operator==(const BoxOptions&) const = default;
};

/// Box names: 1 … 128 of [A-Za-z0-9_.-].
bool is_box_name(std::string_view name);
/// All problems of a box's name and options.
Problems check(std::string_view name, const BoxOptions& options);

}  // namespace waybill
