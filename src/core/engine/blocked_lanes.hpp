#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/engine/key_table.hpp"
#include "waybill/message.hpp"

namespace waybill::engine {

/// Lanes whose head waits in the store: 16 bytes each, so that a million of them fit beside the work
/// that can run.
class BlockedLanes {
public:
    struct Blocked {
        Sequence head = 0;
        /// The store has later rows of this lane too.
        bool more = false;
    };

    /// Nothing if the lane is not blocked.
    std::optional<Blocked> find(std::uint64_t key) const {
        const std::uint64_t* packed = table_.find(key);
        if (packed == nullptr) {
            return std::nullopt;
        }
        return Blocked{static_cast<Sequence>(*packed >> 1), (*packed & 1) != 0};
    }
    void set(std::uint64_t key, Sequence head, bool more) {
        table_.set(key, static_cast<std::uint64_t>(head) << 1 | (more ? 1U : 0U));
    }
    void erase(std::uint64_t key) { table_.erase(key); }

    std::size_t size() const { return table_.size(); }
    std::size_t bytes() const { return table_.bytes(); }

private:
    /// head × 2 + more
    KeyTable<std::uint64_t> table_{};
};

}  // namespace waybill::engine
