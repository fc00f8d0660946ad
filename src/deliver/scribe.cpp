#include "deliver/scribe.hpp"

#include <exception>
#include <utility>

#include "deliver/refused.hpp"

namespace waybill::deliver {

void Scribe::keep_failing(const Uuid& id, std::optional<SubscriptionFailing> failing) {
    if (book_ == nullptr) return;
    const std::lock_guard lock{mutex_};
    failing_.insert_or_assign(id, std::move(failing));
}

void Scribe::keep_disabled(SubscriptionPtr subscription, std::string reason) {
    if (book_ == nullptr) return;
    const Uuid id = subscription->id;
    const std::lock_guard lock{mutex_};
    disabled_.insert_or_assign(id, Disabled{std::move(subscription), std::move(reason)});
}

/// What the store refuses for good is let go: it would keep all others waiting.
void Scribe::write_disabled() {
    for (;;) {
        std::unique_lock lock{mutex_};
        if (disabled_.empty()) return;
        auto node = disabled_.extract(disabled_.begin());
        lock.unlock();
        const Subscription& subscription = *node.mapped().subscription;
        // Whoever removed or changed it since means it; of one that is gone it would stand there for ever.
        if (!endpoints_.is_disabled(key_of(subscription))) continue;
        try {
            book_->disable(subscription, node.mapped().reason);
            worked(disabled_trouble_);
        } catch (const StoreError& error) {
            tell_unwritten(node.key(), error, disabled_trouble_);
            if (is_refused(error)) continue;
            lock.lock();
            disabled_.insert(std::move(node));
            return;
        } catch (const std::exception& error) {
            tell_unwritten(node.key(), error, disabled_trouble_);  // and again it would be refused
        }
    }
}

void Scribe::write_failing(std::size_t most) {
    for (std::size_t n = 0; n < most; ++n) {
        std::unique_lock lock{mutex_};
        if (failing_.empty()) return;
        auto [id, failing] = *failing_.begin();
        failing_.erase(failing_.begin());
        lock.unlock();
        if (failing) failing->instance = instance_;
        try {
            book_->note_failing(id, failing);
            worked(failing_trouble_);
        } catch (const StoreError& error) {
            tell_unwritten(id, error, failing_trouble_);
            if (is_refused(error)) continue;
            lock.lock();
            failing_.try_emplace(id, std::move(failing));
            return;
        } catch (const std::exception& error) {
            tell_unwritten(id, error, failing_trouble_);
        }
    }
}

void Scribe::tell_unwritten(const Uuid& id, const std::exception& error, std::string& last) {
    {
        const std::lock_guard lock{mutex_};
        if (std::exchange(last, error.what()) == error.what()) return;
    }
    tell_({.kind = SubscriptionNews::Kind::unreadable,
           .subscription = id,
           .text = std::string{"cannot be written down: "} + error.what()});
}

void Scribe::worked(std::string& last) {
    const std::lock_guard lock{mutex_};
    last.clear();
}

}  // namespace waybill::deliver
