#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

namespace waybill {

/// The position of a message in its store. Larger is later; gaps are normal.
using Sequence = std::int64_t;

/// Headers, CloudEvents extensions, trace context: whatever travels with the body.
using Attributes = std::map<std::string, std::string, std::less<>>;

/// What a service accepts or announces. Immutable once appended; the body is bytes and is stored,
/// signed and handed over exactly as it came. Its place in the store is not part of it: see
/// AppendResult::sequence, Entry::sequence and Context::sequence().
struct Message {
    /// Nil: a UUIDv7 is given at append. An id the caller brings is also its dedup key unless
    /// `dedup_key` says otherwise.
    Uuid id{};
    std::string box{};
    std::string type{};
    std::string source{};
    std::string body{};
    std::string content_type{};
    Attributes attributes{};
    std::string tenant{};
    std::string user{};
    std::string correlation_id{};
    /// When it happened, by the caller's own word. Kept and handed over; it decides nothing, because
    /// order is the store's. Epoch: not said.
    StoreTime occurred_at{};
    /// Not handled before this moment; it enters its lane then. Epoch: at once.
    StoreTime not_before{};
    /// The ordering key. Empty: unordered.
    std::string lane{};
    /// A second append with this key inside the box's dedup window is a Duplicate, or a Conflict if
    /// its body differs. Empty: none.
    std::string dedup_key{};
    /// A younger message with this key replaces older ones that have not started. Its scope is the
    /// lane; without a lane the key is the lane, which Waybill::append writes into `lane`.
    std::string collapse_key{};

    bool operator==(const Message&) const = default;
};

/// Shared by all who look at it; nobody changes it.
using MessagePtr = std::shared_ptr<const Message>;

}  // namespace waybill
