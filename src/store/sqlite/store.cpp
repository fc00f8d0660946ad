#include <algorithm>
#include <mutex>
#include <utility>

#include "backup.hpp"
#include "calls.hpp"
#include "inline.hpp"
#include "migrate.hpp"
#include "settings.hpp"
#include "shared.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {
namespace {

/// A reading connection, opened when it is first needed.
class Reader {
public:
    explicit Reader(Shared& shared) : shared_(shared) {}

    template <class Ask>
    auto ask(Ask ask) {
        const std::lock_guard lock{mutex_};
        if (!session_) session_ = shared_.open_reader();
        return ask(*session_);
    }

private:
    Shared& shared_;
    std::mutex mutex_{};  ///< guards session_, and serialises its use
    std::unique_ptr<Session> session_{};
};

class Connection final : public SqliteStore {
    /// One call, one transaction, perhaps shared with others.
    template <class Work>
    auto write(Work work) {
        return shared_->queue.write(
            [&](Session& session) { return work(session, shared_->now()); });
    }
    void wake() { shared_->wakes.call_all(); }

public:
    explicit Connection(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    ~Connection() override {
        shared_->wakes.set(this, nullptr);
        shared_->instances.remove_all_of(this);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::unique_ptr<SqliteStore> connect() override {
        return std::make_unique<Connection>(shared_);
    }

    // Store
    Capabilities capabilities() const override {
        return {.many_instances = false,
                .survives_restart = true,
                .user_transactions = true,
                .default_partitions = shared_->options.partitions};
    }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        if (batch.empty()) return {};
        auto results =
            write([&](Session& s, StoreTime now) { return sqlite::append(s, now, batch); });
        // Where nobody beats, nobody reads.
        if (shared_->instances.any()) shared_->recent.add(batch, results);
        using enum AppendResult::Status;
        if (std::ranges::find(results, fresh, &AppendResult::status) != results.end()) {
            shared_->wakes.call_others(this);
        }
        return results;
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        write([&](Session& s, StoreTime) {
            sqlite::declare(s, boxes, targets, shared_->options.partitions);
        });
    }
    BeatReply beat(const InstanceState& state) override;
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return write([&](Session& s, StoreTime now) {
            return sqlite::take(s, now, self, wanted, shared_->instances);
        });
    }
    void give(std::span<const GiveRequest> partitions) override {
        write([&](Session& s, StoreTime) { sqlite::give(s, partitions); });
    }
    ReadPage read(const ReadRequest& request) override {
        return channel_.ask([&](Session& s) {
            if (request.kind == ReadRequest::Kind::lanes) shared_->lanes.prepare(shared_->queue, s);
            return sqlite::read(s, shared_->now(), request, shared_->recent);
        });
    }
    SettleReply settle(const SettleBatch& batch) override {
        return write([&](Session& s, StoreTime now) { return sqlite::settle(s, now, batch); });
    }
    void on_wake(std::function<void()> wake) override { shared_->wakes.set(this, std::move(wake)); }

