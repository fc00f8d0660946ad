#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/key_table.hpp"
#include "core/sequence_queue.hpp"
#include "waybill/message.hpp"

namespace waybill::engine {

struct Work;

/// What memory knows of one (lane, chain).
struct alignas(64) Lane {
    /// Attached works that have entered (exclusive lanes: and do not back off).
    SequenceQueue<Work> queue{};
    /// Rows from here on are in the store only. 0: none.
    Sequence skipped_from = 0;
    /// Asked for; the answer is on its way.
    bool reading = false;
    /// Its head waits in the store while something behind it is still in flight. 0: no.
    Sequence blocked_head = 0;
    /// Deliveries of this lane and chain that run now.
    std::uint32_t running = 0;

    /// Rows from there on wait in the store. A head that is blocked behind them is met again when
    /// the lane is read on.
    void skip_from(Sequence sequence);
    void reset();
};

/// The lanes of a partition that memory knows, by lane_key(). A lane stays where it is until it is
/// erased, and is then used again with the capacity of its queue.
class LaneTable {
public:
    /// Null: memory does not know it.
    Lane* find(std::uint64_t key) const {
        // One step of a message asks several times for its lane.
        if (key != last_key_) {
            const std::unique_ptr<Lane>* found = lanes_.find(key);
            last_ = found == nullptr ? nullptr : found->get();
            last_key_ = key;
        }
        return last_;
    }
    /// Precondition: it is known.
    Lane& at(std::uint64_t key) const { return *find(key); }
    /// Precondition: it is not known.
    Lane& insert(std::uint64_t key);
    void erase(std::uint64_t key);

    std::size_t size() const { return lanes_.size(); }
    /// visit(key, lane), in no order.
    template <class Visit>
    void for_each(const Visit& visit) const {
        lanes_.for_each([&](std::uint64_t key, const std::unique_ptr<Lane>& lane) {
            visit(key, std::as_const(*lane));
        });
    }

private:
    KeyTable<std::unique_ptr<Lane>, 1024> lanes_{};
    /// The last answer.
    mutable std::uint64_t last_key_ = 0;
    mutable Lane* last_ = nullptr;
    std::vector<std::unique_ptr<Lane>> spare_{};
};

}  // namespace waybill::engine
