#include <algorithm>
#include <utility>

#include "core/runtime/system_random.hpp"
#include "core/text.hpp"
#include "deliver/note.hpp"
#include "deliver/sealing.hpp"
#include "waybill/deliver.hpp"
#include "waybill/json/value.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

constexpr const char* kPrefix = "subscription/";
/// Not below kPrefix: these are no subscriptions.
constexpr const char* kFailing = "subscription-failing/";
constexpr const char* kStanding = "subscription-standing/";
constexpr const char* kVersion = "subscriptions-version";
constexpr std::size_t kKeyMin = 16;
constexpr std::size_t kReasonBytesMax = 600;
/// Written again as long as it fails; of one that nobody has any more it goes by itself.
constexpr Duration kFailingKept = std::chrono::hours{30 * 24};

std::string name_of(const Uuid& id) {
    return kPrefix + to_string(id);
}

/// A value is sealed for its header: in the place of another it does not open.
std::string header_subject(const Uuid& id, const std::string& name) {
    return to_string(id) + "/" + lower_ascii(name);
}

/// What is sealed already is so with a key we do not have.
void seal_all(const std::string& key, Subscription& subscription) {
    for (SubscriptionSecret& secret : subscription.secrets) {
        if (deliver::is_sealed(secret.value)) continue;
        secret.value = deliver::seal(key, secret.value, to_string(subscription.id));
    }
    HttpHeaders sealed;
    for (const auto& [name, value] : subscription.headers) {
        sealed.add(name, deliver::is_sealed(value)
                             ? value
                             : deliver::seal(key, value, header_subject(subscription.id, name)));
    }
    subscription.headers = std::move(sealed);
}

/// What cannot be opened stays as it is. Returns what that was, and how to go on without the key.
std::string unseal_all(const std::string& key, Subscription& subscription) {
    const auto open = [&](std::string value, const std::string& about, bool& failed) {
        if (!deliver::is_sealed(value)) return value;
        auto opened = key.empty() ? std::nullopt : deliver::unseal(key, value, about);
        failed = failed || !opened;
        return opened ? *std::move(opened) : std::move(value);
    };
    const std::string id = to_string(subscription.id);
    std::string closed;
    const auto note = [&](const std::string& what, const std::string& command) {
        if (closed.empty()) {
            closed = "its " + what +
                     " sealed with another key; set secrets.key to the one they were written with, "
                     "or make a new one: `waybill subscriptions " +
                     command + "`";
        } else {
            closed += " and `waybill subscriptions " + command + "`";
        }
    };
    bool no_secret = false;
    for (SubscriptionSecret& secret : subscription.secrets) {
        secret.value = open(std::move(secret.value), id, no_secret);
    }
    if (no_secret) note("secrets are", "rotate-secret " + id);
    HttpHeaders opened;
    for (const auto& [name, value] : subscription.headers) {
        bool no_value = false;
        opened.add(name, open(value, header_subject(subscription.id, name), no_value));
        if (no_value) note("headers are", "update " + id + " --header '" + name + ": …'");
    }
    subscription.headers = std::move(opened);
    return closed;
}

/// Later than before whatever this host's clock says: so it is seen that what was found out before is out of date.
StoreTime changed_after(StoreTime before) {
    return std::max(system_clock().wall(), later(before, Duration{1}));
}

Uuid fresh_id() {
    return uuid7(system_clock().wall(), thread_random());
}

}  // namespace

SubscriptionBook::SubscriptionBook(Notebook& notebook, StoreHandle store, const std::string& key)
    : notebook_(notebook), store_(std::move(store)) {
    if (!key.empty() && key.size() < kKeyMin) {
        throw ConfigError{
            {"secrets.key: is shorter than 16 characters; make one with: openssl rand -hex 32"}};
    }
    if (!key.empty()) key_ = deliver::sealing_key(key);
}

std::vector<Subscription> SubscriptionBook::list() {
    std::vector<Subscription> all;
    for (const Note& note : notebook_.notes(kPrefix)) {
        const auto id = parse_uuid(note.name.substr(std::string_view{kPrefix}.size()));
        if (id) all.push_back(read(note.text, *id));
    }
    return all;
}

