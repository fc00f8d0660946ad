#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "database.hpp"
#include "waybill/message.hpp"
#include "waybill/ownership.hpp"

namespace waybill::postgres {

/// Moves the low-water marks of partitions (waybill.low_water), every few seconds while sequences are drawn.
///
/// A sequence is decided when every transaction that drew one up to it has ended. Transactions have their
/// number before they draw, so: look how far sequences are; later draw a transaction number; when all before
/// that have ended, all up to the first look is decided.
///
/// Thread safety: none: it belongs to the engine's channel.
class LowWater {
public:
    /// `connection`: another number is another connection, maybe to another server, of which nothing is
    /// known yet.
    void move(Database& db, const std::vector<PartitionId>& partitions, std::uint64_t connection,
              LocalTime now);

private:
    struct Waiting {
        Sequence through = 0;
        /// A transaction that began after all that drew one of these.
        std::int64_t until = 0;
    };
    std::uint64_t connection_ = 0;
    LocalTime next_{};
    Sequence seen_ = 0;
    Sequence done_ = 0;
    std::optional<Waiting> waiting_{};
};

}  // namespace waybill::postgres
