#include "core/runtime/sweeper.hpp"

#include <exception>
#include <utility>

#include "core/runtime/system_random.hpp"
#include "core/runtime/thread_name.hpp"

namespace waybill::runtime {
namespace {

/// Hosts that were started together must not sweep together.
constexpr double kSpread = 0.2;

Duration part_of(Duration interval, double share) {
    return std::chrono::duration_cast<Duration>(interval * share);
}

}  // namespace

Swept sweep_all(Upkeep& upkeep, const std::vector<BoxDeclaration>& boxes, std::uint32_t batch_rows,
                const std::stop_token& stop) {
    Swept sum;
    for (bool more = true; more && !stop.stop_requested();) {
        const Swept swept = upkeep.sweep(boxes, batch_rows);
        sum.messages += swept.messages;
        sum.dead_letters += swept.dead_letters;
        sum.dedup_records += swept.dedup_records;
        sum.attempts += swept.attempts;
        // A store that says "more" and deletes nothing must not keep us here.
        more = swept.more && swept != Swept{.more = true};
        sum.more = swept.more;
    }
    return sum;
}

Sweeper::Sweeper(Upkeep& upkeep, std::vector<BoxDeclaration> boxes, SweepOptions options)
    : upkeep_(upkeep),
      boxes_(std::move(boxes)),
      options_(options),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

std::string Sweeper::last_error() {
    const std::lock_guard lock{mutex_};
    return error_;
}

void Sweeper::run(const std::stop_token& stop) {
    name_this_thread("waybill sweep");
    Random& random = thread_random();
    Duration pause = part_of(options_.interval, random.unit());
    while (true) {
        {
            std::unique_lock lock{mutex_};
            changed_.wait_for(lock, stop, pause, [] { return false; });
        }
        if (stop.stop_requested()) return;
        std::string error;
        try {
            sweep_all(upkeep_, boxes_, options_.batch_rows, stop);
        } catch (const std::exception& failure) {
            error = failure.what();
        }
        {
            const std::lock_guard lock{mutex_};
            error_ = std::move(error);
        }
        pause = part_of(options_.interval, 1.0 - kSpread + 2 * kSpread * random.unit());
    }
}

}  // namespace waybill::runtime
