#include "deliver/note.hpp"

#include "core/sha256.hpp"
#include "waybill/json/value.hpp"
#include "waybill/signing.hpp"

namespace waybill::deliver {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::int64_t number_of(StoreTime time) {
    return time.time_since_epoch().count();
}

/// What is not there keeps what it has.
class Reader {
public:
    explicit Reader(const Value& value) : value_(value) {}

    void text(const char* name, std::string& into) const {
        if (const Value* found = value_.find(name)) into = found->as_string();
    }
    void duration(const char* name, Duration& into) const {
        if (const Value* found = value_.find(name)) into = Duration{found->as_int64()};
    }
    void time(const char* name, StoreTime& into) const {
        if (const Value* found = value_.find(name)) into = StoreTime{Duration{found->as_int64()}};
    }
    void number(const char* name, std::uint32_t& into) const {
        if (const Value* found = value_.find(name)) {
            into = static_cast<std::uint32_t>(found->as_uint64());
        }
    }
    void real(const char* name, double& into) const {
        if (const Value* found = value_.find(name)) into = found->as_double();
    }
    template <class Each>
    void each(const char* name, Each each) const {
        const Value* const found = value_.find(name);
        if (found == nullptr) return;
        for (const Value& one : found->as_array()) each(one);
    }
    Reader inside(const char* name) const {
        static const Value nothing{Object{}};
        const Value* const found = value_.find(name);
        return Reader{found == nullptr ? nothing : *found};
    }
    const Value* find(const char* name) const { return value_.find(name); }

private:
    const Value& value_;
};

Value retry_note(const RetryPolicy& retry) {
    Array schedule;
    for (const Duration wait : retry.backoff.schedule) schedule.emplace_back(wait.count());
    return Object{{"max_attempts", retry.max_attempts},     {"base", retry.backoff.base.count()},
                  {"multiplier", retry.backoff.multiplier}, {"cap", retry.backoff.cap.count()},
                  {"jitter", retry.backoff.jitter.share},   {"schedule", std::move(schedule)}};
}

void read_retry(const Reader& note, RetryPolicy& retry) {
    note.number("max_attempts", retry.max_attempts);
    note.duration("base", retry.backoff.base);
    note.real("multiplier", retry.backoff.multiplier);
    note.duration("cap", retry.backoff.cap);
    double jitter = retry.backoff.jitter.share;
    note.real("jitter", jitter);
    retry.backoff.jitter = Jitter::symmetric(jitter);
    note.each("schedule", [&](const Value& wait) {
        retry.backoff.schedule.push_back(Duration{wait.as_int64()});
    });
}

void read_state(const Reader& note, Subscription::State& into) {
    std::string word;
    note.text("state", word);
    for (const auto state : {Subscription::State::paused, Subscription::State::disabled}) {
        if (word == to_string(state)) into = state;
    }
}

}  // namespace

std::string to_note(const Subscription& subscription) {
    Array signing;
    for (const webhook::HeaderSet set : subscription.signing) {
        signing.emplace_back(webhook::to_string(set));
    }
    Array secrets;
    for (const SubscriptionSecret& secret : subscription.secrets) {
        secrets.emplace_back(Object{{"value", secret.value}, {"until", number_of(secret.until)}});
    }
    Array headers;
    for (const auto& [name, value] : subscription.headers) {
        headers.emplace_back(Array{name, value});
    }
    return json::to_text(Object{
        {"box", subscription.box},
        {"type", subscription.type},
        {"tenant", subscription.tenant},
        {"url", subscription.url},
        {"signing", std::move(signing)},
        {"secrets", std::move(secrets)},
        {"headers", std::move(headers)},
        {"retry", retry_note(subscription.retry)},
        {"timeout", subscription.timeout.count()},
        {"concurrency", subscription.concurrency},
        {"rate", subscription.rate},
        {"client_errors", to_string(subscription.client_errors)},
        {"disable_after", subscription.disable_after.count()},
        {"state", to_string(subscription.state)},
        {"reason", subscription.reason},
        {"skip_before", number_of(subscription.skip_before)},
        {"description", subscription.description},
        {"created_at", number_of(subscription.created_at)},
        {"changed_at", number_of(subscription.changed_at)},
    });
}

Subscription from_note(const std::string& text) {
    const Value document = json::parse(text);
    const Reader note{document};
    Subscription subscription;
    note.text("box", subscription.box);
    note.text("type", subscription.type);
    note.text("tenant", subscription.tenant);
    note.text("url", subscription.url);
    subscription.signing.clear();
    note.each("signing", [&](const Value& set) {
        if (const auto known = webhook::parse_header_set(set.as_string())) {
            subscription.signing.push_back(*known);
        }
    });
    note.each("secrets", [&](const Value& one) {
        SubscriptionSecret secret;
        Reader{one}.text("value", secret.value);
        Reader{one}.time("until", secret.until);
        subscription.secrets.push_back(std::move(secret));
    });
    note.each("headers", [&](const Value& header) {
        const Array& pair = header.as_array();
        if (pair.size() == 2) subscription.headers.add(pair[0].as_string(), pair[1].as_string());
    });
    read_retry(note.inside("retry"), subscription.retry);
    note.duration("timeout", subscription.timeout);
    note.number("concurrency", subscription.concurrency);
    note.real("rate", subscription.rate);
    std::string word;
    note.text("client_errors", word);
    if (word == "dead") subscription.client_errors = Subscription::ClientErrors::dead;
    note.duration("disable_after", subscription.disable_after);
    read_state(note, subscription.state);
    note.text("reason", subscription.reason);
    note.time("skip_before", subscription.skip_before);
    note.text("description", subscription.description);
    note.time("created_at", subscription.created_at);
    note.time("changed_at", subscription.changed_at);
    return subscription;
}

std::string to_note(const SubscriptionFailing& failing) {
    return json::to_text(Object{{"since", number_of(failing.since)},
                                {"failures", failing.failures},
                                {"error", failing.error},
                                {"rests_until", number_of(failing.rests_until)},
                                {"instance", failing.instance}});
}

std::optional<SubscriptionFailing> failing_from_note(const std::string& text) {
    try {
        const Value document = json::parse(text);
        const Reader note{document};
        SubscriptionFailing failing;
        note.time("since", failing.since);
        note.number("failures", failing.failures);
        note.text("error", failing.error);
        note.time("rests_until", failing.rests_until);
        note.text("instance", failing.instance);
        return failing;
    } catch (const json::ReadError&) {
        return std::nullopt;
    }
}

std::string to_note(const SubscriptionStanding& standing) {
    return json::to_text(Object{{"state", to_string(standing.state)},
                                {"reason", standing.reason},
                                {"skip_before", number_of(standing.skip_before)},
                                {"changed_at", number_of(standing.changed_at)},
                                {"endpoint", standing.endpoint}});
}

std::optional<SubscriptionStanding> standing_from_note(const std::string& text) {
    try {
        const Value document = json::parse(text);
        const Reader note{document};
        SubscriptionStanding standing;
        read_state(note, standing.state);
        note.text("reason", standing.reason);
        note.time("skip_before", standing.skip_before);
        note.time("changed_at", standing.changed_at);
        note.text("endpoint", standing.endpoint);
        return standing;
    } catch (const json::ReadError&) {
        return std::nullopt;
    }
}

std::string endpoint_of(const std::string& url) {
    return signing::to_hex(sha256_bytes(url));
}

}  // namespace waybill::deliver
