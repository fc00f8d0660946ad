#include "server/subscription_desk.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "deliver/sealing.hpp"
#include "server/answer.hpp"
#include "server/config/parts.hpp"
#include "server/config/secret.hpp"
#include "server/config/units.hpp"
#include "server/deliver_options.hpp"
#include "server/egress.hpp"
#include "server/subscription_json.hpp"
#include "server/subscription_trial.hpp"
#include "server/unserved.hpp"
#include "server/unusable.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

using json::Object;
using json::Value;
using State = Subscription::State;

constexpr Duration kGrace = std::chrono::hours{24};
constexpr Duration kGraceMost = std::chrono::hours{30 * 24};

bool flag(const Value& body, const char* name) {
    const Value* const found = body.find(name);
    return found != nullptr && found->as_bool();
}

/// A new secret: the caller's own, or one that is made here.
std::string secret_for(const Value& body) {
    if (const Value* const given = body.find("secret")) {
        if (given->as_string().empty()) {
            throw json::ReadError{"is empty; leave it out, and one is made", "secret"};
        }
        if (is_reference(given->as_string())) {  // it would sign, and anybody could guess it
            throw json::ReadError{"is not looked up here; pass the secret itself", "secret"};
        }
        return given->as_string();
    }
    if (flag(body, "ed25519")) return webhook::make_key_pair().private_key;
    return webhook::make_secret();
}

HttpResponse not_there(const std::string& id) {
    const std::string seen = "; `waybill subscriptions list` has those there are";
    return error_response(404, "not-found", "there is no subscription " + id + seen);
}

/// Whether it was carried out before a crash; twice it must not be.
HttpResponse nobody_knows() {
    return error_response(409, "outcome-unknown",
                          "this order was begun and did not end; see what there is, and order it "
                          "under a new id");
}

/// A secret is in an answer only where it was made, and only once: the record of the order has none.
HttpResponse with_secret(unsigned status, const Subscription& subscription, const Value& body,
                         Operation& operation) {
    Object object = to_json(subscription);
    operation.kept_answer = json::to_text(object);
    const std::string& secret = subscription.secrets.front().value;
    // Of a key pair nobody but us needs the other half.
    if (const auto public_key = webhook::public_key_of(secret)) {
        object.emplace_back("public_key", *public_key);
    } else if (body.find("secret") == nullptr) {
        object.emplace_back("secret", secret);
    }
    return json_response(status, object);
}

/// What could never be sent to is refused when it is written.
void check_url(const Config& config, const std::string& url) {
    if (!http_out::problem_of_url(url).empty()) return;  // of which it is said elsewhere
    if (http_out::judge_url(config.egress.rules, url) == http_out::Verdict::bad_url) {
        throw ConfigError{
            {"url: has a user, a fragment or characters that not everybody reads alike"}};
    }
    const std::string blocked = problem_of_egress(config.egress, url);
    if (!blocked.empty()) throw ConfigError{{"url:" + blocked}};
}

Value parsed(const HttpRequest& request) {
    return request.body.empty() ? Value{Object{}} : json::parse(request.body);
}

/// In the configuration, which may be null.
const Subscription* find_fixed(const Config* config, const Uuid& id) {
    if (config == nullptr) return nullptr;
    const auto found = std::ranges::find(config->subscriptions, id, &Subscription::id);
    return found == config->subscriptions.end() ? nullptr : &*found;
}

/// In the store or in the configuration, as it is in force.
std::optional<Subscription> find_anywhere(SubscriptionBook& book, const Config* config,
                                          const Uuid& id) {
    if (auto found = book.find(id)) return found;
    const Subscription* const fixed = find_fixed(config, id);
    if (fixed == nullptr) return std::nullopt;
    Subscription one = *fixed;
    if (const auto standing = book.standing(id)) apply(*standing, one);
    return one;
}

/// Of one that only a program of somebody's own names: what is known of it is what it answered.
std::optional<Subscription> find_standing(SubscriptionBook& book, const Uuid& id) {
    const auto standing = book.standing(id);
    if (!standing || standing->state == State::active) return std::nullopt;
    Subscription one;
    one.id = id;
    // Of one that left a file there is more to say than that.
    if (is_of_a_file(key_of(one))) return std::nullopt;
    one.state = standing->state;
    one.reason = standing->reason;
    return one;
}

using Failing = std::map<Uuid, SubscriptionFailing>;

Failing failing_of(SubscriptionBook& book) {
    Failing failing;
    for (auto& [id, how] : book.failing()) failing.emplace(id, std::move(how));
    return failing;
}

/// With how it fails, if it does.
HttpResponse shown(SubscriptionBook& book, const Subscription& subscription) {
    const auto failing = book.failing(subscription.id);
    return json_response(
        200, to_json(subscription, failing ? &*failing : nullptr, system_clock().wall()));
}

