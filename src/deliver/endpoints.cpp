#include "deliver/endpoints.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "core/wording.hpp"

namespace waybill::deliver {
namespace {

/// Fewer failures than this may be chance, however long they are spread.
constexpr std::uint32_t kFailuresToDisable = 20;
constexpr std::size_t kErrorBytesMax = 600;

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
                endpoint.failures = 0;
                endpoint.circuit = {};
                endpoint.note_again = LocalTime::min();
            }
        }
        if (known != endpoints_.end()) endpoint.said = known->second.said;  // elsewhere, too
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

void Endpoints::recall(const std::string& key, const SubscriptionFailing& failing) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return;
    Endpoint& endpoint = found->second;
    endpoint.noted = true;
    if (endpoint.failing_since) return;  // we know better
    endpoint.failing_since = failing.since;
    endpoint.failures = failing.failures;
    if (failing.rests_until != StoreTime{}) endpoint.circuit.suspect();
}

void Endpoints::heard(const std::string& key) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found != endpoints_.end()) found->second.noted = true;
}

TargetOptions Endpoints::options_of(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return {.held = true};
    TargetOptions options = waybill::options_of(*found->second.subscription);
    options.held = options.held || found->second.disabled;
    return options;
}

bool Endpoints::is_disabled(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    return found != endpoints_.end() && found->second.disabled;
}

std::vector<Subscription> Endpoints::all() const {
    std::vector<Subscription> all;
    const std::lock_guard lock{mutex_};
    for (const auto& [key, endpoint] : endpoints_) all.push_back(*endpoint.subscription);
    return all;
}

std::vector<Subscription> Endpoints::unusable() const {
    std::vector<Subscription> all;
    const std::lock_guard lock{mutex_};
    for (const auto& [key, endpoint] : endpoints_) {
        if (endpoint.disabled || is_unusable(*endpoint.subscription))
            all.push_back(*endpoint.subscription);
    }
    return all;
}

SubscriptionCounts Endpoints::counts(LocalTime now) const {
    using State = Subscription::State;
    SubscriptionCounts counts;
    const std::lock_guard lock{mutex_};
    for (const auto& [key, endpoint] : endpoints_) {
        const Subscription& one = *endpoint.subscription;
        const bool is_disabled = endpoint.disabled || one.state == State::disabled;
        ++(!one.problem.empty()                             ? counts.unusable
           : is_disabled                                    ? counts.disabled
           : one.state == State::paused                     ? counts.paused
           : endpoint.circuit.rests(now) > Duration::zero() ? counts.left_alone
                                                            : counts.active);
    }
    return counts;
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

Endpoints::Ended Endpoints::ended(const std::string& key, const Subscription& asked,
                                  const Judgement& judgement, LocalTime now, StoreTime wall) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end()) return {};
    if (judgement.health == Judgement::Health::well) return went_well(found->second, now);
    return went_badly(found->second, asked, judgement, now, wall);
}

Endpoints::Ended Endpoints::went_well(Endpoint& endpoint, LocalTime now) {
    Ended ended;
    const bool was_said = std::exchange(endpoint.said, false);
    if (was_said || endpoint.circuit.is_open() || endpoint.failures >= Circuit::failures_to_open) {
        ended.news =
            news(SubscriptionNews::Kind::recovered, *endpoint.subscription, "it answers again");
    }
    ended.is_well_again = std::exchange(endpoint.noted, false);
    endpoint.note_again = std::min(endpoint.note_again, later(now, Circuit::rest_first));
    endpoint.circuit.succeeded();
    endpoint.failing_since.reset();
    endpoint.failures = 0;
    return ended;
}

Endpoints::Ended Endpoints::went_badly(Endpoint& endpoint, const Subscription& asked,
                                       const Judgement& judgement, LocalTime now, StoreTime wall) {
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
    const bool is_enough = is_gone || (failing >= subscription.disable_after &&
                                       endpoint.failures >= kFailuresToDisable);
    if (is_enough && !endpoint.disabled && subscription == asked) {
        endpoint.disabled = true;
        ++version_;
        return {.news =
                    news(SubscriptionNews::Kind::disabled, subscription,
                         is_gone ? reason
                                 : "no success for " + detail::readable(failing) + ": " + reason)};
    }
    Ended ended{.failing = noteworthy(endpoint, reason, now, wall)};
    const bool opened = !was_open && endpoint.circuit.is_open();
    if (opened || endpoint.failures == Circuit::failures_to_open) {
        ended.news = news(SubscriptionNews::Kind::failing, subscription, reason);
        endpoint.said = true;
    }
    return ended;
}

/// Who is left alone, or fails on and on. At most once per rest, so that a store with thousands of dead
/// endpoints has next to nothing to write.
std::optional<SubscriptionFailing> Endpoints::noteworthy(Endpoint& endpoint,
                                                         const std::string& reason, LocalTime now,
                                                         StoreTime wall) {
    const Duration rest = endpoint.circuit.rests(now);
    const bool is_worth_it =
        rest >= Circuit::rest_first || endpoint.failures >= Circuit::failures_to_open;
    if (!is_worth_it || now < endpoint.note_again) return std::nullopt;
    endpoint.noted = true;
    const Duration pause = rest > Duration::zero() ? Circuit::rest_first : Circuit::rest_most;
    endpoint.note_again = later(now, std::max(rest, pause));
    return SubscriptionFailing{.since = endpoint.failing_since.value_or(wall),
                               .failures = endpoint.failures,
                               .error = clean_text(reason, kErrorBytesMax),
                               .rests_until = rest > Duration::zero() ? wall + rest : StoreTime{}};
}

void Endpoints::released(const std::string& key) {
    const std::lock_guard lock{mutex_};
    const auto found = endpoints_.find(key);
    if (found != endpoints_.end()) found->second.circuit.released();
}

}  // namespace waybill::deliver