std::optional<Subscription> SubscriptionBook::find(const Uuid& id) {
    const auto note = notebook_.note(name_of(id));
    if (!note) return std::nullopt;
    return read(*note, id);
}

Subscription SubscriptionBook::add(Subscription subscription) {
    if (subscription.id.is_nil()) subscription.id = fresh_id();
    subscription.created_at = subscription.changed_at = system_clock().wall();
    if (Problems problems = check(subscription); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    const auto hold = alone();
    if (find(subscription.id)) {
        throw ConfigError{{"id: a subscription with this id is there already; update it"}};
    }
    // What became of one of this id that stood elsewhere is not about this one.
    drop_standing(subscription.id);
    try {
        write(subscription);
    } catch (const StoreError&) {
        // Without its target nobody would send to it, and everybody would list it.
        notebook_.drop_note(name_of(subscription.id));
        throw;
    }
    return subscription;
}

std::optional<Subscription> SubscriptionBook::change(
    const Uuid& id, const std::function<void(Subscription&)>& change) {
    const auto hold = alone();
    return change_alone(id, change);
}

std::optional<Subscription> SubscriptionBook::change_alone(
    const Uuid& id, const std::function<void(Subscription&)>& change) {
    auto subscription = find(id);
    if (!subscription) return std::nullopt;
    const std::string box = subscription->box;
    const std::string url = subscription->url;
    const StoreTime changed_at = changed_after(subscription->changed_at);
    change(*subscription);
    subscription->id = id;
    subscription->changed_at = changed_at;
    Problems problems = check(*subscription);
    if (subscription->box != box) {
        problems.emplace_back("box: a subscription stays in its box; add another one");
    }
    if (!problems.empty()) throw ConfigError{std::move(problems)};
    // Before it is written: after that nothing else can fail.
    end_rest(id, subscription->url != url);
    write(*subscription);
    // Of what could not be opened some may be left.
    subscription->problem = unseal_all(key_, *subscription);
    return subscription;
}

bool SubscriptionBook::remove(const Uuid& id) {
    const auto hold = alone();
    const auto subscription = find(id);
    if (!subscription) return false;
    notebook_.drop_note(name_of(id));
    note_failing(id, std::nullopt);
    tell_version();
    store_.catalogue()->forget_target(subscription->box, key_of(*subscription));
    return true;
}

/// It may come late, from where the store could not be reached: an operator who changed something meanwhile means it.
void SubscriptionBook::disable(const Subscription& subscription, const std::string& reason) {
    using State = Subscription::State;
    const auto disable = [&](auto& one) {
        one.state = State::disabled;
        one.reason = clean_text(reason, kReasonBytesMax);
    };
    const auto hold = alone();
    if (const auto own = find(subscription.id)) {
        if (own->state != State::active || own->changed_at > subscription.changed_at) return;
        change_alone(subscription.id, disable);
        return;
    }
    const std::string endpoint = deliver::endpoint_of(subscription.url);
    const auto before = standing(subscription.id).value_or(SubscriptionStanding{});
    const bool is_so_already = before.state != State::active && before.endpoint == endpoint;
    if (is_so_already || before.changed_at > subscription.changed_at) return;
    change_standing_alone(subscription.id, [&](SubscriptionStanding& one) {
        disable(one);
        one.endpoint = endpoint;
    });
}

std::optional<SubscriptionStanding> SubscriptionBook::standing(const Uuid& id) {
    const auto note = notebook_.note(kStanding + to_string(id));
    return note ? deliver::standing_from_note(*note) : std::nullopt;
}

std::vector<std::pair<Uuid, SubscriptionStanding>> SubscriptionBook::standings() {
    std::vector<std::pair<Uuid, SubscriptionStanding>> all;
    for (const Note& note : notebook_.notes(kStanding)) {
        const auto id = parse_uuid(note.name.substr(std::string_view{kStanding}.size()));
        auto standing = deliver::standing_from_note(note.text);
        if (id && standing) all.emplace_back(*id, *std::move(standing));
    }
    return all;
}

SubscriptionStanding SubscriptionBook::change_standing(
    const Uuid& id, const std::function<void(SubscriptionStanding&)>& change) {
    const auto hold = alone();
    return change_standing_alone(id, change);
}

SubscriptionStanding SubscriptionBook::change_standing_alone(
    const Uuid& id, const std::function<void(SubscriptionStanding&)>& change) {
    SubscriptionStanding standing = this->standing(id).value_or(SubscriptionStanding{});
    const StoreTime changed_at = changed_after(standing.changed_at);
    change(standing);
    standing.changed_at = changed_at;
    end_rest(id, false);
    notebook_.keep_note(kStanding + to_string(id), deliver::to_note(standing));
    tell_version();
    return standing;
}

void SubscriptionBook::drop_standing(const Uuid& id) {
    const std::string name = kStanding + to_string(id);
    if (!notebook_.note(name)) return;
    notebook_.drop_note(name);
    tell_version();  // or whoever has read it would go on believing it
}

std::optional<SubscriptionFailing> SubscriptionBook::failing(const Uuid& id) {
    const auto note = notebook_.note(kFailing + to_string(id));
    return note ? deliver::failing_from_note(*note) : std::nullopt;
}

std::vector<std::pair<Uuid, SubscriptionFailing>> SubscriptionBook::failing() {
    std::vector<std::pair<Uuid, SubscriptionFailing>> all;
    for (const Note& note : notebook_.notes(kFailing)) {
        const auto id = parse_uuid(note.name.substr(std::string_view{kFailing}.size()));
        auto failing = deliver::failing_from_note(note.text);
        if (id && failing) all.emplace_back(*id, *std::move(failing));
    }
    return all;
}

void SubscriptionBook::note_failing(const Uuid& id, std::optional<SubscriptionFailing> failing) {
    const std::string name = kFailing + to_string(id);
    if (!failing) return notebook_.drop_note(name);
    if (const auto before = this->failing(id)) {
        failing->since = std::min(failing->since, before->since);
    }
    notebook_.keep_note(name, deliver::to_note(*failing), system_clock().wall() + kFailingKept);
}

/// Whoever changes it lets everybody try at once.
void SubscriptionBook::end_rest(const Uuid& id, bool is_elsewhere_now) {
    auto known = failing(id);
    if (!known) return;
    known->rests_until = {};
    note_failing(id, is_elsewhere_now ? std::nullopt : known);
}

std::string SubscriptionBook::version() {
    return notebook_.note(kVersion).value_or("");
}

void SubscriptionBook::tell_version() {
    notebook_.keep_note(kVersion, to_string(fresh_id()));
}

/// First what it is, then that it changed, then that it is wanted: an instance that sees the target can find
/// the rest.
void SubscriptionBook::write(const Subscription& subscription) {
    Subscription kept = subscription;
    if (!key_.empty()) seal_all(key_, kept);
    notebook_.keep_note(name_of(kept.id), deliver::to_note(kept));
    tell_version();
    const Target target = target_of(subscription);
    const BoxDeclaration box = {};
    store_.store().declare({&box, 0}, {&target, 1});
}

Subscription SubscriptionBook::read(const std::string& text, const Uuid& id) const {
    Subscription subscription;
    try {
        subscription = deliver::from_note(text);
    } catch (const json::ReadError& error) {
        subscription.problem = std::string{"its note cannot be read: "} + error.what();
    }
    subscription.id = id;
    if (std::string closed = unseal_all(key_, subscription); !closed.empty()) {
        subscription.problem = std::move(closed);
    }
    return subscription;
}

std::unique_ptr<Notebook::Hold> SubscriptionBook::alone() {
    auto hold = notebook_.hold("subscriptions");
    if (hold == nullptr) {
        throw StoreError{Reaction::retry, "another process changes subscriptions; try again"};
    }
    return hold;
}

}  // namespace waybill