HttpResponse skipped(const Subscription& subscription) {
    Object object = to_json(subscription);
    object.emplace_back("takes_effect", is_held(subscription) ? "when it is resumed" : "now");
    return json_response(200, object);
}

}  // namespace

void SubscriptionDesk::tell_change() const {
    try {
        if (changed_) changed_();
    } catch (const StoreError&) {
        // The answer may have the only copy of a secret.
    }
}

SubscriptionBook SubscriptionDesk::book(const Config* config) const {
    return {notebook_, store_, config != nullptr ? sealing_key_of(*config) : std::string{}};
}

HttpResponse SubscriptionDesk::question(const std::string& below, std::string_view query) {
    if (below.empty()) return list(parse_listing(query));
    const auto config = config_();
    SubscriptionBook its_book = book(config.get());
    const auto id = parse_uuid(below.substr(1));
    const auto found = id ? find_anywhere(its_book, config.get(), *id) : std::nullopt;
    return found ? shown(its_book, *found) : not_there(below.substr(1));
}

SubscriptionDesk::WhyItWaits SubscriptionDesk::why_they_wait() const {
    struct Known {
        std::shared_ptr<const Config> config{};
        SubscriptionBook book;
        Failing failing{};
    };
    // The key to its secrets may be a program's to say: not for who asks of no subscription at all.
    return [this, known = std::shared_ptr<Known>{}](
               const Uuid& id) mutable -> std::optional<std::string> {
        if (!known) {
            auto config = config_();
            SubscriptionBook its_book = book(config.get());
            Failing failing = failing_of(its_book);
            known = std::make_shared<Known>(
                Known{std::move(config), std::move(its_book), std::move(failing)});
        }
        auto subscription = find_anywhere(known->book, known->config.get(), id);
        if (!subscription) subscription = find_standing(known->book, id);
        if (!subscription) return std::nullopt;
        const auto how = known->failing.find(id);
        const StoreTime now = system_clock().wall();
        // One that fails and is not left alone is asked like any other.
        const bool counts = how != known->failing.end() && how->second.rests_until > now;
        return why_it_waits(*subscription, counts ? &how->second : nullptr, now);
    };
}

std::optional<HttpResponse> SubscriptionDesk::order(const HttpRequest& request,
                                                    const std::string& below,
                                                    Operation& operation) {
    const Value body = parsed(request);
    if (below.empty()) return add(body, operation);
    const std::size_t slash = below.find('/', 1);
    const std::string name = below.substr(1, slash == std::string::npos ? slash : slash - 1);
    const std::string verb = slash == std::string::npos ? "" : below.substr(slash + 1);
    const auto id = parse_uuid(name);
    if (!id) return not_there(name);
    if (verb == "test") return test(*id, body);

    const auto config = config_();
    const Subscription* const fixed = find_fixed(config.get(), *id);
    if (fixed != nullptr || stands_elsewhere(*id)) return order_elsewhere(*id, fixed, verb, body);
    const std::string reason = text_or(body, "reason", "by an operator");
    const auto into = [&](State state) {
        return change(*id, [&](Subscription& subscription) {
            subscription.state = state;
            subscription.reason = state == State::active ? "" : reason;
            if (state == State::active && flag(body, "skip")) {
                subscription.skip_before = system_clock().wall();
            }
        });
    };
    if (verb.empty()) {
        return change(*id, [&](Subscription& subscription) {
            read_into(subscription, body, {});
            if (config) check_url(*config, subscription.url);
        });
    }
    if (verb == "pause") return into(State::paused);
    if (verb == "disable") return into(State::disabled);
    if (verb == "resume" || verb == "enable") return into(State::active);
    if (verb == "skip") return skip(*id);
    if (verb == "rotate-secret") return rotate(*id, body, operation);
    if (verb == "remove") return remove(*id);
    return std::nullopt;
}

/// A program of somebody's own names it, and wrote down what became of it.
bool SubscriptionDesk::stands_elsewhere(const Uuid& id) const {
    SubscriptionBook its_book{notebook_, store_};
    return its_book.standing(id) && !its_book.find(id);
}

