#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"

/// What became of deliveries that failed for good, and what people do about it.
namespace waybill {

/// What one order over many dead letters did.
struct BulkResult {
    std::uint64_t carried_out = 0;
    /// Somebody else was quicker, or a halted lane stands at what should be discarded.
    std::uint64_t refused = 0;
    /// Letters that match now. The one a halted lane stands at stays until its owner has resumed it.
    std::uint64_t remaining = 0;
    /// The limit was reached: the same call again goes on.
    bool capped = false;

    bool operator==(const BulkResult&) const = default;
};

/// Such an order is refused rather than guessed: the filter names nothing, or something that is not
/// dead.
class InvalidFilter : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// The dead letters of a store. A handle: copies mean the same store.
///
/// Thread safety: any thread, whether an engine runs or not.
/// Lifetime:      the store outlives it.
/// Errors:        InvalidFilter; StoreError.
class DeadLetters {
public:
    /// No order takes more at once, whatever limit it was given.
    static constexpr std::uint32_t bulk_max = 10'000;

    explicit DeadLetters(Catalogue& catalogue) : catalogue_(&catalogue) {}

    /// Oldest first, with reason, failures and a copy of the message. `cursor`: Page::next of the
    /// page before.
    Page<DeadLetterDetail> list(const Filter& filter = {}, const std::string& cursor = {},
                                std::uint32_t rows_max = 100) const;
    std::uint64_t count(const Filter& filter = {}) const;
    /// The attempt log of a message, or of one of its targets, oldest first: what the box's
    /// attempts_log keeps.
    std::vector<Attempt> attempts(const Uuid& message, const std::string& target = {}) const;

    /// Runs it again from its first attempt, with those that died because of it. Refused where there
    /// is no such letter.
    OperationResult requeue(const DeliveryRef& delivery) const;
    std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) const;
    /// All that match, oldest first, in batches; what dies again meanwhile is not taken twice. The
    /// filter says at least one thing.
    BulkResult requeue_matching(const Filter& filter, std::uint32_t letters_max = bulk_max) const;

    /// Gone for good. Refused for the letters a halted lane stands at.
    OperationResult discard(const DeliveryRef& delivery) const;
    std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) const;
    BulkResult discard_matching(const Filter& filter, std::uint32_t letters_max = bulk_max) const;

private:
    Catalogue* catalogue_;
};

}  // namespace waybill
