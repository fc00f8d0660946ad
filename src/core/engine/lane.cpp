#include "core/engine/lane.hpp"

#include <algorithm>

#include "core/engine/model.hpp"

namespace waybill::engine {

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
    }
}

void LaneQueue::clear() {
    works_.clear();
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

Lane* LaneTable::find(std::uint64_t key) const {
    if (last_ != nullptr && last_key_ == key) {
        return last_;
    }
    const auto found = lanes_.find(key);
    if (found == lanes_.end()) {
        return nullptr;
    }
    last_key_ = key;
    last_ = &found->second;
    return last_;
}

Lane& LaneTable::insert(std::uint64_t key) {
    last_key_ = key;
    last_ = &spare_.insert(lanes_, key);
    return *last_;
}

void LaneTable::erase(std::uint64_t key) {
    last_ = nullptr;
    spare_.erase(lanes_, lanes_.find(key));
}

}  // namespace waybill::engine
