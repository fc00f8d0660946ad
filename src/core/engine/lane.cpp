#include "core/engine/lane.hpp"

#include <algorithm>

#include "core/engine/model.hpp"

namespace waybill::engine {
namespace {

/// Enough for what is in flight; a backlog that ends gives its memory back.
constexpr std::size_t kSpareMost = 4096;
/// A lane that was long once does not keep the room for it.
constexpr std::size_t kRoomKept = 64;

}  // namespace

std::vector<Work*> LaneQueue::copy() const {
    return {works_.begin() + static_cast<std::ptrdiff_t>(first_), works_.end()};
}

std::size_t LaneQueue::place_of(const Work& work) const {
    const auto first = works_.begin() + static_cast<std::ptrdiff_t>(first_);
    return static_cast<std::size_t>(
        std::ranges::lower_bound(first, works_.end(), work.sequence, {}, &Work::sequence) -
        works_.begin());
}

void LaneQueue::insert(Work& work) {
    if (empty() || back()->sequence < work.sequence) {
        works_.push_back(&work);
        return;
    }
    const std::size_t place = place_of(work);
    if (works_[place] != &work) {
        works_.insert(works_.begin() + static_cast<std::ptrdiff_t>(place), &work);
    }
}

void LaneQueue::erase(const Work& work) {
    if (empty()) {
        return;
    }
    const std::size_t place = front() == &work ? first_ : place_of(work);
    if (place == works_.size() || works_[place] != &work) {
        return;
    }
    if (place != first_) {
        works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(place));
    } else if (++first_ * 2 > works_.size()) {
        works_.erase(works_.begin(), works_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
        if (works_.capacity() > kRoomKept + 4 * works_.size()) {
            works_.shrink_to_fit();
        }
    }
}

void LaneQueue::clear() {
    works_.clear();
    if (works_.capacity() > kRoomKept) {
        works_.shrink_to_fit();
    }
    first_ = 0;
}

void Lane::skip_from(Sequence sequence) {
    if (skipped_from == 0 || sequence < skipped_from) {
        skipped_from = sequence;
        blocked_head = 0;
    }
}

void Lane::reset() {
    LaneQueue kept = std::move(queue);
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
