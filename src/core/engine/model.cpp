#include "core/engine/model.hpp"

#include <algorithm>

namespace waybill::engine {

std::uint32_t bytes_of(const Work& work) {
    // Allocator headers, map nodes and queue slots, rounded up.
    constexpr std::size_t kOverhead = 160;
    const Message& message = *work.message;
    std::size_t bytes = kOverhead + sizeof(Work) + sizeof(Message) +
                        work.deliveries.capacity() * (sizeof(Delivery) + 64) + message.body.size();
    for (const std::string* text :
         {&message.box, &message.type, &message.source, &message.content_type, &message.tenant,
          &message.user, &message.correlation_id, &message.lane, &message.dedup_key,
          &message.collapse_key}) {
        bytes += text->size() > 15 ? text->capacity() + 16 : 0;
    }
    for (const auto& [name, value] : message.attributes) {
        bytes += 96 + name.size() + value.size();
    }
    return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
}

void Work::reset() {
    std::vector<Delivery> kept = std::move(deliveries);
    kept.clear();
    *this = {};
    deliveries = std::move(kept);
}

bool is_attached(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && delivery.attached;
    });
}

bool any_open(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && !delivery.is_terminal();
    });
}

bool any_unsettled(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && !delivery.is_settled();
    });
}

bool any_halting(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && delivery.state == Delivery::State::dead &&
               !delivery.skipped;
    });
}

StoreTime earliest_due(const std::vector<Delivery>& deliveries, const Routes& routes, bool halted) {
    StoreTime due = store_never;
    for (const Delivery& delivery : deliveries) {
        if (delivery.state == Delivery::State::running) {
            return StoreTime{};
        }
        const std::uint32_t predecessor = routes.predecessor(delivery.target);
        const bool waits = std::ranges::any_of(deliveries, [&](const Delivery& other) {
            return other.target == predecessor && !other.is_terminal();
        });
        if (delivery.state == Delivery::State::ready && !waits &&
            !(halted && any_halting(deliveries, delivery.chain))) {
            due = std::min(due, delivery.due);
        }
    }
    return due;
}

}  // namespace waybill::engine
