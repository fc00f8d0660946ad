#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "server/config/config.hpp"
#include "waybill/deliver.hpp"
#include "waybill/intake.hpp"
#include "waybill/observer.hpp"

/// What is counted while the server works.
namespace waybill::server {

using Counter = std::atomic<std::uint64_t>;

inline void count(Counter& counter) noexcept {
    counter.fetch_add(1, std::memory_order_relaxed);
}

/// Rows of counters that only grow, one row per name. A row stays where it is, also when the name has
/// left the configuration: what was counted does not go back.
///
/// Thread safety: any thread.
template <std::size_t Columns>
class CounterTable {
public:
    using Row = std::array<Counter, Columns>;
    /// More names than that are counted together.
    static constexpr std::size_t rows_max = 1'000;

    /// That name's own.
    Row& row(const std::string& name) {
        const std::lock_guard lock{mutex_};
        if (const auto found = rows_.find(name); found != rows_.end()) return found->second;
        return rows_.size() < rows_max ? rows_[name] : rest_;
    }
    /// Of nobody, and of those who have none.
    Row& rest() { return rest_; }
    /// By name; the rest has the empty one and comes last.
    void for_each(const std::function<void(const std::string& name, const Row& row)>& visit) const {
        const std::lock_guard lock{mutex_};
        for (const auto& [name, row] : rows_) visit(name, row);
        visit({}, rest_);
    }

private:
    mutable std::mutex mutex_;  ///< guards which rows there are
    std::map<std::string, Row> rows_{};
    Row rest_{};
};

/// What becomes of webhooks: IntakeReport::outcome, and a last one for a word that is not here.
inline constexpr std::array<std::string_view, 20> webhook_outcomes{
    "accepted",     "duplicate",       "conflict",      "handshake",
    "missing",      "malformed",       "bad-signature", "stale",
    "forbidden",    "unreadable-body", "misconfigured", "method-not-allowed",
    "encoded-body", "body-too-large",  "overloaded",    "store-unavailable",
    "internal",     "unknown-outcome", "not-found",     "other"};
inline constexpr std::size_t event_kinds = static_cast<std::size_t>(Event::Kind::stopped) + 1;
/// Of HTTP; what has no such number is counted as the first.
inline constexpr std::size_t http_statuses = 600;

/// As a target's name: subscriptions are counted together, or every customer would be a series. No configured
/// key begins so.
inline constexpr std::string_view all_subscriptions = "subscription:*";

/// Everything counted since the process began. A reload goes on with it.
struct Metrics {
    /// By target, then by Event::Kind.
    CounterTable<event_kinds> events{};
    /// By source, then as in webhook_outcomes.
    CounterTable<webhook_outcomes.size()> webhooks{};
    std::array<Counter, http_statuses> answers{};

    /// Connections turned away before they could ask anything: too many in all, or from one address.
    Counter turned_away_in_all{0};
    Counter turned_away_per_address{0};

    /// Webhooks out by the status of their answer.
    std::array<Counter, http_statuses> sent{};
    /// Those without one: by "timeout", or for one that was blocked by "blocked loopback".
    CounterTable<1> unsent{};

    void count_delivery(const DeliveryReport& report) noexcept;
    /// As the door tells it.
    void count_access(unsigned status, std::string_view outcome) noexcept;
};

/// Counts for one generation, whose targets and sources it knows: nobody waits for anybody.
///
/// Thread safety: any thread.
/// Lifetime:      the metrics outlive it.
class GenerationCounts final : public Observer {
public:
    GenerationCounts(Metrics& metrics, const Config& config);
    void on_event(const Event& event) noexcept override;
    void on_webhook(const IntakeReport& report) noexcept;

private:
    template <std::size_t Columns>
    using Known = std::map<std::string, typename CounterTable<Columns>::Row*, std::less<>>;

    Metrics& metrics_;
    CounterTable<event_kinds>::Row& subscriptions_;
    Known<event_kinds> targets_{};
    Known<webhook_outcomes.size()> sources_{};
};

}  // namespace waybill::server
