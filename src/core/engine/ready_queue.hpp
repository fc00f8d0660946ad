#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/engine/model.hpp"

namespace waybill::engine {

/// Deliveries of one target that may start, in fair turns between tenants: a tenant with a million
/// waiting gets one turn, like a tenant with one. Inside a tenant first come, first served; a lane
/// has at most its head here, so lanes are served in turns too.
class ReadyQueue {
public:
    struct Item {
        Work* work = nullptr;
        std::uint32_t delivery = 0;
    };

    ReadyQueue() = default;
    ReadyQueue(const ReadyQueue&) = delete;
    ReadyQueue& operator=(const ReadyQueue&) = delete;

    void push(Work& work, std::uint32_t delivery);
    /// Precondition: not empty.
    Item pop();
    /// Among the first ones of the tenant whose turn is next the one with the highest `score` comes
    /// next; those of equal score keep their order.
    template <class Score>
    void prefer(const Score& score) {
        if (turns_.empty()) {
            return;
        }
        std::deque<Item>& items = turns_.front()->items;
        const auto end =
            items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), kLookAhead));
        const auto best = std::ranges::max_element(items.begin(), end, {}, score);
        if (best != end) {
            std::rotate(items.begin(), best, best + 1);
        }
    }
    /// The next one of the tenant whose turn it was, if `accept` likes it: for batches.
    template <class Accept>
    bool pop_more(Item& item, const Accept& accept) {
        if (last_ == nullptr || last_->items.empty() || !accept(last_->items.front())) {
            return false;
        }
        item = last_->items.front();
        last_->items.pop_front();
        --size_;
        return true;
    }

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

private:
    static constexpr std::size_t kLookAhead = 64;

    struct Tenant {
        /// Null: it is `nobody_`.
        const std::string* name = nullptr;
        std::deque<Item> items{};
        bool in_turn = false;
    };
    Tenant& tenant_of(const Work& work);
    /// Idle tenants are forgotten when there are too many.
    void forget_if_idle(const Tenant& tenant);

    std::unordered_map<std::string, Tenant> tenants_{};
    /// Of the messages without a tenant.
    Tenant nobody_{};
    std::deque<Tenant*> turns_{};
    Tenant* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace waybill::engine