/// What stands elsewhere is changed there. But what its answers did to it is ours, and so is what waits.
HttpResponse SubscriptionDesk::order_elsewhere(const Uuid& id, const Subscription* fixed,
                                               const std::string& verb, const Value& body) {
    const bool lets_go_on = verb == "resume" || verb == "enable";
    if (!lets_go_on && verb != "skip") {
        return error_response(409, "static",
                              fixed != nullptr
                                  ? "this subscription stands in the configuration; change it "
                                    "there and reload. Only resume, enable and skip work here"
                                  : "this subscription is named by a program; change it there. "
                                    "Only resume, enable and skip work here");
    }
    SubscriptionBook its_book{notebook_, store_};
    const SubscriptionStanding standing =
        its_book.change_standing(id, [&](SubscriptionStanding& one) {
            if (lets_go_on) {
                one.state = State::active;
                one.reason.clear();
            }
            if (!lets_go_on || flag(body, "skip")) one.skip_before = system_clock().wall();
        });
    tell_change();
    Subscription subscription = fixed != nullptr ? *fixed : Subscription{};
    if (fixed == nullptr) {
        subscription.id = id;
        subscription.state = standing.state;
    }
    apply(standing, subscription);
    return lets_go_on ? shown(its_book, subscription) : skipped(subscription);
}

void SubscriptionDesk::forgotten(const Uuid& id) {
    SubscriptionBook{notebook_, store_}.drop_standing(id);
}

HttpResponse SubscriptionDesk::add(const Value& body, Operation& operation) {
    Subscription subscription;
    read_into(subscription, body, {"id", "secret", "ed25519", "paused"});
    if (const std::string text = text_or(body, "id", ""); !text.empty()) {
        const auto id = parse_uuid(text);
        if (!id) throw json::ReadError{"is not a UUID", "id"};
        subscription.id = *id;
    }
    if (operation.begun_before) {
        if (subscription.id.is_nil()) return nobody_knows();
        if (const auto there = book().find(subscription.id)) {
            return json_response(201, to_json(*there));
        }
    }
    subscription.secrets = {{.value = secret_for(body)}};
    if (flag(body, "paused")) {
        subscription.state = State::paused;
        subscription.reason = "by an operator";
    }
    if (const auto config = config_()) {
        check_url(*config, subscription.url);
        const auto box = std::ranges::find(config->boxes, subscription.box, &BoxConfig::name);
        if (box == config->boxes.end()) {
            throw ConfigError{{"box: there is no box \"" + subscription.box + "\"; add [boxes." +
                               subscription.box + "]"}};
        }
        // No server may have begun with it so far.
        const BoxDeclaration declaration{box->name, box->options};
        store_.store().declare({&declaration, 1}, {});
    }
    subscription = book().add(std::move(subscription));
    tell_change();
    return with_secret(201, subscription, body, operation);
}

HttpResponse SubscriptionDesk::change(const Uuid& id, const Change& change) {
    SubscriptionBook its_book = book();
    const auto changed = its_book.change(id, change);
    if (!changed) return not_there(to_string(id));
    tell_change();
    return shown(its_book, *changed);
}

/// Nothing of one that is held is run, so nothing of it ends either before somebody lets it go on.
HttpResponse SubscriptionDesk::skip(const Uuid& id) {
    const auto changed = book().change(
        id, [](Subscription& subscription) { subscription.skip_before = system_clock().wall(); });
    if (!changed) return not_there(to_string(id));
    tell_change();
    return skipped(*changed);
}

/// The new one signs from now on; those before it sign too, until their grace is over.
HttpResponse SubscriptionDesk::rotate(const Uuid& id, const Value& body, Operation& operation) {
    if (operation.begun_before) return nobody_knows();
    const auto grace = parse_duration(text_or(body, "grace", duration_text(kGrace)));
    if (!grace || *grace > kGraceMost) {
        throw json::ReadError{"must be a duration of at most 30 days, \"24h\"", "grace"};
    }
    const std::string fresh = secret_for(body);
    const auto changed = book().change(id, [&](Subscription& subscription) {
        const StoreTime now = system_clock().wall();
        // What nobody can open signs nothing.
        std::erase_if(subscription.secrets, [&](const SubscriptionSecret& secret) {
            return secret.until <= now || deliver::is_sealed(secret.value);
        });
        for (SubscriptionSecret& secret : subscription.secrets) {
            secret.until = std::min(secret.until, later(now, *grace));
        }
        subscription.secrets.insert(subscription.secrets.begin(), {.value = fresh});
    });
    if (!changed) return not_there(to_string(id));
    tell_change();
    return with_secret(200, *changed, body, operation);
}

HttpResponse SubscriptionDesk::remove(const Uuid& id) {
    if (!book().remove(id)) return not_there(to_string(id));
    tell_change();
    return json_response(200, Object{{"id", to_string(id)}, {"removed", true}});
}

HttpResponse SubscriptionDesk::test(const Uuid& id, const Value& body) {
    const auto config = config_();
    SubscriptionBook its_book = book(config.get());
    auto subscription = find_anywhere(its_book, config.get(), id);
    if (!subscription) return not_there(to_string(id));
    return try_out(*std::move(subscription), body, config ? *config : Config{}, store_);
}

}  // namespace waybill::server
