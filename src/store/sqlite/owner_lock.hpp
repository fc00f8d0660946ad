#pragma once

#include <mutex>
#include <string>

namespace waybill::sqlite {

/// One process has the file: a lock on `<file>-owner` that ends with its holder, whatever happens to
/// it. No lease, no clock, instant takeover. The file says who holds it, for whoever comes second, and
/// has the rights of the database.
///
/// Thread safety: any call from any thread.
/// Lifetime:      held until the destructor; a child made by fork() without exec holds it too.
/// Errors:        StoreError(back_off) that names the owner when somebody else has it; give_up for a
///                database with several names, whose others would lead past the lock.
class OwnerLock {
public:
    explicit OwnerLock(const std::string& database);
    ~OwnerLock();
    OwnerLock(const OwnerLock&) = delete;
    OwnerLock& operator=(const OwnerLock&) = delete;

    /// How others see the owner.
    void tell_name(const std::string& name);

private:
    void narrow_rights(unsigned rights) const;

    const std::string path_;
    int descriptor_ = -1;
    std::mutex mutex_{};  ///< guards name_
    std::string name_{};
};

}  // namespace waybill::sqlite
