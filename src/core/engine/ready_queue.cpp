#include "core/engine/ready_queue.hpp"

#include "core/assert.hpp"

namespace waybill::engine {
namespace {

/// Idle tenants are forgotten beyond this many, so that a million tenants cost no memory.
constexpr std::size_t kTenantsKept = 1024;

}  // namespace

void ReadyQueue::push(Work& work, std::uint32_t delivery) {
    const auto found = tenants_.try_emplace(work.message->tenant).first;
    Tenant& tenant = found->second;
    tenant.name = &found->first;
    tenant.items.push_back({&work, delivery});
    if (!tenant.in_turn) {
        tenant.in_turn = true;
        turns_.push_back(&tenant);
    }
    ++size_;
}

ReadyQueue::Item ReadyQueue::pop() {
    WAYBILL_ASSERT(size_ > 0);
    if (last_ != nullptr && tenants_.size() > kTenantsKept && last_->items.empty() &&
        !last_->in_turn) {
        tenants_.erase(*last_->name);
    }
    last_ = nullptr;
    for (;;) {
        Tenant& tenant = *turns_.front();
        turns_.pop_front();
        if (tenant.items.empty()) {  // emptied by pop_more
            tenant.in_turn = false;
            if (tenants_.size() > kTenantsKept) {
                tenants_.erase(*tenant.name);
            }
            continue;
        }
        const Item item = tenant.items.front();
        tenant.items.pop_front();
        --size_;
        last_ = &tenant;
        // Its next turn comes after everybody else's.
        tenant.in_turn = !tenant.items.empty();
        if (tenant.in_turn) {
            turns_.push_back(&tenant);
        }
        return item;
    }
}

}  // namespace waybill::engine
