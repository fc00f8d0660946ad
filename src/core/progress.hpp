#pragma once

#include <algorithm>

#include "waybill/work.hpp"

/// What a store records of the deliveries of one row.
namespace waybill::detail {

inline Progress* progress_of(Entry& entry, const std::string& target) {
    const auto found = std::ranges::find(entry.progress, target, &Progress::target);
    return found == entry.progress.end() ? nullptr : &*found;
}

inline void put_progress(Entry& entry, const Progress& change) {
    if (Progress* known = progress_of(entry, change.target)) {
        *known = change;
    } else {
        entry.progress.push_back(change);
    }
}

/// A row may stay open beside its dead letter. When the settlement that said so is repeated after an
/// operator requeued that letter, it must not come back.
inline bool was_dead(Entry& entry, const std::string& target) {
    const Progress* known = progress_of(entry, target);
    return known != nullptr && known->state == Progress::State::dead;
}

}  // namespace waybill::detail
