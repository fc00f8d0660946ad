#include "deliver/lookout.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "waybill/system.hpp"

namespace waybill::deliver {
namespace {

using Kind = SubscriptionNews::Kind;

constexpr Duration kHearEvery = std::chrono::seconds{30};

/// It would be refused again.
bool is_refused(const StoreError& error) {
    return error.reaction() == Reaction::give_up || error.reaction() == Reaction::bad_data;
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
    if (ask()) {
        put();
        untold_ = true;
    }
    declare();
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

void Lookout::put() {
    std::vector<Subscription> all;
    for (const Known& known : readers_) {
        for (const Subscription& one : known.said) {
            all.push_back(one);
            if (!one.problem.empty()) {
                tell_({.kind = Kind::unreadable, .subscription = one.id, .text = one.problem});
            }
        }
    }
    auto change = endpoints_.put(std::move(all));
    recall(change.wanted);
    std::ranges::move(change.wanted, std::back_inserter(undeclared_.wanted));
    std::ranges::move(change.unwanted, std::back_inserter(undeclared_.unwanted));
}

/// How they fail, as somebody wrote it down before.
void Lookout::recall(const std::vector<Target>& targets) {
    if (book_ == nullptr || targets.empty()) return;
    std::unordered_set<std::string_view> fresh;
    for (const Target& target : targets) fresh.insert(target.key);
    for (const auto& [id, failing] : book_->failing()) {
        const std::string key = std::string{subscription_prefix} + to_string(id);
        if (fresh.contains(key)) endpoints_.recall(key, failing);
    }
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
    auto& wanted = undeclared_.wanted;
    try {
        if (!wanted.empty()) store_.store().declare({}, wanted);
    } catch (const StoreError& error) {
        if (!is_refused(error)) throw;
        // Of a box that is not there: no reason to keep the others waiting.
        std::ranges::for_each(wanted, [this](const Target& target) { declare_one(target); });
    }
    wanted.clear();
    auto& unwanted = undeclared_.unwanted;
    for (; !unwanted.empty(); unwanted.pop_back()) {
        store_.catalogue()->forget_target(unwanted.back().box, unwanted.back().key);
    }
}

void Lookout::declare_one(const Target& target) {
    try {
        store_.store().declare({}, {&target, 1});
    } catch (const StoreError& error) {
        if (!is_refused(error)) throw;
        tell_({.kind = Kind::unreadable, .text = error.what()});
    }
}

}  // namespace waybill::deliver
