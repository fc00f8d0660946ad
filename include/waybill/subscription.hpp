#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/http.hpp"
#include "waybill/problems.hpp"
#include "waybill/target.hpp"
#include "waybill/uuid.hpp"
#include "waybill/webhook.hpp"

/// Who wants to hear of what is published, and how to tell them.
namespace waybill {

/// What signs requests, for as long as it does. While one rotates there are several.
struct SubscriptionSecret {
    std::string value{};
    StoreTime until = store_never;

    bool operator==(const SubscriptionSecret&) const = default;
};

/// An endpoint and what it gets. To the engine it is a target like any other: its own attempts, its own
/// order in each lane, its own dead letters.
struct Subscription {
    Uuid id{};
    std::string box = "outbox";
    /// Patterns as in Matcher.
    std::string type = "*";
    /// Empty: all. "default": those that no other subscription of the box names.
    std::string tenant{};
    std::string url{};
    /// Empty of secrets: unsigned, but what the message is is said all the same.
    std::vector<webhook::HeaderSet> signing{webhook::HeaderSet::standard};
    /// Newest first.
    std::vector<SubscriptionSecret> secrets{};
    HttpHeaders headers{};
    RetryPolicy retry{};
    /// For a whole attempt. 100 ms … 10 min.
    Duration timeout = std::chrono::seconds{30};
    /// Requests under way at once, across instances. 1 … 1,000.
    std::uint32_t concurrency = 8;
    /// Requests a second, across instances. 0: no limit.
    double rate = 0.0;
    /// What an answer of 400 to 499 means, but for 408, 410, 425 and 429.
    enum class ClientErrors : std::uint8_t { retry, dead } client_errors = ClientErrors::retry;
    /// One that fails without a single success for so long, and often enough, is disabled. `forever`: never.
    Duration disable_after = std::chrono::hours{5 * 24};
    /// `paused` by people, `disabled` by its own answers or by people. Messages wait in either.
    enum class State : std::uint8_t { active, paused, disabled } state = State::active;
    /// Why it is not active.
    std::string reason{};
    /// Messages published before this are not sent any more: dead letters, "skipped".
    StoreTime skip_before{};
    /// For people.
    std::string description{};
    StoreTime created_at{};
    StoreTime changed_at{};
    /// It stands in a configuration, and cannot be changed elsewhere.
    bool is_static = false;
    /// What keeps it from being used, whoever wrote it: its secrets are sealed with another key, say. It is
    /// held meanwhile.
    std::string problem{};

    bool operator==(const Subscription&) const = default;
};

/// "active", "paused", "disabled"
std::string_view to_string(Subscription::State state);
/// "retry", "dead"
std::string_view to_string(Subscription::ClientErrors errors);

/// All problems of it at once.
Problems check(const Subscription& subscription);

/// "subscription:" and its id.
std::string key_of(const Subscription& subscription);
/// How the registry knows it.
Target target_of(const Subscription& subscription);
/// Its messages wait, and nobody meant them to for a while only: it has a problem, or is disabled.
bool is_unusable(const Subscription& subscription);
/// Its messages wait.
bool is_held(const Subscription& subscription);
/// How it is run.
TargetOptions options_of(const Subscription& subscription);

/// Of one that stands in a configuration: the same as long as what it wants is the same, wherever it goes.
/// `ordinal` tells those apart that want the same.
Uuid static_subscription_id(const Subscription& subscription, std::uint32_t ordinal);

}  // namespace waybill
