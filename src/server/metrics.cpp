#include "server/metrics.hpp"

#include <algorithm>

namespace waybill::server {

void Metrics::count_delivery(const DeliveryReport& report) noexcept {
    if (report.status != 0) return count(sent[report.status < http_statuses ? report.status : 0]);
    std::string why{report.failure};
    if (!report.verdict.empty()) why.append(" ").append(report.verdict);
    count(unsent.row(why)[0]);
}

void Metrics::count_access(unsigned status, std::string_view outcome) noexcept {
    if (outcome == "too-many-connections") {
        return count(status == 429 ? turned_away_per_address : turned_away_in_all);
    }
    count(answers[status < http_statuses ? status : 0]);
}

GenerationCounts::GenerationCounts(Metrics& metrics, const Config& config)
    : metrics_(metrics), subscriptions_(metrics.events.row(std::string{all_subscriptions})) {
    for (const TargetConfig& target : config.targets) {
        targets_.emplace(target.target.key, &metrics.events.row(target.target.key));
    }
    for (const Source& source : config.sources) {
        sources_.emplace(source.name, &metrics.webhooks.row(source.name));
    }
}

void GenerationCounts::on_event(const Event& event) noexcept {
    const auto found = targets_.find(event.target);
    auto& row = found != targets_.end()                         ? *found->second
                : event.target.starts_with(subscription_prefix) ? subscriptions_
                                                                : metrics_.events.rest();
    count(row[static_cast<std::size_t>(event.kind)]);
}

void GenerationCounts::on_webhook(const IntakeReport& report) noexcept {
    const auto found = sources_.find(report.source);
    auto& row = found != sources_.end() ? *found->second : metrics_.webhooks.rest();
    const auto* const outcome = std::ranges::find(webhook_outcomes, report.outcome);
    const auto column = static_cast<std::size_t>(outcome - webhook_outcomes.begin());
    count(row[std::min(column, webhook_outcomes.size() - 1)]);
}

}  // namespace waybill::server
