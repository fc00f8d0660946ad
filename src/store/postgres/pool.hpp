#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "database.hpp"
#include "error_map.hpp"

namespace waybill::postgres {

/// Connections for one purpose: opened when they are needed, kept while they are sound, replaced when they
/// are not. Whoever comes when all are in use waits for one, within the deadline.
///
/// Thread safety: any thread.
/// Errors:        StoreError: `back_off` while the server cannot be reached, and what the work threw.
class Pool {
public:
    /// `opened`: hears of every connection before it is used.
    Pool(Address address, std::size_t size_max, std::function<void(Database&)> opened)
        : address_(std::move(address)), size_max_(size_max), on_open_(std::move(opened)) {}

    template <class Work>
    auto use(Work work) {
        Lease lease{*this};
        return work(lease.db());
    }
    /// Inside a transaction that commits when the work returns. One that collided with another's is begun again a
    /// few times: nothing of it was applied, and the work is told nothing.
    template <class Work>
    auto transact(Work work) {
        return use([&](Database& db) {
            for (int tries = 1;; ++tries) {
                try {
                    return transact_once(db, work);
                } catch (const ServerError& error) {
                    if (!error.is_collision() || tries >= collision_tries_max) throw;
                }
            }
        });
    }
    /// How many connections were opened so far.
    std::uint64_t opened() const { return opened_; }

private:
    class Lease {
    public:
        explicit Lease(Pool& pool) : pool_(pool), db_(pool.acquire()) {}
        ~Lease() { pool_.release(std::move(db_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Database& db() { return *db_; }

    private:
        Pool& pool_;
        std::unique_ptr<Database> db_;
    };

    template <class Work>
    static auto transact_once(Database& db, Work& work) {
        Transaction transaction{db};
        if constexpr (std::is_void_v<std::invoke_result_t<Work&, Database&>>) {
            work(db);
            transaction.commit();
        } else {
            auto result = work(db);
            transaction.commit();
            return result;
        }
    }

    std::unique_ptr<Database> acquire();
    void release(std::unique_ptr<Database> db);

    const Address address_;
    const std::size_t size_max_;
    const std::function<void(Database&)> on_open_;
    std::atomic<std::uint64_t> opened_ = 0;
    std::mutex mutex_{};  ///< guards the two below
    std::vector<std::unique_ptr<Database>> idle_{};
    std::size_t in_use_ = 0;
    std::condition_variable freed_{};
};

}  // namespace waybill::postgres
