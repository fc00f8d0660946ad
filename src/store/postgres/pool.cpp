#include "pool.hpp"

#include "core/wording.hpp"
#include "waybill/store.hpp"

namespace waybill::postgres {

std::unique_ptr<Database> Pool::acquire() {
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
            if (db->is_usable()) return db;
        }
    }
    try {
        auto db = std::make_unique<Database>(address_);
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
        if (db != nullptr && db->is_usable()) idle_.push_back(std::move(db));
    }
    freed_.notify_one();
}

}  // namespace waybill::postgres
