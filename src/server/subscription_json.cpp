#include "server/subscription_json.hpp"

#include <algorithm>

#include "core/wording.hpp"
#include "server/config/parts.hpp"
#include "server/config/units.hpp"
#include "server/log.hpp"

namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::string rate_text(double rate) {
    if (rate == 0.0) return {};
    std::string text = std::to_string(rate);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text + "/s";
}

Object retry_json(const RetryPolicy& retry) {
    Object object{{"max_attempts", retry.max_attempts}};
    if (retry.backoff.schedule.empty()) {
        object.emplace_back("base", duration_text(retry.backoff.base));
        object.emplace_back("multiplier", retry.backoff.multiplier);
        object.emplace_back("cap", duration_text(retry.backoff.cap));
    } else {
        Array schedule;
        for (const Duration wait : retry.backoff.schedule) {
            schedule.emplace_back(duration_text(wait));
        }
        object.emplace_back("schedule", std::move(schedule));
    }
    object.emplace_back("jitter", retry.backoff.jitter.share);
    return object;
}

Array secrets_json(const Subscription& subscription) {
    Array secrets;
    for (const SubscriptionSecret& secret : subscription.secrets) {
        const auto public_key = webhook::public_key_of(secret.value);
        Object one{{"kind", public_key ? "ed25519" : "hmac"}};
        if (public_key) one.emplace_back("public_key", *public_key);
        if (secret.until != store_never) one.emplace_back("until", time_text(secret.until));
        secrets.emplace_back(std::move(one));
    }
    return secrets;
}

/// Those that are named; null: it goes.
void read_headers(const Value& body, HttpHeaders& headers) {
    const Value* const named = body.find("headers");
    if (named == nullptr) return;
    for (const auto& [name, value] : named->as_object()) {
        HttpHeaders others;
        for (const auto& [kept, its_value] : headers) {
            if (!same_name(kept, name)) others.add(kept, its_value);
        }
        headers = std::move(others);
        if (value.is_null()) continue;
        // Else it would be taken for one that was sealed here.
        if (value.as_string().starts_with("sealed:")) {
            throw json::ReadError{"a value cannot begin with sealed:", "headers." + name};
        }
        headers.add(name, value.as_string());
    }
}

/// As if it stood in a file.
Node node_of(const Value& value) {
    Node node;
    using Kind = Node::Kind;
    value.visit([&](const auto& data) {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, std::string>) {
            node.kind = Kind::text;
            node.text = data;
        } else if constexpr (std::is_same_v<Data, bool>) {
            node.kind = Kind::boolean;
            node.boolean = data;
        } else if constexpr (std::is_same_v<Data, std::int64_t> ||
                             std::is_same_v<Data, std::uint64_t>) {
            node.kind = Kind::integer;
            node.integer = static_cast<std::int64_t>(data);
            node.real = static_cast<double>(data);
        } else if constexpr (std::is_same_v<Data, double>) {
            node.kind = Kind::real;
            node.real = data;
        } else if constexpr (std::is_same_v<Data, Array>) {
            node.kind = Kind::array;
            for (const Value& item : data) node.items.push_back(node_of(item));
        } else if constexpr (std::is_same_v<Data, Object>) {
            for (const auto& [name, item] : data) node.members.emplace_back(name, node_of(item));
        } else {
            node.kind = Kind::other;
        }
    });
    return node;
}

}  // namespace

