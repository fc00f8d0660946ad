#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waybill/message.hpp"

namespace waybill::engine {

/// Lanes whose head waits in the store: 16 bytes each in an open-addressing table, so that a million
/// of them fit beside the work that can run.
class BlockedLanes {
public:
    struct Blocked {
        Sequence head = 0;
        /// The store has later rows of this lane too.
        bool more = false;
    };

    /// Null if the lane is not blocked.
    const Blocked* find(std::uint64_t key) const;
    void set(std::uint64_t key, Sequence head, bool more);
    void erase(std::uint64_t key);

    std::size_t size() const { return size_; }
    std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;  ///< 0: free
        /// head × 2 + more
        std::uint64_t packed = 0;
    };
    std::size_t place(std::uint64_t key) const;
    void resize(std::size_t slots);

    std::vector<Slot> slots_{};
    std::size_t size_ = 0;
    mutable Blocked found_{};
};

}  // namespace waybill::engine
