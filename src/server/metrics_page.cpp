#include "server/metrics_page.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

#include <unistd.h>

#include "core/version.hpp"
#include "server/exposition.hpp"

namespace waybill::server {
namespace {

using Kind = Event::Kind;

std::uint64_t read(const Counter& counter) {
    return counter.load(std::memory_order_relaxed);
}

struct KindFamily {
    Kind kind{};
    std::string_view name{};
    std::string_view help{};
};

constexpr std::array kByTarget{
    KindFamily{Kind::started, "waybill_attempts_started_total", "Attempts that were started."},
    KindFamily{Kind::failed, "waybill_attempts_failed_total",
               "Attempts that failed; they are repeated, or the delivery dies."},
    KindFamily{Kind::timed_out, "waybill_attempts_timed_out_total",
               "Attempts that reached their timeout."},
    KindFamily{Kind::released, "waybill_attempts_released_total",
               "Attempts that count for nothing, such as those a stop interrupted."},
    KindFamily{Kind::deferred, "waybill_attempts_deferred_total",
               "Attempts whose target asked for another time."},
    KindFamily{Kind::done, "waybill_deliveries_done_total", "Deliveries that are durably done."},
    KindFamily{Kind::died, "waybill_deliveries_died_total", "Deliveries that became dead letters."},
};

constexpr std::array kOfMessages{
    KindFamily{Kind::finished, "waybill_messages_finished_total",
               "Messages all of whose deliveries have ended."},
    KindFamily{Kind::collapsed, "waybill_messages_collapsed_total",
               "Messages replaced by a younger one."},
    KindFamily{Kind::parked, "waybill_messages_parked_total", "Messages no target matched."},
    KindFamily{Kind::unparked, "waybill_messages_unparked_total",
               "Parked messages that found a target."},
    KindFamily{Kind::halted, "waybill_lanes_halted_total",
               "Lanes that stopped at a dead head; somebody has to skip or resume it."},
    KindFamily{Kind::resumed, "waybill_lanes_resumed_total", "Halted lanes that went on."},
};

/// Rare, and each worth a look: observer.hpp says what they mean.
constexpr std::array kTrouble{Kind::lost,           Kind::lease_late,    Kind::rescan,
                              Kind::ghost_returned, Kind::struck,        Kind::fused,
                              Kind::behind,         Kind::settle_failed, Kind::settle_unstorable,
                              Kind::read_failed,    Kind::beat_failed,   Kind::reconciled,
                              Kind::resigned};

/// Shown before the first of them: a counter that appears with 1 has not grown in Prometheus' eyes.
constexpr std::array kUsualStatuses{200U, 202U, 400U, 401U, 404U, 405U, 408U,
                                    413U, 415U, 429U, 431U, 500U, 503U};

std::uint64_t total(const Metrics& metrics, Kind kind) {
    std::uint64_t sum = 0;
    metrics.events.for_each([&](const std::string&, const auto& row) {
        sum += read(row[static_cast<std::size_t>(kind)]);
    });
    return sum;
}

void write_webhooks(Exposition& page, const Metrics& metrics) {
    page.counter("waybill_webhooks_total",
                 "Webhooks by source and what became of them; no source: there is no such one.");
    metrics.webhooks.for_each([&](const std::string& source, const auto& row) {
        for (std::size_t i = 0; i < webhook_outcomes.size(); ++i) {
            const std::string_view outcome = webhook_outcomes[i];
            const bool is_usual = !source.empty() && outcome != "not-found" && outcome != "other";
            if (!is_usual && read(row[i]) == 0) continue;
            page.sample(read(row[i]), {{"source", source}, {"outcome", outcome}});
        }
    });
}

void write_engine_counts(Exposition& page, const Metrics& metrics) {
    for (const KindFamily& family : kByTarget) {
        page.counter(family.name, family.help);
        metrics.events.for_each([&](const std::string& target, const auto& row) {
            const std::uint64_t value = read(row[static_cast<std::size_t>(family.kind)]);
            if (!target.empty() || value > 0) page.sample(value, {{"target", target}});
        });
    }
    for (const KindFamily& family : kOfMessages) {
        page.counter(family.name, family.help);
        page.sample(total(metrics, family.kind));
    }
    page.counter("waybill_engine_events_total", "What happens rarely and is worth a look.");
    for (const Kind kind : kTrouble) {
        page.sample(total(metrics, kind), {{"event", to_string(kind)}});
    }
}

void write_sent(Exposition& page, const Metrics& metrics) {
    page.counter("waybill_webhooks_sent_total",
                 "Requests to subscriptions by the status of their answer.");
    for (unsigned status = 0; status < http_statuses; ++status) {
        const std::uint64_t value = read(metrics.sent[status]);
        if (status == 200 || value > 0) page.sample(value, {{"status", std::to_string(status)}});
    }
    page.counter("waybill_webhooks_unanswered_total",
                 "Requests to subscriptions without an answer; blocked: by the egress guard, and "
                 "its verdict.");
    metrics.unsent.for_each([&](const std::string& why, const auto& row) {
        const std::size_t space = why.find(' ');
        if (read(row[0]) == 0) return;
        page.sample(
            read(row[0]),
            {{"failure", why.substr(0, space)},
             {"verdict", space == std::string::npos ? std::string{} : why.substr(space + 1)}});
    });
}

void write_door(Exposition& page, const Metrics& metrics, const Levels& levels) {
    page.counter("waybill_http_requests_total",
                 "Answered requests of all kinds by status, those refused at the door included.");
    for (unsigned status = 0; status < http_statuses; ++status) {
        const std::uint64_t value = read(metrics.answers[status]);
        const bool is_usual = std::ranges::find(kUsualStatuses, status) != kUsualStatuses.end();
        if (is_usual || value > 0) page.sample(value, {{"status", std::to_string(status)}});
    }
    page.counter("waybill_http_connections_refused_total",
                 "Connections turned away: too many in all, or from one address.");
    page.sample(read(metrics.turned_away_in_all), {{"limit", "connections_max"}});
    page.sample(read(metrics.turned_away_per_address), {{"limit", "connections_per_address"}});
    page.gauge("waybill_http_connections", "Open connections.");
    page.sample(levels.connections);
    page.gauge("waybill_http_connections_max", "Open connections beyond which the next gets 503.");
    page.sample(levels.connections_max);
}

void write_engine_levels(Exposition& page, const Levels& levels) {
    const Status& status = levels.status;
    const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        page.gauge(name, help);
        page.sample(value);
    };
    gauge("waybill_engine_ready", "1: works; 0: no lease, or it has given up.",
          status.ready ? 1 : 0);
    gauge("waybill_engine_late", "1: the lease ran out here; nothing is started.",
          status.late ? 1 : 0);
    gauge("waybill_engine_resigned",
          "1: too many handlers are stuck and it gave up; restart the process.",
          status.resigned ? 1 : 0);
    gauge("waybill_partitions", "Partitions owned.", status.partitions);
    gauge("waybill_entries", "Messages in memory.", status.entries);
    gauge("waybill_window_bytes", "What they and the blocked lanes take.", status.window_used);
    gauge("waybill_window_max_bytes", "What they may take.", levels.window_max);
    gauge("waybill_attempts_running", "Attempts that run now.", status.running);
    gauge("waybill_attempts_abandoned",
          "Handlers that run past their deadline or for a lost partition.", status.ghosts);
    gauge("waybill_results_unsettled", "Results on their way into the store.", status.unsettled);
    gauge("waybill_lanes_blocked",
          "Lanes whose head waits in the store: for its time, or for a decision.",
          status.blocked_lanes);
    gauge("waybill_chains_behind", "Targets of a partition that catch up from the store.",
          status.chains_behind);
    gauge("waybill_appends_waiting", "Messages that wait to be stored.", status.appends_waiting);
    gauge("waybill_appends_waiting_max", "So many that webhooks are answered 503.",
          levels.appends_waiting_max);
}

void write_store(Exposition& page, const StoreHealth& store) {
    page.gauge("waybill_store_reachable", "1: the store answers.");
    page.sample(store.reachable ? 1 : 0);
    // Better no number than one that is wrong.
    if (!store.reachable) return;
    page.gauge("waybill_open_messages", "Messages that are not finished, without parked ones.");
    page.sample(store.open);
    page.gauge("waybill_parked_messages", "Messages no target matches.");
    page.sample(store.parked);
    page.gauge("waybill_dead_letters", "Dead letters that wait for a decision.");
    page.sample(store.dead);
    page.gauge("waybill_oldest_open_seconds",
               "Age of the oldest open message whose time has come.");
    page.seconds(std::chrono::duration<double>(store.oldest_open).count());
}

}  // namespace

