#include "waybill/subscription.hpp"

#include <algorithm>

#include "core/sha256.hpp"
#include "core/text.hpp"
#include "core/webhook/standard_key.hpp"
#include "core/wording.hpp"
#include "deliver/note.hpp"
#include "deliver/sealing.hpp"
#include "transport/http_out/http_out.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using detail::in_quotes;

constexpr std::size_t kUrlBytesMax = 2'048;
constexpr std::size_t kDescriptionBytesMax = 1'000;
constexpr std::size_t kHeadersMax = 50;
constexpr std::size_t kSecretsMax = 10;
/// What is shorter is tried out in no time.
constexpr std::size_t kSecretBytesMin = 8;
constexpr std::uint32_t kConcurrencyMax = 1'000;
/// The engine gives up later than the request does: whose attempt it was is told by the request.
constexpr Duration kMargin = 5s;

void check_request(const Subscription& subscription, Problems& problems) {
    const std::string bad_url = http_out::problem_of_url(subscription.url);
    if (subscription.url.empty()) {
        problems.emplace_back("url: is missing; say where to send to");
    } else if (subscription.url.size() > kUrlBytesMax) {
        problems.emplace_back("url: is longer than 2,048 bytes");
    } else if (!bad_url.empty()) {
        problems.push_back("url:" + bad_url);
    }
    if (subscription.headers.size() > kHeadersMax) {
        problems.emplace_back("headers: more than 50");
    }
    for (const auto& [name, value] : subscription.headers) {
        // Of what nobody here can open it is said elsewhere.
        if (deliver::is_sealed(value)) continue;
        const std::string problem = webhook::problem_of_header(name, value);
        if (!problem.empty()) problems.push_back("headers: " + in_quotes(name) + " " + problem);
    }
    if (subscription.signing.empty()) {
        problems.emplace_back(R"(signing: is empty; give "standard", "outbox" or both)");
    }
    if (subscription.secrets.size() > kSecretsMax) {
        problems.emplace_back("secrets: more than 10; let old ones go");
    }
    std::vector<std::string> secrets;
    for (const SubscriptionSecret& secret : subscription.secrets) secrets.push_back(secret.value);
    const std::string bad_secret = webhook::problem_of_secrets(secrets, subscription.signing);
    if (!secrets.empty() && !bad_secret.empty()) problems.push_back("secrets: " + bad_secret);
    const auto is_short = [](const std::string& one) {
        return webhook::standard_key(one).bytes.size() < kSecretBytesMin;
    };
    if (bad_secret.empty() && std::ranges::any_of(secrets, is_short)) {
        problems.emplace_back(
            "secrets: one is shorter than 8 bytes, and soon guessed; `openssl rand -hex 32` makes "
            "a "
            "good one");
    }
}

}  // namespace

std::string_view to_string(Subscription::State state) {
    switch (state) {
        case Subscription::State::active: return "active";
        case Subscription::State::paused: return "paused";
        case Subscription::State::disabled: return "disabled";
    }
    return "";
}

std::string_view to_string(Subscription::ClientErrors errors) {
    return errors == Subscription::ClientErrors::dead ? "dead" : "retry";
}

Problems check(const Subscription& subscription) {
    Problems problems;
    check_request(subscription, problems);
    const auto require = [&](bool holds, const char* problem) {
        if (!holds) problems.emplace_back(problem);
    };
    require(subscription.timeout >= 100ms && subscription.timeout <= 10min,
            "timeout: must be between 100ms and 10m");
    require(subscription.concurrency >= 1 && subscription.concurrency <= kConcurrencyMax,
            "concurrency: must be between 1 and 1,000");
    require(subscription.disable_after >= 1min, "disable_after: must be at least 1m");
    require(is_storable_text(subscription.description) &&
                subscription.description.size() <= kDescriptionBytesMax,
            "description: must be text of at most 1,000 bytes");
    // What the engine would refuse.
    for (std::string& problem : check(target_of(subscription), options_of(subscription))) {
        const std::size_t colon = problem.find(": ");
        problems.push_back(colon == std::string::npos ? problem : problem.substr(colon + 2));
    }
    return problems;
}

std::string key_of(const Subscription& subscription) {
    return std::string{subscription_prefix} + to_string(subscription.id);
}

Target target_of(const Subscription& subscription) {
    const std::string& tenant = subscription.tenant;
    return {.box = subscription.box,
            .key = key_of(subscription),
            .matcher = {.type = subscription.type,
                        .tenant = tenant.empty()        ? std::string{"*"}
                                  : tenant == "default" ? std::string{other_tenants}
                                                        : tenant}};
}

bool is_unusable(const Subscription& subscription) {
    return subscription.state == Subscription::State::disabled || !subscription.problem.empty();
}

bool is_held(const Subscription& subscription) {
    return subscription.state != Subscription::State::active || !subscription.problem.empty();
}

TargetOptions options_of(const Subscription& subscription) {
    return {.retry = subscription.retry,
            .timeout = std::min(subscription.timeout, Duration{10min}) + kMargin,
            .concurrency = subscription.concurrency,
            .rate = subscription.rate,
            .held = is_held(subscription),
            .ends_by_itself = true};
}

void apply(const SubscriptionStanding& standing, Subscription& subscription) {
    using State = Subscription::State;
    const bool is_held = standing.state != State::active &&
                         standing.endpoint == deliver::endpoint_of(subscription.url);
    if (is_held && subscription.state == State::active) {
        subscription.state = standing.state;
        subscription.reason = standing.reason;
    }
    subscription.skip_before = std::max(subscription.skip_before, standing.skip_before);
    // Also of one that goes on: whoever disabled it meanwhile by what it answered before sees that somebody means it.
    subscription.changed_at = std::max(subscription.changed_at, standing.changed_at);
}

Uuid static_subscription_id(const Subscription& subscription, std::uint32_t ordinal) {
    std::string name = "subscription";
    for (const std::string& part :
         {subscription.box, subscription.type, subscription.tenant, std::to_string(ordinal)}) {
        name.append(1, '\0').append(part);
    }
    const auto digest = sha256(name);
    Uuid id;
    std::ranges::copy_n(digest.begin(), 16, id.bytes.begin());
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x80);
    id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
    return id;
}

}  // namespace waybill
