#include <algorithm>
#include <atomic>
#include <utility>

#include "calls.hpp"
#include "listener.hpp"
#include "low_water.hpp"
#include "migrate.hpp"
#include "pool.hpp"
#include "settings.hpp"
#include "waybill/postgres.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace {

class PostgresConnection final : public PostgresStore {
public:
    PostgresConnection(const std::string& conninfo, const Options& options)
        : conninfo_(conninfo),
          options_(options),
          appends_(address(Role::hot, options.deadline), options.append_connections, opened()),
          beats_(address(Role::hot, options.beat_deadline), 1, opened()),
          channel_(address(Role::hot, options.deadline), 1, opened()),
          people_(address(Role::people, options.people_deadline), 1, opened()),
          handlers_(address(Role::handler, options.people_deadline), options.inline_connections,
                    opened()),
          listener_(address(Role::people, options.deadline), options.wake_ups) {}
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;

    // Store
    Capabilities capabilities() const override {
        return {.many_instances = true,
                .survives_restart = true,
                .user_transactions = true,
                .default_partitions = options_.partitions,
                .appends_at_once = options_.append_connections};
    }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        if (batch.empty()) return {};
        auto results = appends_.use([&](Database& db) {
            return postgres::append({db, boxes_}, batch);
        });
        using enum AppendResult::Status;
        std::uint32_t fresh_ones = 0;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i].status != fresh) continue;
            ++fresh_ones;
            if (reads_) recent_.put(results[i].sequence, batch[i].message);
        }
        if (fresh_ones > 0) listener_.announce(fresh_ones);
        return results;
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        people_.transact([&](Database& db) {
            // What this transaction makes is known to others only once it commits.
            Boxes mine;
            postgres::declare({db, mine}, boxes, targets, options_.partitions);
        });
    }
    BeatReply beat(const InstanceState& state) override {
        BeatReply reply = beats_.use(
            [&](Database& db) { return postgres::beat(db, state, listener_.backend()); });
        // Connections that stay open do not notice that the tables are others.
        boxes_.belong_to(reply.generation);
        return reply;
    }
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return channel_.transact([&](Database& db) { return postgres::take(db, self, wanted); });
    }
    void give(std::span<const GiveRequest> partitions) override {
        channel_.use([&](Database& db) { postgres::give(db, partitions); });
    }
    ReadPage read(const ReadRequest& request) override {
        return channel_.use([&](Database& db) {
            reads_ = true;
            ReadPage page = postgres::read({db, boxes_, &recent_}, request);
            if (request.kind == ReadRequest::Kind::increment && !page.more) {
                low_water_.move(db, request.partitions, channel_.opened(), system_clock().now());
            }
            // Another connection may lead to another server.
            const std::uint64_t opened = channel_.opened();
            const std::uint64_t before = opened_at_last_read_.exchange(opened);
            page.reconnected = page.reconnected || (before != 0 && before != opened);
            return page;
        });
    }
    SettleReply settle(const SettleBatch& batch) override {
        return channel_.use([&](Database& db) { return postgres::settle({db, boxes_}, batch); });
    }
    void on_wake(std::function<void()> wake) override { listener_.on_wake(std::move(wake)); }

    // Catalogue
    Page<MessageSummary> browse(const Filter& filter, const std::string& cursor,
                                std::uint32_t rows_max) override {
        return people_.use([&](Database& db) {
            return postgres::browse({db, boxes_}, filter, cursor, rows_max);
        });
    }
    Page<DeadLetterDetail> dead_letters(const Filter& filter, const std::string& cursor,
                                        std::uint32_t rows_max) override {
        return people_.use([&](Database& db) {
            return postgres::dead_letters({db, boxes_}, filter, cursor, rows_max);
        });
    }
    std::optional<MessageDetail> get(const Uuid& id) override {
        return people_.use([&](Database& db) { return postgres::get({db, boxes_}, id); });
    }
    std::uint64_t count(const Filter& filter) override {
        return people_.use([&](Database& db) { return postgres::count(db, filter); });
    }
    std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) override {
        auto results =
            people_.transact([&](Database& db) { return postgres::requeue(db, deliveries); });
        wake_all();
        return results;
    }
    std::vector<OperationResult> replay(std::span<const DeliveryRef> deliveries) override {
        auto results =
            people_.transact([&](Database& db) { return postgres::replay(db, deliveries); });
        wake_all();
        return results;
    }
    std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) override {
        return people_.transact([&](Database& db) { return postgres::discard(db, deliveries); });
    }
    std::uint64_t command(const Command& command) override {
        const std::uint64_t id =
            people_.transact([&](Database& db) { return postgres::command(db, command); });
        if (id != 0) wake_all();
        return id;
    }
    std::optional<CommandResult> command_result(std::uint64_t id) override {
        return people_.use([&](Database& db) { return postgres::command_result(db, id); });
    }
    std::vector<BoxState> boxes() override {
        return people_.use([&](Database& db) { return postgres::boxes(db); });
    }
    bool pause_box(const std::string& box, bool paused) override {
        return people_.use(
            [&](Database& db) { return db.write(sql::pause_box, box, paused).count() > 0; });
    }
    std::uint64_t waiting_for(const Target& target) override {
        return people_.use([&](Database& db) { return postgres::waiting_for(db, target); });
    }
    std::vector<Target> targets() override {
        return people_.use([&](Database& db) { return postgres::targets(db); });
    }
    bool forget_target(const std::string& box, const std::string& key) override {
        return people_.transact(
            [&](Database& db) { return postgres::forget_target(db, box, key); });
    }

    // Upkeep
    void migrate() override { migrate(newest_migration()); }
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override {
        return people_.use([&](Database& db) {
            // Appends wait for a lock for two fifths of their deadline: half of that is left for others.
            return postgres::sweep({db, boxes_}, boxes, rows_max, options_.deadline / 5);
        });
    }
    StoreHealth health() override {
        StoreHealth health = people_.use([&](Database& db) { return postgres::health(db); });
        if (is_pooled_) health.text += "; through a pooler, so nothing is prepared";
        // Work goes on by looking now and then.
        if (const std::string trouble = listener_.trouble(); !trouble.empty()) {
            health.text += "; no wake-ups: " + trouble;
        }
        return health;
    }
    Problems check_settings() override {
        return people_.use([&](Database& db) { return postgres::check_settings(db); });
    }

    // InlineStore
    InlineResult run_inline(const InlineRequest& request,
                            const std::function<Outcome(void* native)>& body) override {
        InlineResult result =
            handlers_.use([&](Database& db) { return postgres::run_inline(db, request, body); });
        if (result.record == InlineResult::Record::recorded) wake_all();
        return result;
    }

    // Notebook
    std::optional<std::string> note(const std::string& name) override {
        return people_.use([&](Database& db) { return postgres::note(db, name); });
    }
    std::vector<Note> notes(const std::string& prefix) override {
        return people_.use([&](Database& db) { return postgres::notes(db, prefix); });
    }
    void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
        people_.use([&](Database& db) { postgres::keep_note(db, name, text, until); });
    }
    void drop_note(const std::string& name) override {
        people_.use([&](Database& db) { postgres::drop_note(db, name); });
    }

    std::unique_ptr<Hold> hold(const std::string& name) override {
        return postgres::hold(address(Role::people, options_.people_deadline), name);
    }

    // PostgresStore
    std::vector<InstanceSeen> instances() override {
        return people_.use([&](Database& db) { return postgres::instances(db); });
    }
    Schema schema() override {
        return people_.use([&](Database& db) {
            must_be_ours(db);
            return postgres::schema(db);
        });
    }
    void migrate(std::uint32_t version) override {
        people_.use([&](Database& db) { postgres::migrate(db, version); });
    }

