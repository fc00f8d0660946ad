#include "low_water.hpp"

namespace waybill::postgres {
namespace {

constexpr Duration kPause = std::chrono::seconds{1};
/// Where so few went by there is nothing to walk over.
constexpr Sequence kStep = 5'000;
/// Rows of a partition that may be open below its mark: scheduled, parked, backing off.
constexpr std::int32_t kStillOpenMax = 1'000;

}  // namespace

void LowWater::move(Database& db, const std::vector<PartitionId>& partitions,
                    std::uint64_t connection, LocalTime now) {
    if (connection != connection_) *this = LowWater{};
    connection_ = connection;
    if (now < next_) return;
    next_ = now + kPause;

    Rows rows = db.read(sql::look_at_sequence);
    rows.next();
    const Sequence drawn = rows.integer(0);
    if (waiting_ && rows.integer(1) >= waiting_->until) {
        Ints column;
        for (const PartitionId partition : partitions) column.add(partition);
        db.write(sql::move_low_water, column, waiting_->through, kStillOpenMax);
        done_ = waiting_->through;
        waiting_.reset();
    }
    // What was drawn before that: as the look before this one said.
    if (!waiting_ && seen_ >= done_ + kStep) {
        Rows number = db.read(sql::draw_transaction);
        number.next();
        waiting_ = {seen_, number.integer(0)};
    }
    seen_ = drawn;
}

}  // namespace waybill::postgres
