#include "deliver/endpoints.hpp"

#include <utility>

#include "core/wording.hpp"

namespace waybill::deliver {
namespace {

/// Fewer failures than this may be chance, however long they are spread.
constexpr std::uint32_t kFailuresToDisable = 20;

SubscriptionNews news(SubscriptionNews::Kind kind, const Subscription& subscription,
                      std::string text) {
    return {.kind = kind, .subscription = subscription.id, .text = std::move(text)};
}

std::string reason_of(const Outcome& outcome) {
    if (const auto* fail = std::get_if<Fail>(&outcome)) return fail->reason;
    if (const auto* dead = std::get_if<Dead>(&outcome)) return dead->reason;
    return {};
}

}  // namespace

Endpoints::Change Endpoints::put(std::vector<Subscription> all) {
    Change change;
    std::unordered_map<std::string, Endpoint> next;
    const std::lock_guard lock{mutex_};
    for (Subscription& one : all) {
        std::string key = key_of(one);
        Endpoint endpoint;
        const auto known = endpoints_.find(key);
        if (known == endpoints_.end() || target_of(*known->second.subscription) != target_of(one)) {
            change.wanted.push_back(target_of(one));
        }
        if (known != endpoints_.end() && known->second.subscription->url == one.url) {
            endpoint = known->second;
            // Whoever changed it since it failed, or was disabled by its answers, means it.
            if (*endpoint.subscription != one) {
                endpoint.disabled = false;
                endpoint.circuit = {};
            }
        }
        endpoint.subscription = std::make_shared<const Subscription>(std::move(one));
        next.insert_or_assign(std::move(key), std::move(endpoint));
    }
    for (const auto& [key, endpoint] : endpoints_) {
        if (!next.contains(key)) change.unwanted.push_back(target_of(*endpoint.subscription));
    }
    endpoints_ = std::move(next);
    ++version_;
    return change;
}

void Endpoints::recall(const std::string& key, StoreTime failing_since) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found != endpoints_.end() && !found->second.failing_since) {
        found->second.failing_since = failing_since;
    }
}

TargetOptions Endpoints::options_of(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return {.held = true};
    TargetOptions options = waybill::options_of(*found->second.subscription);
    options.held = options.held || found->second.disabled;
    return options;
}

std::vector<Subscription> Endpoints::all() const {
    std::vector<Subscription> all;
    const std::lock_guard lock{mutex_};
    for (const auto& [key, endpoint] : endpoints_) all.push_back(*endpoint.subscription);
    return all;
}

Endpoints::Begin Endpoints::begin(const std::string& key, LocalTime now) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return {};
    Endpoint& endpoint = found->second;
    if (endpoint.disabled || is_held(*endpoint.subscription)) return {};
    if (const auto wait = endpoint.circuit.wait(now)) return {endpoint.subscription, wait};
    return {endpoint.subscription, std::nullopt};
}

std::optional<SubscriptionNews> Endpoints::ended(const std::string& key, const Judgement& judgement,
                                                 LocalTime now, StoreTime wall) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return std::nullopt;
    Endpoint& endpoint = found->second;
    if (judgement.health != Judgement::Health::well) {
        return went_badly(endpoint, judgement, now, wall);
    }
    const bool was_open = endpoint.circuit.is_open();
    const bool was_known_to_fail = was_open || endpoint.failures >= Circuit::failures_to_open;
    endpoint.circuit.succeeded();
    endpoint.failing_since.reset();
    endpoint.failures = 0;
    if (!was_known_to_fail) return std::nullopt;
    return news(SubscriptionNews::Kind::recovered, *endpoint.subscription, "it answers again");
}

std::optional<SubscriptionNews> Endpoints::went_badly(Endpoint& endpoint,
                                                      const Judgement& judgement, LocalTime now,
                                                      StoreTime wall) {
    const Subscription& subscription = *endpoint.subscription;
    ++endpoint.failures;
    if (!endpoint.failing_since) endpoint.failing_since = wall;
    const bool was_open = endpoint.circuit.is_open();
    if (judgement.health == Judgement::Health::failing) {
        endpoint.circuit.failed(now);
    } else {
        endpoint.circuit.succeeded();  // it is there, only not content
    }
    if (judgement.rest) endpoint.circuit.rest(now, *judgement.rest);

    const std::string reason = reason_of(judgement.outcome);
    const bool is_gone = judgement.health == Judgement::Health::gone;
    const Duration failing = wall - *endpoint.failing_since;
    if (!endpoint.disabled && (is_gone || (failing >= subscription.disable_after &&
                                           endpoint.failures >= kFailuresToDisable))) {
        endpoint.disabled = true;
        ++version_;
        return news(
            SubscriptionNews::Kind::disabled, subscription,
            is_gone ? reason : "no success for " + detail::readable(failing) + ": " + reason);
    }
    const bool opened = !was_open && endpoint.circuit.is_open();
    if (!opened && endpoint.failures != Circuit::failures_to_open) return std::nullopt;
    return news(SubscriptionNews::Kind::failing, subscription, reason);
}

void Endpoints::released(const std::string& key) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found != endpoints_.end()) found->second.circuit.released();
}

}  // namespace waybill::deliver