private:
    Address address(Role role, Duration deadline) const {
        return {.conninfo = conninfo_,
                .schema = options_.schema,
                .deadline = deadline,
                .role = role,
                .last_host = last_host_};
    }
    /// What every new connection tells of its server.
    std::function<void(Database&)> opened() {
        return [this](Database& db) {
            boxes_.belong_to(db.generation());
            is_pooled_ = db.is_pooled();
        };
    }
    void wake_all() {
        listener_.wake();
        listener_.announce(1);
    }

    const std::string conninfo_;
    const Options options_;
    const std::shared_ptr<std::atomic<std::size_t>> last_host_ =
        std::make_shared<std::atomic<std::size_t>>(0);
    std::atomic<bool> is_pooled_ = false;
    Boxes boxes_{};
    Pool appends_;
    /// Nothing may hold up a heartbeat.
    Pool beats_;
    /// The engine's one serial channel.
    Pool channel_;
    std::atomic<std::uint64_t> opened_at_last_read_ = 0;
    LowWater low_water_{};
    /// Whoever only appends need not remember.
    std::atomic<bool> reads_ = false;
    Recent recent_{16ULL << 20};
    Pool people_;
    Pool handlers_;
    /// Last, so that its thread ends first.
    Listener listener_;
};

}  // namespace

std::unique_ptr<PostgresStore> open(const std::string& conninfo, const Options& options) {
    if (Problems problems = check(options); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    return std::make_unique<PostgresConnection>(conninfo, options);
}

}  // namespace waybill::postgres
