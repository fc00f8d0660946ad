#include <algorithm>

#include "core/runtime/process_name.hpp"
#include "core/wording.hpp"
#include "server/admin.hpp"
#include "server/admin_json.hpp"
#include "server/answer.hpp"
#include "server/config/units.hpp"
#include "server/unserved.hpp"
#include "waybill/json.hpp"

/// Boxes and targets: what the store knows of them beside what the configuration says.
namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Instances = std::vector<InstanceSeen>;

const char* lanes_name(Lanes lanes) {
    return lanes == Lanes::none ? "none" : lanes == Lanes::exclusive ? "exclusive" : "strict";
}

const char* unmatched_name(Unmatched unmatched) {
    return unmatched == Unmatched::park ? "park" : unmatched == Unmatched::done ? "done" : "dead";
}

void put_options(Object& object, const BoxOptions& options) {
    object.emplace_back("lanes", lanes_name(options.lanes));
    object.emplace_back("on_dead", options.on_dead == OnDead::halt ? "halt" : "advance");
    object.emplace_back("unmatched", unmatched_name(options.unmatched));
    object.emplace_back("concurrency", options.concurrency);
}

/// Of this process among the instances.
std::string own_name(const Config& config) {
    return config.instance == "auto" ? runtime::host_and_process() : config.instance;
}

const BoxConfig* find_box(const Config* config, const std::string& name) {
    if (config == nullptr) return nullptr;
    const auto found = std::ranges::find(config->boxes, name, &BoxConfig::name);
    return found == config->boxes.end() ? nullptr : &*found;
}

Object box_object(const BoxState& state, const Config* config) {
    Object object{{"box", state.name},
                  {"paused", state.paused},
                  {"open", state.open},
                  {"parked", state.parked}};
    if (config == nullptr) return object;
    const BoxConfig* const described = find_box(config, state.name);
    object.emplace_back("configured", described != nullptr);
    if (described != nullptr) put_options(object, described->options);
    return object;
}

}  // namespace

std::string Admin::target_meant(const std::string& text) {
    if (!parse_uuid(text)) return text;
    const std::vector<Target> all = catalogue_.targets();
    const bool is_a_key = std::ranges::find(all, text, &Target::key) != all.end();
    return is_a_key ? text : std::string{subscription_prefix} + text;
}

std::string Admin::box_of(const std::string& key) {
    const std::vector<Target> all = catalogue_.targets();
    const auto first = std::ranges::find(all, key, &Target::key);
    if (first == all.end() || std::ranges::count(all, key, &Target::key) > 1) return "inbox";
    return first->box;
}

Filter Admin::meant(Filter filter) {
    filter.target = target_meant(filter.target);
    return filter;
}

/// Those of the store, and those of the configuration that no server has begun with yet.
HttpResponse Admin::boxes() {
    const auto config = config_();
    std::vector<BoxState> all = catalogue_.boxes();
    for (const BoxConfig& box : config ? config->boxes : std::vector<BoxConfig>{}) {
        const bool is_known = std::ranges::find(all, box.name, &BoxState::name) != all.end();
        if (!is_known) all.push_back({.name = box.name});
    }
    std::ranges::sort(all, {}, &BoxState::name);
    Array items;
    for (const BoxState& state : all) items.emplace_back(box_object(state, config.get()));
    return json_response(200, Object{{"items", std::move(items)}});
}

HttpResponse Admin::instances() {
    Array items;
    for (const InstanceSeen& instance : who_.instances ? who_.instances() : Instances{}) {
        items.emplace_back(to_json(instance));
    }
    return json_response(200, Object{{"items", std::move(items)}});
}

HttpResponse Admin::targets() {
    const auto config = config_();
    const auto unserved = unserved_targets(catalogue_, config.get(), who_);
    const bool can_tell = can_tell_served(config.get(), who_);
    Array items;
    for (const Target& target : catalogue_.targets()) {
        Object object = to_json(target).as_object();
        const auto found = std::ranges::find_if(unserved, [&](const UnservedTarget& one) {
            return one.box == target.box && one.key == target.key;
        });
        if (can_tell) object.emplace_back("served", found == unserved.end());
        if (found != unserved.end()) object.emplace_back("waiting", found->waiting);
        items.emplace_back(std::move(object));
    }
    return json_response(200, Object{{"items", std::move(items)}});
}

