#include "keeper.hpp"

#include <algorithm>
#include <array>

#include "shared.hpp"

namespace waybill::sqlite {
namespace {

/// The pauses before the looks that follow a write to the journal: what is written is committed once
/// the disk has confirmed it, which may take long. The first ones are real pauses, so that a busy
/// journal is not looked at with every write; after those the next write begins them anew.
constexpr std::array<Duration, 6> kPauses{
    std::chrono::microseconds{300}, std::chrono::microseconds{700}, std::chrono::milliseconds{1},
    std::chrono::milliseconds{2},   std::chrono::milliseconds{2},   std::chrono::milliseconds{5}};
constexpr std::size_t kRealPauses = 5;
/// For about a second; the last pause is repeated.
constexpr std::size_t kLooks = 200;
/// While nothing is heard; and where nothing can be.
constexpr Duration kQuiet = std::chrono::seconds{1};
constexpr Duration kDeaf = std::chrono::milliseconds{5};
/// A writer that is never idle looks itself, every so many commits.
constexpr unsigned kCommitsPerLook = 16;
/// Whoever commits so many times the limit beyond it copies the journal at once: the keeper's thread
/// does not keep up.
constexpr int kUrgent = 4;

}  // namespace

Keeper::Keeper(Shared& shared)
    : shared_(shared),
      session_(open_session(shared.path, Role::keeper, shared.options)),
      usual_pages_(static_cast<int>(shared.options.checkpoint_pages)),
      next_copy_at_(usual_pages_),
      watch_(shared.path),
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
    is_stopping_ = true;
    watch_.poke();
}

void Keeper::look_after() {
    std::size_t looks = kLooks;
    while (!is_stopping_) {
        if (looks < kRealPauses) {
            watch_.pause(kPauses[looks]);
        } else if (looks < kLooks) {
            watch_.wait(kPauses.back());
        } else {
            watch_.wait(watch_.is_deaf() ? kDeaf : kQuiet);
        }
        if (is_stopping_) return;
        const bool begins_anew = looks >= kRealPauses && watch_.was_written();
        looks = begins_anew ? 0 : std::min(looks + 1, kLooks);
        look();
    }
}

void Keeper::look() {
    try {
        if (copy_is_due_.exchange(false)) copy_journal();
        shared_.queue.exclusive_if_idle([this](Session& writer) { listen(writer); });
    } catch (const StoreError&) {
        // A file that cannot be read or written is told to whoever calls; here only later.
    }
}

void Keeper::after_commit(Session& writer) {
    try {
        if (++commits_ % kCommitsPerLook == 0) listen(writer);
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
    copy_is_due_ = true;
    watch_.poke();
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
