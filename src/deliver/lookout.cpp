#include "deliver/lookout.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace waybill::deliver {
namespace {

using Kind = SubscriptionNews::Kind;

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
            if (known.last_error != error.what()) {
                known.last_error = error.what();
                tell_({.kind = Kind::unreadable, .text = known.last_error});
            }
        }
    }
    return is_new;
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

/// Since when they fail, as somebody wrote it down before.
void Lookout::recall(const std::vector<Target>& targets) {
    for (const Target& target : targets) {
        const auto id = parse_uuid(target.key.substr(subscription_prefix.size()));
        if (const auto since = id && book_ != nullptr ? book_->failing_since(*id) : std::nullopt) {
            endpoints_.recall(target.key, *since);
        }
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