Object to_json(const Subscription& subscription) {
    Array signing;
    for (const webhook::HeaderSet set : subscription.signing) {
        signing.emplace_back(webhook::to_string(set));
    }
    // Tokens go into headers: their values are nobody's business once they are set.
    Object headers;
    for (const auto& [name, value] : subscription.headers) headers.emplace_back(name, "…");
    Object object{{"id", to_string(subscription.id)},
                  {"state", to_string(subscription.state)},
                  {"type", subscription.type},
                  {"tenant", subscription.tenant},
                  {"url", masked_url(subscription.url)},
                  {"box", subscription.box},
                  {"target", key_of(subscription)},
                  {"signing", std::move(signing)},
                  {"secrets", secrets_json(subscription)},
                  {"headers", std::move(headers)},
                  {"retry", retry_json(subscription.retry)},
                  {"timeout", duration_text(subscription.timeout)},
                  {"concurrency", subscription.concurrency},
                  {"rate", rate_text(subscription.rate)},
                  {"client_errors", to_string(subscription.client_errors)},
                  {"disable_after", duration_text(subscription.disable_after)},
                  {"static", subscription.is_static}};
    const auto add = [&](const char* name, const std::string& text) {
        if (!text.empty()) object.emplace_back(name, text);
    };
    add("reason", subscription.problem.empty() ? subscription.reason : subscription.problem);
    add("description", subscription.description);
    const auto add_time = [&](const char* name, StoreTime time) {
        if (time != StoreTime{}) object.emplace_back(name, time_text(time));
    };
    add_time("skip_before", subscription.skip_before);
    add_time("created_at", subscription.created_at);
    add_time("changed_at", subscription.changed_at);
    return object;
}

std::string why_it_waits(const Subscription& subscription, const SubscriptionFailing* failing,
                         StoreTime now) {
    using State = Subscription::State;
    const std::string command = "`waybill subscriptions ";
    const std::string id = " " + to_string(subscription.id);
    const std::string because = subscription.reason.empty() ? "" : ": " + subscription.reason;
    if (!subscription.problem.empty()) return subscription.problem;
    if (subscription.state == State::paused) {
        return "it is paused" + because + "; " + command + "resume" + id + "` lets it go on";
    }
    if (subscription.state == State::disabled) {
        return "it is disabled" + because + "; once it is mended " + command + "enable" + id +
               "` lets it go on, with --skip without what waits";
    }
    if (failing == nullptr) return {};
    const std::string last = "; the last time: " + failing->error + ". ";
    const std::string failed = failing->failures == 1
                                   ? "it failed at " + time_text(failing->since)
                                   : "it failed " + detail::times(failing->failures) +
                                         " in a row since " + time_text(failing->since);
    if (failing->rests_until <= now) {
        return failed + last + "One request at a time finds out whether it is back";
    }
    return failed + " and is left alone until " + time_text(failing->rests_until) + last + command +
           "test" + id + "` tries it, " + command + "resume" + id +
           "` ends that; what has failed is tried again at its own time";
}

Object to_json(const Subscription& subscription, const SubscriptionFailing* failing,
               StoreTime now) {
    Object object = to_json(subscription);
    const std::string waits = why_it_waits(subscription, failing, now);
    if (!waits.empty()) object.emplace_back("waits", waits);
    if (failing == nullptr) return object;
    Object how{{"since", time_text(failing->since)},
               {"failures", failing->failures},
               {"last_error", failing->error}};
    if (failing->rests_until > now) {
        how.emplace_back("left_alone_until", time_text(failing->rests_until));
    }
    how.emplace_back("seen_by", failing->instance);
    object.emplace_back("failing", std::move(how));
    return object;
}

std::string text_or(const Value& body, const char* name, const std::string& otherwise) {
    const Value* const found = body.find(name);
    return found == nullptr ? otherwise : found->as_string();
}

void read_into(Subscription& subscription, const Value& body,
               std::initializer_list<const char*> others) {
    Node node = node_of(body);
    if (node.kind != Node::Kind::table) throw json::ReadError{"must be an object"};
    std::erase_if(node.members, [&](const auto& member) {
        return member.first == "headers" || std::ranges::find(others, member.first) != others.end();
    });
    read_headers(body, subscription.headers);
    Reading reading;
    Section section{reading, &node, {}, false};
    read_subscription(section, subscription);
    section.finish();
    if (!reading.problems.empty()) throw ConfigError{in_order(std::move(reading.problems))};
}

}  // namespace waybill::server
