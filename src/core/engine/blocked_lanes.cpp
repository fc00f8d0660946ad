#include "core/engine/blocked_lanes.hpp"

namespace waybill::engine {
namespace {

constexpr std::size_t kFirstSlots = 16;

std::uint64_t non_zero(std::uint64_t key) {
    return key == 0 ? 1 : key;
}

}  // namespace

std::size_t BlockedLanes::place(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(key ^ key >> 32) & mask;
    while (slots_[at].key != 0 && slots_[at].key != key) {
        at = (at + 1) & mask;
    }
    return at;
}

const BlockedLanes::Blocked* BlockedLanes::find(std::uint64_t key) const {
    if (size_ == 0) {
        return nullptr;
    }
    const Slot& slot = slots_[place(non_zero(key))];
    if (slot.key == 0) {
        return nullptr;
    }
    found_ = {static_cast<Sequence>(slot.packed >> 1), (slot.packed & 1) != 0};
    return &found_;
}

void BlockedLanes::set(std::uint64_t key, Sequence head, bool more) {
    key = non_zero(key);
    if (slots_.empty() || (size_ + 1) * 4 > slots_.size() * 3) {
        resize(slots_.empty() ? kFirstSlots : slots_.size() * 2);
    }
    Slot& slot = slots_[place(key)];
    size_ += slot.key == 0 ? 1 : 0;
    slot = {key, static_cast<std::uint64_t>(head) << 1 | (more ? 1U : 0U)};
}

void BlockedLanes::erase(std::uint64_t key) {
    if (size_ == 0) {
        return;
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = place(non_zero(key));
    if (slots_[hole].key == 0) {
        return;
    }
    // Shift later ones of the same run back, so that no tombstones are needed.
    for (std::size_t at = (hole + 1) & mask; slots_[at].key != 0; at = (at + 1) & mask) {
        const std::size_t home =
            static_cast<std::size_t>(slots_[at].key ^ slots_[at].key >> 32) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            slots_[hole] = slots_[at];
            hole = at;
        }
    }
    slots_[hole] = {};
    --size_;
    if (slots_.size() > kFirstSlots && size_ * 8 < slots_.size()) {
        resize(slots_.size() / 2);
    }
}

void BlockedLanes::resize(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.key != 0) {
            slots_[place(slot.key)] = slot;
        }
    }
}

}  // namespace waybill::engine
