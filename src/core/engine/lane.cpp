#include "core/engine/lane.hpp"

namespace waybill::engine {
namespace {

/// Enough for what is in flight; a backlog that ends gives its memory back.
constexpr std::size_t kSpareMost = 4096;

}  // namespace

void Lane::skip_from(Sequence sequence) {
    if (skipped_from == 0 || sequence < skipped_from) {
        skipped_from = sequence;
        blocked_head = 0;
    }
}

void Lane::reset() {
    SequenceQueue<Work> kept = std::move(queue);
    kept.clear();
    *this = {};
    queue = std::move(kept);
}

Lane& LaneTable::insert(std::uint64_t key) {
    std::unique_ptr<Lane> lane;
    if (spare_.empty()) {
        lane = std::make_unique<Lane>();
    } else {
        lane = std::move(spare_.back());
        spare_.pop_back();
    }
    last_key_ = key;
    last_ = lane.get();
    lanes_.set(key, std::move(lane));
    return *last_;
}

void LaneTable::erase(std::uint64_t key) {
    std::unique_ptr<Lane> lane = lanes_.erase(key);
    last_key_ = key;
    last_ = nullptr;
    if (lane != nullptr && spare_.size() < kSpareMost) {
        lane->reset();
        spare_.push_back(std::move(lane));
    }
}

}  // namespace waybill::engine
