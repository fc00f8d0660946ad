#include "keeper.hpp"

#include <algorithm>

#include "shared.hpp"

namespace waybill::sqlite {
namespace {

/// Between two looks at whether somebody else committed. A look costs a few microseconds.
constexpr Duration kLook = std::chrono::milliseconds{2};
/// Whoever commits so many times the limit beyond it copies the journal at once: the keeper's thread
/// does not keep up.
constexpr int kUrgent = 4;

}  // namespace

Keeper::Keeper(Shared& shared)
    : shared_(shared),
      session_(open_session(shared.path, Role::keeper, shared.options)),
      usual_pages_(static_cast<int>(shared.options.checkpoint_pages)),
      next_copy_at_(usual_pages_),
      thread_("waybill keeper", [this](Start) { look_after(); }) {
    shared_.queue.exclusive([this](Session& writer) {
        listen(writer);
        sqlite3_wal_hook(
            writer.db.handle(),
            [](void* pages, sqlite3*, const char*, int count) {
                static_cast<std::atomic<int>*>(pages)->store(count, std::memory_order_relaxed);
                return SQLITE_OK;
            },
            &journal_pages_);
    });
    shared_.queue.on_commit([this](Session& writer) { after_commit(writer); });
    thread_.post({});
}

Keeper::~Keeper() {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    changed_.notify_one();
}

void Keeper::look_after() {
    std::unique_lock lock{mutex_};
    while (!is_stopping_) {
        changed_.wait_for(lock, kLook, [this] { return is_stopping_ || copy_is_due_; });
        if (is_stopping_) return;
        const bool copy = std::exchange(copy_is_due_, false);
        lock.unlock();
        try {
            if (copy) copy_journal();
            shared_.queue.exclusive_if_idle([this](Session& writer) { listen(writer); });
        } catch (const StoreError&) {
            // A file that cannot be read or written is told to whoever calls; here only later.
        }
        lock.lock();
    }
}

void Keeper::after_commit(Session& writer) {
    try {
        listen(writer);
        const int pages = journal_pages();
        // It began anew: everything in it had been copied, and no reader needed it.
        if (pages < next_copy_at_ - usual_pages_) next_copy_at_ = usual_pages_;
        if (pages < next_copy_at_) return;
        if (pages >= next_copy_at_ + kUrgent * usual_pages_) {
            copy_under_write_lock(writer);
            return;
        }
    } catch (const StoreError&) {
        return;  // What was committed stays committed.
    }
    const std::lock_guard lock{mutex_};
    copy_is_due_ = true;
    changed_.notify_one();
}

void Keeper::listen(Session& writer) {
    std::int64_t version = 0;
    {
        Rows rows = writer.db.query(sql::data_version);
        if (rows.next()) version = rows.integer(0);
    }
    const std::int64_t before = std::exchange(seen_version_, version);
    if (before != -1 && before != version) shared_.wakes.call_all();
}

void Keeper::copy_journal() {
    shared_.queue.exclusive([this](Session& writer) { copy_under_write_lock(writer); });
}

void Keeper::copy_under_write_lock(Session& writer) {
    // Held by the writer's connection while the keeper's copies: nobody can commit meanwhile, and a
    // passive copy waits for no reader.
    writer.db.execute(sql::begin_write);
    int pages = 0;
    int copied = 0;
    sqlite3_wal_checkpoint_v2(session_->db.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &pages,
                              &copied);
    writer.db.execute(sql::rollback);
    // What a reader still needs stays in the journal, and trying again at every commit would not help.
    next_copy_at_ = pages + usual_pages_;
}

}  // namespace waybill::sqlite
