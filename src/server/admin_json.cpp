#include "server/admin_json.hpp"

#include "core/text.hpp"
#include "server/log.hpp"
#include "waybill/executor.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;

void put(Object& object, const char* name, const std::string& value) {
    if (!value.empty()) object.emplace_back(name, clean_text(value, std::size_t{1} << 16));
}

void put_body(Object& object, const Message& message) {
    if (is_storable_text(message.body)) {
        object.emplace_back("body", message.body);
    } else {
        object.emplace_back("body_base64", signing::to_base64(message.body));
    }
}

Object message_object(const Message& message) {
    Object object{{"id", to_string(message.id)}, {"box", message.box}, {"type", message.type}};
    put(object, "source", message.source);
    put(object, "tenant", message.tenant);
    put(object, "user", message.user);
    put(object, "lane", message.lane);
    put(object, "dedup_key", message.dedup_key);
    put(object, "collapse_key", message.collapse_key);
    put(object, "correlation_id", message.correlation_id);
    put(object, "content_type", message.content_type);
    if (message.occurred_at != StoreTime{}) {
        object.emplace_back("occurred_at", time_text(message.occurred_at));
    }
    return object;
}

Value attributes(const Message& message) {
    Object object;
    for (const auto& [name, value] : message.attributes) object.emplace_back(name, value);
    return object;
}

std::string_view name_of(Progress::State state) {
    switch (state) {
        case Progress::State::done: return "done";
        case Progress::State::dead: return "dead";
        default: return "ready";
    }
}

Value delivery_json(const OpenDelivery& delivery) {
    Object object{{"target", delivery.target}, {"state", "ready"}, {"failures", delivery.failures}};
    put(object, "last_error", delivery.last_error);
    if (delivery.due != StoreTime{}) object.emplace_back("due", time_text(delivery.due));
    put(object, "waits", delivery.waits);
    return object;
}

Value letter_json(const DeadLetter& letter) {
    Object object{{"message", to_string(letter.message)},
                  {"target", letter.target},
                  {"reason", clean_text(letter.reason, 4096)},
                  {"failures", letter.failures},
                  {"at", time_text(letter.at)}};
    put(object, "because", letter.because);
    return object;
}

std::string_view name_of(Attempt::Result result) {
    switch (result) {
        case Attempt::Result::done: return "done";
        case Attempt::Result::dead: return "dead";
        default: return "failed";
    }
}

Value attempt_json(const Attempt& attempt) {
    Object object{{"target", attempt.target},
                  {"number", attempt.number},
                  {"requeues", attempt.requeues},
                  {"result", name_of(attempt.result)},
                  {"at", time_text(attempt.at)},
                  {"took_us", attempt.took.count()},
                  {"error", clean_text(attempt.error, 4096)}};
    if (attempt.detail.empty()) return object;
    try {
        object.emplace_back("detail", json::parse(attempt.detail));
    } catch (const DecodeError&) {
        object.emplace_back("detail", clean_text(attempt.detail, detail_bytes_max));
    }
    return object;
}

}  // namespace

std::string_view state_name(Filter::State state) {
    switch (state) {
        case Filter::State::open: return "open";
        case Filter::State::parked: return "parked";
        case Filter::State::done: return "done";
        case Filter::State::dead: return "dead";
        default: return "";
    }
}

Value to_json(const MessageSummary& summary) {
    Object object = message_object(*summary.message);
    object.emplace_back("state", state_name(summary.state));
    object.emplace_back("appended_at", time_text(summary.appended_at));
    object.emplace_back("bytes", summary.message->body.size());
    object.emplace_back("requeues", summary.requeues);
    return object;
}

Value to_json(const MessageDetail& detail, const std::vector<OpenDelivery>& open) {
    Object object = to_json(detail.summary).as_object();
    object.emplace_back("attributes", attributes(*detail.summary.message));
    put_body(object, *detail.summary.message);
    if (detail.summary.state == Filter::State::parked) {
        object.emplace_back("waits", "no target wants it; it goes on when one that does is added");
    }
    Array deliveries;
    for (const OpenDelivery& one : open) deliveries.push_back(delivery_json(one));
    for (const Entry& entry : detail.open) {
        for (const Progress& progress : entry.progress) {
            if (progress.state == Progress::State::ready) continue;
            deliveries.push_back(Object{{"target", progress.target},
                                        {"state", name_of(progress.state)},
                                        {"failures", progress.failures},
                                        {"last_error", clean_text(progress.last_error, 4096)}});
        }
    }
    object.emplace_back("deliveries", std::move(deliveries));
    Array dead;
    for (const DeadLetter& letter : detail.dead) dead.push_back(letter_json(letter));
    object.emplace_back("dead", std::move(dead));
    Array attempts;
    for (const Attempt& attempt : detail.attempts) {
        attempts.push_back(attempt_json(attempt));
    }
    object.emplace_back("attempts", std::move(attempts));
    return object;
}

Value to_json(const DeadLetterDetail& detail) {
    Object object = letter_json(detail.letter).as_object();
    if (detail.message) {
        put(object, "box", detail.message->box);
        put(object, "type", detail.message->type);
        put(object, "source", detail.message->source);
        put(object, "tenant", detail.message->tenant);
    }
    return object;
}

Value to_json(const HaltedLane& lane) {
    Array targets;
    for (const std::string& target : lane.targets) targets.emplace_back(target);
    return Object{{"box", lane.box},
                  {"lane", lane.lane},
                  {"message", to_string(lane.message)},
                  {"type", lane.type},
                  {"targets", std::move(targets)},
                  {"reason", clean_text(lane.reason, 4096)},
                  {"since", time_text(lane.since)}};
}

Value to_json(const Target& target) {
    Object object{{"box", target.box},
                  {"key", target.key},
                  {"type", target.matcher.type},
                  {"source", target.matcher.source},
                  {"tenant", target.matcher.tenant == other_tenants ? "other tenants"
                                                                    : target.matcher.tenant}};
    put(object, "after", target.after);
    return object;
}

Value to_json(const InstanceSeen& instance) {
    return Object{{"name", instance.name},
                  {"state", !instance.alive     ? "dead"
                            : instance.stopping ? "stopping"
                            : instance.guest    ? "guest"
                                                : "alive"},
                  {"since", time_text(instance.since)},
                  {"last_beat", time_text(instance.last_beat)},
                  {"partitions", instance.partitions},
                  {"running", instance.running},
                  {"waiting", instance.waiting},
                  {"refused", instance.refused},
                  {"boxes", Array{instance.boxes.begin(), instance.boxes.end()}},
                  {"incarnation", to_string(instance.incarnation)}};
}

}  // namespace waybill::server
