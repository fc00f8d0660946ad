#include "core/engine/model.hpp"

#include <algorithm>

namespace waybill::engine {

std::uint64_t hash_text(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9ULL;
    hash ^= hash >> 32;
    return hash == 0 ? 1 : hash;
}

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

std::vector<std::uint32_t> chains_of(const std::vector<Delivery>& deliveries) {
    std::vector<std::uint32_t> chains;
    for (const Delivery& delivery : deliveries) {
        if (std::ranges::find(chains, delivery.chain) == chains.end()) {
            chains.push_back(delivery.chain);
        }
    }
    return chains;
}

bool any_open(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && !delivery.is_terminal();
    });
}

bool any_dead(const std::vector<Delivery>& deliveries, std::uint32_t chain) {
    return std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && delivery.state == Delivery::State::dead;
    });
}

}  // namespace waybill::engine
