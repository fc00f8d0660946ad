#pragma once

#include <atomic>
#include <string>

#include <sqlite3.h>

namespace waybill::test {

/// While it lives, every SQLite file of this process is on a disk that fails on demand: the calls go
/// through to the real one until told otherwise.
///
/// Thread safety: any thread.
/// Lifetime:      outlives every connection opened meanwhile; one at a time.
class FaultyDisk {
public:
    enum class Call { write, sync, any };

    FaultyDisk();
    ~FaultyDisk();
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;

    /// From now on, `call` answers this code after `passing` more have gone through, until repair().
    void fail(Call call, int code, int passing = 0);
    /// The same for one call only.
    void fail_once(Call call, int code, int passing = 0);
    void repair();
    /// A fault was set and has happened.
    bool has_failed() const { return failures_ > 0; }

    /// For the file methods: the code to answer, or SQLITE_OK.
    int verdict(Call call);

private:
    std::atomic<int> code_{SQLITE_OK};
    std::atomic<Call> call_{Call::any};
    std::atomic<int> passing_{0};
    std::atomic<bool> once_{false};
    std::atomic<int> failures_{0};
};

}  // namespace waybill::test
