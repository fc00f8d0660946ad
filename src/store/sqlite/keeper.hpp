#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "boxes.hpp"
#include "core/runtime/call_thread.hpp"
#include "journal_watch.hpp"

namespace waybill::sqlite {

class Shared;

/// Looks after the file on a thread of its own: hears when somebody else has committed (the caller's
/// own connection, publishing), and copies the journal into the file.
///
/// The copying is done by nobody else and under the write lock, so that no commit ever happens beside
/// it: SQLite before 3.51.3 can lose one that does.
class Keeper {
public:
    explicit Keeper(Shared& shared);
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /// As of the last commit of ours.
    int journal_pages() const { return journal_pages_.load(std::memory_order_relaxed); }

private:
    struct Start {};

    void look_after();
    void look();
    /// Called after each commit of ours, by who committed.
    void after_commit(Session& writer);
    void listen(Session& writer);
    void copy_journal();
    void copy_under_write_lock(Session& writer);

    Shared& shared_;
    std::unique_ptr<Session> session_;
    /// Of the writer, which does not count its own commits. Only for who has the writer.
    std::int64_t seen_version_ = -1;
    /// Pages in the journal when it was last looked at; written by the writer's hook.
    std::atomic<int> journal_pages_{0};
    const int usual_pages_;
    /// The next copy is due when it has so many. Only for who has the writer.
    int next_copy_at_;

    /// Only for who has the writer.
    unsigned commits_ = 0;

    JournalWatch watch_;
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> copy_is_due_{false};
    runtime::CallThread<Start> thread_;
};

}  // namespace waybill::sqlite
