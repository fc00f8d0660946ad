#include "waybill/slot.hpp"

#include <array>

#include "core/sha256.hpp"

namespace waybill {

static_assert(slot_count == 1U << 10, "ten bits are taken below");

std::uint32_t slot_of(std::string_view key_bytes) {
    const auto digest = sha256(key_bytes);
    return std::uint32_t{digest[0]} << 2 | std::uint32_t{digest[1]} >> 6;
}

std::uint32_t slot_of(const Message& message) {
    if (!message.lane.empty()) return slot_of(std::string_view{message.lane});

    std::array<char, 16> id{};
    for (std::size_t i = 0; i < id.size(); ++i) {
        id[i] = static_cast<char>(message.id.bytes[i]);
    }
    return slot_of(std::string_view{id.data(), id.size()});
}

}  // namespace waybill
