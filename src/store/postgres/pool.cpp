#include "pool.hpp"

#include "core/wording.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {

std::unique_ptr<Database> Pool::acquire() {
    // One deadline for the whole call: a heartbeat that took longer would come too late.
    const LocalTime until = later(system_clock().now(), address_.deadline);
    {
        std::unique_lock lock{mutex_};
        const auto has_room = [&] { return in_use_ < size_max_; };
        if (!freed_.wait_for(lock, address_.deadline, has_room)) {
            throw StoreError{Reaction::retry, "postgres store: all connections were in use for " +
                                                  detail::readable(address_.deadline) +
                                                  "; nothing was sent"};
        }
        ++in_use_;
        while (!idle_.empty()) {
            std::unique_ptr<Database> db = std::move(idle_.back());
            idle_.pop_back();
            // One that the server has closed since is no failure: nothing was sent yet.
            if (!db->is_usable()) continue;
            db->continue_call(until);
            return db;
        }
    }
    try {
        auto db = std::make_unique<Database>(address_);
        on_open_(*db);
        db->continue_call(until);
        ++opened_;
        return db;
    } catch (...) {
        release(nullptr);
        throw;
    }
}

void Pool::release(std::unique_ptr<Database> db) {
    {
        const std::lock_guard lock{mutex_};
        --in_use_;
        if (db != nullptr) db->end_call();
        if (db != nullptr && db->is_usable()) idle_.push_back(std::move(db));
    }
    freed_.notify_one();
}

}  // namespace waybill::postgres
