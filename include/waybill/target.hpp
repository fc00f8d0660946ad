#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/backoff.hpp"
#include "waybill/message.hpp"
#include "waybill/problems.hpp"

namespace waybill {

/// Which messages a target wants, as data, so that an instance without the handler's code can still
/// tell. `*` matches any run of characters; matching is case-insensitive. Empty text matches only
/// itself or a pattern of stars.
struct Matcher {
    std::string type = "*";
    std::string source = "*";
    std::string tenant = "*";

    bool operator==(const Matcher&) const = default;
};

/// As a tenant: every tenant that no other target of the box names, and messages without one.
inline constexpr std::string_view other_tenants = "!";

/// Pure wildcard match; at most text × pattern steps, no backtracking blow-up.
bool matches(std::string_view pattern, std::string_view text);
/// All three patterns match. `other_tenants` matches any: who else is named is for who knows the others.
bool matches(const Matcher& matcher, const Message& message);

/// Keys of subscriptions begin so: targets that come and go while instances run, all of them carried out by
/// one executor, a TargetFamily.
inline constexpr std::string_view subscription_prefix = "subscription:";

/// What a successor does when the target it runs after died.
enum class AfterDead { block, go_on };

/// A target as the store's registry knows it: a message is done when all registered matching
/// targets are, whichever instance has their code.
struct Target {
    std::string box{};
    /// Stable identity of a delivery; survives renames of code. 1 … 200 characters.
    std::string key{};
    Matcher matcher{};
    /// Former keys: progress recorded under them counts for this target.
    std::vector<std::string> legacy_keys{};
    /// Runs only when that target is done. Empty: independent.
    std::string after{};
    AfterDead after_dead = AfterDead::block;

    bool operator==(const Target&) const = default;
};

/// Its key, or a former one.
bool is_named(const Target& target, std::string_view key);

/// Whether a message is for a target, among all that are registered: `other_tenants` depends on the others.
bool wants(const Target& target, const Message& message, std::span<const Target> registry);

/// How often, and after which pauses.
struct RetryPolicy {
    /// Attempts in total, the first included. 1 … 1,000.
    std::uint32_t max_attempts = 5;
    Backoff backoff{};

    bool operator==(const RetryPolicy&) const = default;
};

/// How deliveries are handed to an executor.
enum class Calls {
    single,        ///< one message per call
    batch,         ///< up to batch_max messages of one type per call
    inline_single  ///< one message inside the store's transaction: exactly-once effects
};

/// The local half of a target: how this instance runs it.
struct TargetOptions {
    RetryPolicy retry{};
    /// One attempt may take this long; then it counts as failed. 1 ms … 24 h.
    Duration timeout = std::chrono::seconds{30};
    /// Running deliveries across all live instances (divided by them). 0 = only the box's limit.
    std::uint32_t concurrency = 0;
    /// Starts per second across all live instances (divided by them). 0 = no limit.
    double rate = 0.0;
    Calls calls = Calls::single;
    /// For Calls::batch. 1 … 10,000.
    std::uint32_t batch_max = 100;
    /// Nothing of it starts; what comes for it waits, in its order.
    bool held = false;
    /// At a stop what runs is not told at once: it has `shutdown_timeout` to end, counts as it ends, and
    /// is told when that is over. For what knows nothing of us: a program, somebody else's answer.
    bool ends_by_itself = false;

    bool operator==(const TargetOptions&) const = default;
};

/// All problems of a target by itself.
Problems check(const Target& target, const TargetOptions& options);
/// Problems between the targets of one box: doubled keys or legacy keys, unknown or circular `after`.
Problems check_together(std::span<const Target> targets);

}  // namespace waybill
