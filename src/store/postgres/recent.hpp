#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "waybill/message.hpp"

namespace waybill::postgres {

/// Messages that this instance has just appended: whoever reads their rows back need not read their bodies
/// again. A hint of bounded size; what is not here is in the database.
///
/// Thread safety: any thread.
class Recent {
public:
    explicit Recent(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    void put(Sequence sequence, MessagePtr message);
    /// Null: not here. It is given once.
    MessagePtr take(Sequence sequence);

private:
    static std::uint64_t size_of(const Message& message);

    const std::uint64_t bytes_max_;
    std::mutex mutex_{};  ///< guards everything below
    std::unordered_map<Sequence, MessagePtr> messages_{};
    /// In the order they came; those that were taken are still in it.
    std::deque<Sequence> order_{};
    std::uint64_t bytes_ = 0;
};

}  // namespace waybill::postgres
