#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace waybill::engine {

/// A map from hashes to small values by open addressing: one look into one array for most keys, no
/// node, no tombstones, and memory that shrinks when it empties. The keys must be hashes already.
/// `slots_kept`: of one that was larger. What empties and fills again and again is not moved every time.
template <class Value, std::size_t slots_kept = 16>
class KeyTable {
public:
    /// Null: it has no such key. Valid until the table changes.
    const Value* find(std::uint64_t key) const {
        if (size_ == 0) {
            return nullptr;
        }
        const Slot& slot = slots_[place(non_zero(key))];
        return slot.key == 0 ? nullptr : &slot.value;
    }

    void set(std::uint64_t key, Value value) {
        key = non_zero(key);
        if (slots_.empty() || (size_ + 1) * 4 > slots_.size() * 3) {
            resize(slots_.empty() ? kFirstSlots : slots_.size() * 2);
        }
        Slot& slot = slots_[place(key)];
        size_ += slot.key == 0 ? 1 : 0;
        slot = {key, std::move(value)};
    }

    /// What it had; a value-initialised one if it did not have the key.
    Value erase(std::uint64_t key) {
        if (size_ == 0) {
            return {};
        }
        const std::size_t mask = slots_.size() - 1;
        std::size_t hole = place(non_zero(key));
        if (slots_[hole].key == 0) {
            return {};
        }
        Value erased = std::move(slots_[hole].value);
        // Shift later ones of the same run back, so that no tombstones are needed.
        for (std::size_t at = (hole + 1) & mask; slots_[at].key != 0; at = (at + 1) & mask) {
            if (((at - home(slots_[at].key)) & mask) >= ((at - hole) & mask)) {
                slots_[hole] = std::move(slots_[at]);
                hole = at;
            }
        }
        slots_[hole] = {};
        --size_;
        if (slots_.size() > slots_kept && size_ * 8 < slots_.size()) {
            resize(slots_.size() / 2);
        }
        return erased;
    }

    /// visit(key, value), in no order.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const Slot& slot : slots_) {
            if (slot.key != 0) {
                visit(slot.key, slot.value);
            }
        }
    }

    std::size_t size() const { return size_; }
    std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;  ///< 0: free
        Value value{};
    };
    static constexpr std::size_t kFirstSlots = 16;

    static std::uint64_t non_zero(std::uint64_t key) { return key == 0 ? 1 : key; }

    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>(key ^ key >> 32) & (slots_.size() - 1);
    }

    /// Of the key, or where it would go.
    std::size_t place(std::uint64_t key) const {
        std::size_t at = home(key);
        while (slots_[at].key != 0 && slots_[at].key != key) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }

    void resize(std::size_t slots) {
        std::vector<Slot> old(slots);
        old.swap(slots_);
        for (Slot& slot : old) {
            if (slot.key != 0) {
                slots_[place(slot.key)] = std::move(slot);
            }
        }
    }

    std::vector<Slot> slots_{};
    std::size_t size_ = 0;
};

}  // namespace waybill::engine
