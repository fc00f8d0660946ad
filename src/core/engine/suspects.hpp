#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "waybill/ownership.hpp"
#include "waybill/time.hpp"

namespace waybill::engine {

/// Rows that memory could not account for when it looked back. Once says little: no increment may have brought the row
/// yet, or the partition is somebody else's by now, who has changed it. One that is met three times, with a complete
/// increment and a beat between each two, was unknown while the partition was ours and after an increment had brought
/// all: it was lost track of. Who looks again looks only for those that were met, or there would always be somebody new.
class Suspects {
public:
    /// Nothing is suspected, or what is may be looked at again.
    bool may_look() const { return met_.empty() || (increment_since_ && beat_since_); }
    bool has_news() const { return !met_.empty() && may_look(); }

    /// What the look that begins meets is held against what the last one met.
    void look() {
        admits_ = met_.empty();
        before_ = std::exchange(met_, {});
        increment_since_ = beat_since_ = false;
    }
    /// The look that begins is about this partition, too.
    bool looks_at(PartitionId partition) const {
        const auto first = before_.lower_bound({partition, std::numeric_limits<Sequence>::min()});
        return admits_ || (first != before_.end() && first->first.first == partition);
    }
    /// True: it was lost track of.
    bool meet(PartitionId partition, Sequence sequence, LocalTime now, std::uint64_t reads) {
        const Row row{partition, sequence};
        const auto before = before_.find(row);
        if (before == before_.end() && !admits_) {
            return false;
        }
        const std::uint32_t times = before == before_.end() ? 1 : before->second + 1;
        if (times == kTimes) {
            return true;
        }
        if (met_.size() < kMost) {
            met_.emplace(row, times);
            met_at_ = now;
            reads_ = reads;
            increment_since_ = beat_since_ = false;
        }
        return false;
    }

    /// An increment is complete that began with this read.
    void increment_ended(std::uint64_t began) { increment_since_ |= began > reads_; }
    /// A beat succeeded, and took from us what is not ours any more.
    void beat_succeeded(LocalTime sent_at) { beat_since_ |= sent_at > met_at_; }
    /// It is not ours any more.
    void forget(PartitionId partition) {
        const auto is_of = [&](const auto& suspect) { return suspect.first.first == partition; };
        std::erase_if(met_, is_of);
        std::erase_if(before_, is_of);
    }

private:
    using Row = std::pair<PartitionId, Sequence>;

    static constexpr std::size_t kMost = 1000;
    static constexpr std::uint32_t kTimes = 3;

    /// And how often in a row.
    std::map<Row, std::uint32_t> met_{};
    std::map<Row, std::uint32_t> before_{};
    bool admits_ = true;
    LocalTime met_at_{};
    std::uint64_t reads_ = 0;
    bool increment_since_ = false;
    bool beat_since_ = false;
};

}  // namespace waybill::engine