    // Catalogue
    Page<MessageSummary> browse(const Filter& filter, const std::string& cursor,
                                std::uint32_t rows_max) override {
        return asks_.ask([&](Session& s) { return sqlite::browse(s, filter, cursor, rows_max); });
    }
    Page<DeadLetterDetail> dead_letters(const Filter& filter, const std::string& cursor,
                                        std::uint32_t rows_max) override {
        return asks_.ask(
            [&](Session& s) { return sqlite::dead_letters(s, filter, cursor, rows_max); });
    }
    std::optional<MessageDetail> get(const Uuid& id) override {
        return asks_.ask([&](Session& s) { return sqlite::get(s, id); });
    }
    std::uint64_t count(const Filter& filter) override {
        return asks_.ask([&](Session& s) { return sqlite::count(s, filter); });
    }
    std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) override {
        auto results = write([&](Session& s, StoreTime) { return sqlite::requeue(s, deliveries); });
        wake();
        return results;
    }
    std::vector<OperationResult> replay(std::span<const DeliveryRef> deliveries) override {
        auto results = write([&](Session& s, StoreTime) { return sqlite::replay(s, deliveries); });
        wake();
        return results;
    }
    std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) override {
        return write([&](Session& s, StoreTime) { return sqlite::discard(s, deliveries); });
    }
    std::uint64_t command(const Command& command) override {
        const std::uint64_t id =
            write([&](Session& s, StoreTime) { return sqlite::command(s, command); });
        if (id != 0) wake();
        return id;
    }
    std::optional<CommandResult> command_result(std::uint64_t id) override {
        return asks_.ask([&](Session& s) { return sqlite::command_result(s.db, id); });
    }
    std::vector<BoxState> boxes() override {
        return asks_.ask([&](Session& s) { return sqlite::boxes(s.db); });
    }
    bool pause_box(const std::string& box, bool paused) override {
        return write(
            [&](Session& s, StoreTime) { return s.db.execute(sql::pause_box, box, paused) > 0; });
    }
    std::uint64_t waiting_for(const Target& target) override {
        return asks_.ask([&](Session& s) { return sqlite::waiting_for(s.db, target); });
    }
    std::vector<Target> targets() override {
        return asks_.ask([&](Session& s) { return sqlite::targets(s.db); });
    }
    bool forget_target(const std::string& box, const std::string& key) override {
        return write([&](Session& s, StoreTime) { return sqlite::forget_target(s, box, key); });
    }

    // Upkeep
    void migrate() override {
        shared_->queue.exclusive([&](Session& s) { sqlite::migrate(s, shared_->now()); });
    }
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override {
        return write(
            [&](Session& s, StoreTime now) { return sqlite::sweep(s, now, boxes, rows_max); });
    }
    StoreHealth health() override {
        StoreHealth health =
            asks_.ask([&](Session& s) { return sqlite::health(s.db, shared_->now()); });
        // Nobody else may write for hours, and whoever asks wants to know how it is now.
        shared_->queue.look_again([](Session& s) {
            s.db.execute(sql::turn_over);
            s.db.execute(sql::turn_over);
        });
        const std::string trouble = shared_->queue.trouble();
        health.reachable = trouble.empty();
        health.text = trouble.empty() ? shared_->description() : trouble;
        return health;
    }
    Problems check_settings() override { return sqlite::check_settings(*shared_); }

    // InlineStore
    InlineResult run_inline(const InlineRequest& request,
                            const std::function<Outcome(void* native)>& body) override {
        InlineResult result;
        shared_->queue.exclusive([&](Session&) {
            result = sqlite::run_inline(shared_->handler_session(), request, body, shared_->clock,
                                        shared_->options.inline_deadline);
        });
        if (result.record == InlineResult::Record::recorded) wake();
        return result;
    }

    // Notebook
    std::optional<std::string> note(const std::string& name) override {
        return asks_.ask([&](Session& s) { return sqlite::note(s.db, shared_->now(), name); });
    }
    std::vector<Note> notes(const std::string& prefix) override {
        return asks_.ask([&](Session& s) { return sqlite::notes(s.db, shared_->now(), prefix); });
    }
    void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
        write([&](Session& s, StoreTime now) { sqlite::keep_note(s.db, now, name, text, until); });
    }
    void drop_note(const std::string& name) override {
        write([&](Session& s, StoreTime) { s.db.execute(sql::drop_note, name); });
    }

    // SqliteStore
    Schema schema() override {
        return asks_.ask([&](Session& s) { return sqlite::schema(s.db); });
    }
    void migrate(std::uint32_t version) override {
        shared_->queue.exclusive([&](Session& s) { sqlite::migrate(s, shared_->now(), version); });
    }
    Problems integrity_check() override {
        return sqlite::integrity_check(shared_->open_reader()->db);
    }
    void backup(const std::string& path) override { sqlite::backup(*shared_->open_reader(), path); }

private:
    std::shared_ptr<Shared> shared_;
    /// The engine's reads, and everybody else's questions: neither waits for the other.
    Reader channel_{*shared_};
    Reader asks_{*shared_};
};

BeatReply Connection::beat(const InstanceState& state) {
    shared_->lock.tell_name(state.name);
    const Uuid& self = state.incarnation;
    bool is_gone = false;
    if (state.stopping) {
        is_gone = !asks_.ask([&](Session& s) { return s.db.query(sql::owns_any, self).next(); });
        if (!is_gone) {
            write([&](Session& s, StoreTime) { s.db.execute(sql::owner_leaves, self, true); });
        }
    }
    if (is_gone) {
        shared_->instances.remove(self);
        if (!shared_->instances.any()) shared_->recent.clear();
    } else {
        shared_->instances.put(this, state);
    }
    return asks_.ask(
        [&](Session& s) { return sqlite::beat(s, shared_->now(), state, shared_->instances); });
}

}  // namespace

std::unique_ptr<SqliteStore> open(const std::string& path, Clock& clock, const Options& options) {
    if (Problems problems = check(options); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    return std::make_unique<Connection>(std::make_shared<Shared>(path, clock, options));
}

std::unique_ptr<SqliteStore> open(const std::string& path, const Options& options) {
    return open(path, system_clock(), options);
}

}  // namespace waybill::sqlite
