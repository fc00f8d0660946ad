#include "deliver/lookout.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "deliver/refused.hpp"
#include "waybill/system.hpp"

namespace waybill::deliver {
namespace {

using Kind = SubscriptionNews::Kind;

constexpr Duration kHearEvery = std::chrono::seconds{30};

void leave_out(std::vector<Target>& targets, const Target& unwanted) {
    std::erase_if(targets, [&](const Target& target) {
        return target.box == unwanted.box && target.key == unwanted.key;
    });
}

}  // namespace

void Lookout::add(std::shared_ptr<SubscriptionReader> reader) {
    const std::lock_guard lock{mutex_};
    readers_.push_back({.reader = std::move(reader)});
}

bool Lookout::look() {
    const std::lock_guard lock{mutex_};
    return look_under_lock();
}

bool Lookout::look_again() {
    const std::lock_guard lock{mutex_};
    try {
        const bool is_new = look_under_lock();
        hear();
        last_trouble_.clear();
        return is_new;
    } catch (const StoreError& error) {
        if (last_trouble_ != error.what()) {
            last_trouble_ = error.what();
            tell_({.kind = Kind::unreadable, .text = last_trouble_});
        }
        return false;
    }
}

/// The registry comes first: whoever learns that something changed learns that with it.
bool Lookout::look_under_lock() {
    bool is_new = ask();
    std::exception_ptr trouble;
    try {
        is_new = learn() || is_new;
    } catch (const StoreError&) {
        trouble = std::current_exception();  // no reason not to register what readers say
    }
    if (is_new) put();
    declare();
    recall();
    if (trouble) std::rethrow_exception(trouble);
    return std::exchange(untold_, false);
}

bool Lookout::ask() {
    bool is_new = false;
    for (Known& known : readers_) {
        try {
            auto said = known.reader->read();
            known.last_error.clear();
            if (!said) continue;
            known.said = std::move(*said);
            is_new = true;
        } catch (const std::exception& error) {
            tell_once(known, error.what());
        } catch (...) {
            tell_once(known, "a reader of subscriptions threw something that is no std::exception");
        }
    }
    return is_new;
}

/// A trouble that lasts is one.
void Lookout::tell_once(Known& known, const std::string& error) {
    if (known.last_error == error) return;
    known.last_error = error;
    tell_({.kind = Kind::unreadable, .text = error});
}

/// The version first: what is read may be newer than it says, but never older.
bool Lookout::learn() {
    if (book_ == nullptr) return false;
    std::string version = book_->version();
    if (standings_version_ == version) return false;
    std::map<Uuid, SubscriptionStanding> standings;
    for (auto& [id, standing] : book_->standings()) standings.emplace(id, std::move(standing));
    standings_ = std::move(standings);
    standings_version_ = std::move(version);
    return true;
}

/// Until it is known whether it was disabled nothing is sent: all that waits would go to whoever wants no more.
Subscription Lookout::in_force(const Subscription& said) const {
    Subscription one = said;
    if (book_ != nullptr && !standings_version_ && one.state == Subscription::State::active) {
        one.state = Subscription::State::paused;
        one.reason = "the store could not yet be asked whether it is disabled";
    }
    const auto found = standings_.find(one.id);
    if (found != standings_.end()) apply(found->second, one);
    return one;
}

void Lookout::put() {
    std::vector<Subscription> all;
    std::map<Uuid, std::string> problems;
    for (const Known& known : readers_) {
        for (const Subscription& one : known.said) {
            all.push_back(in_force(one));
            if (!one.problem.empty()) problems[one.id] = one.problem;
        }
    }
    for (const auto& [id, problem] : problems) {
        const auto told = problems_.find(id);
        if (told != problems_.end() && told->second == problem) continue;
        tell_({.kind = Kind::unreadable, .subscription = id, .text = problem});
    }
    problems_ = std::move(problems);
    const auto change = endpoints_.put(std::move(all));
    untold_ = true;
    // What is said now replaces what could not be told before.
    for (const Target& target : change.wanted) {
        leave_out(undeclared_.unwanted, target);
        undeclared_.wanted.push_back(target);
        unrecalled_.insert(target.key);
    }
    for (const Target& target : change.unwanted) {
        leave_out(undeclared_.wanted, target);
        undeclared_.unwanted.push_back(target);
    }
}

/// How they fail, as somebody wrote it down before.
void Lookout::recall() {
    if (book_ != nullptr && !unrecalled_.empty()) {
        for (const auto& [id, failing] : book_->failing()) {
            const std::string key = std::string{subscription_prefix} + to_string(id);
            if (unrecalled_.contains(key)) endpoints_.recall(key, failing);
        }
    }
    unrecalled_.clear();
}

/// What another instance wrote, perhaps the last thing it did: whoever succeeds crosses it out.
void Lookout::hear() {
    const LocalTime now = system_clock().now();
    if (book_ == nullptr || now < hear_at_) return;
    hear_at_ = later(now, kHearEvery);
    for (const auto& [id, failing] : book_->failing()) {
        endpoints_.heard(std::string{subscription_prefix} + to_string(id));
    }
}

/// What could not be told to the store is told again.
void Lookout::declare() {
    declare_wanted();
    auto& unwanted = undeclared_.unwanted;
    for (; !unwanted.empty(); unwanted.pop_back()) {
        const Target& gone = unwanted.back();
        store_.catalogue()->forget_target(gone.box, gone.key);
        const auto id = parse_uuid(gone.key.substr(subscription_prefix.size()));
        if (book_ != nullptr && id) {
            book_->drop_standing(*id);
            standings_.erase(*id);  // it may be named again before the book can be read
        }
    }
}

void Lookout::declare_wanted() {
    auto& wanted = undeclared_.wanted;
    try {
        if (!wanted.empty()) store_.store().declare({}, wanted);
    } catch (const StoreError& error) {
        if (!is_refused(error)) throw;
        // Of a box that is not there: no reason to keep the others waiting. It may come, when an application starts.
        std::vector<Target> refused;
        for (const Target& target : wanted) {
            if (!declare_one(target)) refused.push_back(target);
        }
        wanted = std::move(refused);
        return;
    }
    wanted.clear();
    refused_.clear();
}

bool Lookout::declare_one(const Target& target) {
    try {
        store_.store().declare({}, {&target, 1});
        return true;
    } catch (const StoreError& error) {
        if (!is_refused(error)) throw;
        if (refused_.insert(target.key).second) {
            tell_({.kind = Kind::unreadable, .text = error.what()});
        }
        return false;
    }
}

}  // namespace waybill::deliver