std::string metrics_page(const Metrics& metrics, const Levels& levels) {
    Exposition page;
    page.gauge("waybill_build_info", "Always 1; the version is the label.");
    page.sample(1, {{"version", version_text}});
    write_webhooks(page, metrics);
    write_sent(page, metrics);
    write_engine_counts(page, metrics);
    write_engine_levels(page, levels);
    write_store(page, levels.store);
    page.gauge("waybill_subscriptions", "Subscriptions by state, as this instance knows them.");
    const SubscriptionCounts& counts = levels.subscriptions;
    page.sample(counts.active, {{"state", "active"}});
    page.sample(counts.left_alone, {{"state", "left_alone"}});
    page.sample(counts.paused, {{"state", "paused"}});
    page.sample(counts.disabled, {{"state", "disabled"}});
    page.sample(counts.unusable, {{"state", "unusable"}});
    page.gauge("waybill_unserved_messages", "Messages that wait for a target nobody serves.");
    for (const UnservedTarget& one : levels.unserved) {
        page.sample(one.waiting, {{"box", one.box}, {"target", one.key}});
    }
    write_door(page, metrics, levels);
    page.gauge("process_start_time_seconds", "When this process began, since 1970.");
    page.seconds(std::chrono::duration<double>(levels.process_start.time_since_epoch()).count());
    if (levels.resident_bytes) {
        page.gauge("process_resident_memory_bytes", "Memory of this process that is in RAM.");
        page.sample(*levels.resident_bytes);
    }
    return page.take();
}

std::optional<std::uint64_t> resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    const long page_bytes = ::sysconf(_SC_PAGESIZE);
    if (!(file >> size >> resident) || page_bytes <= 0) return std::nullopt;
    return resident * static_cast<std::uint64_t>(page_bytes);
}

}  // namespace waybill::server
