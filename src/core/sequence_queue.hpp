#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "waybill/message.hpp"

namespace waybill {

/// Items in the order of their sequences; each has one of its own. They come in at the back and leave
/// at the front; other places cost a move of the shorter side. It never looks at an item: most have
/// been out of the processor's cache since they came.
template <class Item>
class SequenceQueue {
public:
    bool empty() const { return first_ == places_.size(); }
    std::size_t size() const { return places_.size() - first_; }
    Item* operator[](std::size_t i) const { return places_[first_ + i].item; }
    Item* front() const { return places_[first_].item; }
    Sequence first_sequence() const { return places_[first_].sequence; }
    Sequence last_sequence() const { return places_.back().sequence; }
    /// Where the first one is that is not before it; size(): there is none.
    std::size_t place_from(Sequence sequence) const {
        return static_cast<std::size_t>(lower_bound(sequence) - begin());
    }
    /// For those who change it while they walk.
    std::vector<Item*> copy() const {
        std::vector<Item*> items;
        items.reserve(size());
        std::transform(begin(), places_.end(), std::back_inserter(items),
                       [](const Place& place) { return place.item; });
        return items;
    }

    /// Once, however often it is said.
    void insert(Sequence sequence, Item& item) {
        if (empty() || last_sequence() < sequence) {
            places_.push_back({sequence, &item});
        } else if (const auto at = lower_bound(sequence); at->sequence != sequence) {
            places_.insert(at, {sequence, &item});
        }
    }

    /// Nothing if it is not there.
    void erase(Sequence sequence) {
        if (!empty() && first_sequence() == sequence) {
            ++first_;
            give_room_back();
            return;
        }
        const auto at = lower_bound(sequence);
        if (at == places_.end() || at->sequence != sequence) {
            return;
        }
        if (at - begin() < places_.end() - at) {
            std::move_backward(begin(), at, std::next(at));
            ++first_;
            give_room_back();
        } else {
            places_.erase(at);
        }
    }

    void clear() {
        places_.clear();
        first_ = 0;
        shrink();
    }

private:
    struct Place {
        Sequence sequence = 0;
        Item* item = nullptr;
    };
    using Places = std::vector<Place>;
    /// One that was long once does not keep the room for it.
    static constexpr std::size_t kRoomKept = 64;

    typename Places::const_iterator begin() const {
        return places_.begin() + static_cast<std::ptrdiff_t>(first_);
    }
    typename Places::iterator begin() {
        return places_.begin() + static_cast<std::ptrdiff_t>(first_);
    }
    typename Places::const_iterator lower_bound(Sequence sequence) const {
        return std::ranges::lower_bound(begin(), places_.end(), sequence, {}, &Place::sequence);
    }
    typename Places::iterator lower_bound(Sequence sequence) {
        return std::ranges::lower_bound(begin(), places_.end(), sequence, {}, &Place::sequence);
    }
    void give_room_back() {
        if (first_ * 2 > places_.size()) {
            // Those that have left were the half of it, so that no place is moved onto another that moves.
            std::move(begin(), places_.end(), places_.begin());
            places_.resize(size());
            first_ = 0;
            shrink();
        }
    }
    void shrink() {
        if (places_.capacity() > kRoomKept + 4 * places_.size()) {
            places_.shrink_to_fit();
        }
    }

    Places places_{};
    /// Those before it have left.
    std::size_t first_ = 0;
};

}  // namespace waybill
