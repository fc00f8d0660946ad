#include "deliver/scribe.hpp"

#include <utility>

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

void Scribe::write_disabled() {
    for (;;) {
        std::unique_lock lock{mutex_};
        if (disabled_.empty()) return;
        auto node = disabled_.extract(disabled_.begin());
        lock.unlock();
        try {
            book_->disable(*node.mapped().subscription, node.mapped().reason);
        } catch (const StoreError& error) {
            tell_unwritten(node.key(), error);
            lock.lock();
            disabled_.insert(std::move(node));
            return;
        } catch (const std::exception& error) {
            tell_unwritten(node.key(), error);  // and again it would be refused
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
        } catch (const std::exception& error) {
            lock.lock();
            failing_.try_emplace(id, std::move(failing));
            lock.unlock();
            return tell_unwritten(id, error);
        }
    }
}

void Scribe::tell_unwritten(const Uuid& id, const std::exception& error) const {
    tell_({.kind = SubscriptionNews::Kind::unreadable,
           .subscription = id,
           .text = std::string{"cannot be written down: "} + error.what()});
}

}  // namespace waybill::deliver
