#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/engine/node_pool.hpp"
#include "waybill/message.hpp"

namespace waybill::engine {

struct Work;

/// Works in the order of their sequence. They leave at the front and come in at the back.
class LaneQueue {
public:
    bool empty() const { return first_ == works_.size(); }
    std::size_t size() const { return works_.size() - first_; }
    Work* operator[](std::size_t i) const { return works_[first_ + i]; }
    Work* front() const { return works_[first_]; }
    Work* back() const { return works_.back(); }
    /// For those who change it while they walk.
    std::vector<Work*> copy() const;

    /// Once, however often it is said.
    void insert(Work& work);
    void erase(const Work& work);
    void clear();

private:
    std::size_t place_of(const Work& work) const;

    std::vector<Work*> works_{};
    /// Those before it have left.
    std::size_t first_ = 0;
};

/// What memory knows of one (lane, chain).
struct Lane {
    /// Attached works that have entered (exclusive lanes: and do not back off).
    LaneQueue queue{};
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

/// The lanes of a partition that memory knows, by lane_key(). One event asks for the same lane many
/// times: the last answer is remembered.
class LaneTable {
public:
    using Map = std::unordered_map<std::uint64_t, Lane>;

    /// Null: memory does not know it.
    Lane* find(std::uint64_t key) const;
    /// Precondition: it is known.
    Lane& at(std::uint64_t key) const { return *find(key); }
    /// Precondition: it is not known.
    Lane& insert(std::uint64_t key);
    void erase(std::uint64_t key);

    std::size_t size() const { return lanes_.size(); }
    auto begin() const { return lanes_.begin(); }
    auto end() const { return lanes_.end(); }

private:
    mutable Map lanes_{};
    NodePool<Map> spare_{};
    mutable std::uint64_t last_key_ = 0;
    mutable Lane* last_ = nullptr;
};

}  // namespace waybill::engine