/// Subscriptions of files are not told apart by who carries them out: others may have this one in theirs.
std::optional<HttpResponse> Admin::refusal_to_forget_subscription(const Target& target,
                                                                  bool is_forced,
                                                                  const Config* config) {
    const std::string id = target.key.substr(subscription_prefix.size());
    if (config != nullptr && is_of_a_file(target.key) && is_served(*config, target)) {
        return error_response(
            409, "configured",
            "subscription " + id + " is configured here; take it out of the configuration first");
    }
    if (subscriptions_.question("/" + id).status == 200) {
        return error_response(409, "subscribed",
                              "subscription " + id + " is there; `waybill subscriptions remove " +
                                  id + "` removes it, with what waits for it");
    }
    if (is_forced || !is_of_a_file(target.key)) return std::nullopt;
    Instances others = who_.instances ? who_.instances() : Instances{};
    std::erase_if(others, [&](const InstanceSeen& one) { return !serves(one, target); });
    if (config != nullptr && who_.configuration_counts) {
        const auto self = std::ranges::find(others, own_name(*config), &InstanceSeen::name);
        if (self != others.end()) others.erase(self);
    }
    if (others.empty()) return std::nullopt;
    return error_response(
        409, "served",
        others.front().name + " carries out subscriptions of box " + detail::in_quotes(target.box) +
            " and may have " + id +
            " in its file. Stop all who do, or take it out of their files and reload them; then "
            "`waybill targets forget " +
            target.key + " --box " + target.box + " --force`");
}

/// One that somebody may still be told of is not forgotten: it would never hear of anything again.
std::optional<HttpResponse> Admin::refusal_to_forget(const Target& target, bool is_forced) {
    const auto config = config_();
    const std::string& key = target.key;
    if (key.starts_with(subscription_prefix)) {
        return refusal_to_forget_subscription(target, is_forced, config.get());
    }
    // Those who own it would go on, and what comes in would no longer be for it.
    if (config && has_target(*config, target.box, key)) {
        return error_response(409, "configured",
                              key + " is configured here; take it out of the configuration first");
    }
    // The same for those who share the store.
    for (const InstanceSeen& instance : who_.instances ? who_.instances() : Instances{}) {
        if (!serves(instance, target)) continue;
        return error_response(409, "served",
                              instance.name + " serves " + key +
                                  "; take it out of its configuration first, or stop it");
    }
    return std::nullopt;
}

HttpResponse Admin::forget(const Target& target, bool is_forced, const Operation& operation) {
    if (auto refusal = refusal_to_forget(target, is_forced)) return *std::move(refusal);
    const bool was_there = catalogue_.forget_target(target.box, target.key);
    // Begun before and gone now: this order did it.
    if (!was_there && !operation.begun_before) {
        return error_response(404, "not-found", "there is no such target; see GET /v1/targets");
    }
    if (target.key.starts_with(subscription_prefix)) {
        const auto id = parse_uuid(target.key.substr(subscription_prefix.size()));
        if (id) subscriptions_.forgotten(*id);
    }
    return json_response(200,
                         Object{{"box", target.box}, {"key", target.key}, {"forgotten", true}});
}

HttpResponse Admin::pause(const std::string& box, bool paused) {
    if (catalogue_.pause_box(box, paused)) {
        return json_response(200, Object{{"box", box}, {"paused", paused}});
    }
    const auto config = config_();
    if (find_box(config.get(), box) != nullptr) {
        return error_response(409, "not-yet",
                              "no server has begun with the box " + detail::in_quotes(box) +
                                  " so far; start one, then it can be paused");
    }
    std::vector<std::string> names;
    std::string list;
    for (const BoxState& state : catalogue_.boxes()) {
        names.push_back(state.name);
        list += (list.empty() ? "" : ", ") + state.name;
    }
    const std::string close = nearest(box, names);
    return error_response(404, "not-found",
                          "there is no box " + detail::in_quotes(box) +
                              (close.empty() ? "." : "; did you mean " + close + "?") +
                              (list.empty() ? " None was begun with yet" : " There are: " + list));
}

}  // namespace waybill::server
