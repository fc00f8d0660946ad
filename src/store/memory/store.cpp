#include <algorithm>
#include <mutex>
#include <utility>

#include "calls.hpp"
#include "core/wake_list.hpp"
#include "waybill/memory.hpp"
#include "waybill/slot.hpp"
#include "waybill/system.hpp"

namespace waybill::memory {
namespace {

/// What all connections share.
struct Shared {
    Clock& clock;
    /// Guards `tables`.
    std::mutex mutex{};
    Tables tables{};
    WakeList wakes{};

    /// One call, one transaction.
    template <class Call>
    auto transact(Call call) {
        const std::lock_guard lock{mutex};
        return call(tables, clock.wall());
    }
};

class Connection final : public MemoryStore {
public:
    explicit Connection(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    ~Connection() override { shared_->wakes.set(this, nullptr); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::unique_ptr<MemoryStore> connect() override {
        return std::make_unique<Connection>(shared_);
    }

    // Store
    Capabilities capabilities() const override {
        return {.many_instances = true,
                .survives_restart = false,
                .user_transactions = true,
                .default_partitions = shared_->tables.options.partitions};
    }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        auto results = shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::append(t, now, batch); });
        using enum AppendResult::Status;
        if (std::ranges::find(results, fresh, &AppendResult::status) != results.end()) {
            shared_->wakes.call_others(this);
        }
        return results;
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        shared_->transact([&](Tables& t, StoreTime) { memory::declare(t, boxes, targets); });
    }
    BeatReply beat(const InstanceState& state) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::beat(t, now, state); });
    }
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::take(t, now, self, wanted); });
    }
    void give(std::span<const GiveRequest> partitions) override {
        shared_->transact([&](Tables& t, StoreTime) { memory::give(t, partitions); });
    }
    ReadPage read(const ReadRequest& request) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::read(t, now, request); });
    }
    SettleReply settle(const SettleBatch& batch) override {
        std::vector<MessagePtr> garbage;
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::settle(t, now, batch, garbage); });
    }
    void on_wake(std::function<void()> wake) override { shared_->wakes.set(this, std::move(wake)); }

    // Catalogue
    Page<MessageSummary> browse(const Filter& filter, const std::string& cursor,
                                std::uint32_t rows_max) override {
        return shared_->transact(
            [&](Tables& t, StoreTime) { return memory::browse(t, filter, cursor, rows_max); });
    }
    Page<DeadLetterDetail> dead_letters(const Filter& filter, const std::string& cursor,
                                        std::uint32_t rows_max) override {
        return shared_->transact([&](Tables& t, StoreTime) {
            return memory::dead_letters(t, filter, cursor, rows_max);
        });
    }
    std::optional<MessageDetail> get(const Uuid& id) override {
        return shared_->transact([&](Tables& t, StoreTime) { return memory::get(t, id); });
    }
    std::uint64_t count(const Filter& filter) override {
        return shared_->transact([&](Tables& t, StoreTime) { return memory::count(t, filter); });
    }
    std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) override {
        auto results =
            shared_->transact([&](Tables& t, StoreTime) { return memory::requeue(t, deliveries); });
        wake();
        return results;
    }
    std::vector<OperationResult> replay(std::span<const DeliveryRef> deliveries) override {
        auto results =
            shared_->transact([&](Tables& t, StoreTime) { return memory::replay(t, deliveries); });
        wake();
        return results;
    }
    std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) override {
        return shared_->transact(
            [&](Tables& t, StoreTime) { return memory::discard(t, deliveries); });
    }
    std::uint64_t command(const Command& command) override {
        const auto id =
            shared_->transact([&](Tables& t, StoreTime) { return memory::command(t, command); });
        if (id != 0) wake();
        return id;
    }
    std::optional<CommandResult> command_result(std::uint64_t id) override {
        return shared_->transact([&](Tables& t, StoreTime) -> std::optional<CommandResult> {
            const auto found = t.command_results.find(id);
            if (found == t.command_results.end()) return std::nullopt;
            return found->second;
        });
    }
    std::vector<BoxState> boxes() override {
        return shared_->transact([&](Tables& t, StoreTime) { return memory::boxes(t); });
    }
    bool pause_box(const std::string& box, bool paused) override {
        return shared_->transact([&](Tables& t, StoreTime) {
            const auto found = t.boxes.find(box);
            if (found == t.boxes.end()) return false;
            found->second.paused = paused;
            return true;
        });
    }
    std::uint64_t waiting_for(const Target& target) override {
        return shared_->transact(
            [&](Tables& t, StoreTime) { return memory::waiting_for(t, target); });
    }
    std::vector<Target> targets() override {
        return shared_->transact([&](Tables& t, StoreTime) { return memory::targets(t); });
    }
    bool forget_target(const std::string& box, const std::string& key) override {
        return shared_->transact(
            [&](Tables& t, StoreTime) { return memory::forget_target(t, box, key); });
    }

    // Upkeep
    void migrate() override {}
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::sweep(t, now, boxes, rows_max); });
    }
    StoreHealth health() override {
        return shared_->transact([&](Tables& t, StoreTime now) { return memory::health(t, now); });
    }
    Problems check_settings() override { return {}; }

    // Notebook
    std::optional<std::string> note(const std::string& name) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::note(t, now, name); });
    }
    std::vector<Note> notes(const std::string& prefix) override {
        return shared_->transact(
            [&](Tables& t, StoreTime now) { return memory::notes(t, now, prefix); });
    }
    void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
        shared_->transact([&](Tables& t, StoreTime) { memory::keep_note(t, name, text, until); });
    }
    void drop_note(const std::string& name) override {
        shared_->transact([&](Tables& t, StoreTime) { t.notes.erase(name); });
    }

    // InlineStore
    InlineResult run_inline(const InlineRequest& request,
                            const std::function<Outcome(void* native)>& body) override;

private:
    void wake() { shared_->wakes.call_all(); }

    std::shared_ptr<Shared> shared_;
};

InlineResult Connection::run_inline(const InlineRequest& request,
                                    const std::function<Outcome(void* native)>& body) {
    using enum InlineResult::Record;
    const auto verdict =
        shared_->transact([&](Tables& t, StoreTime) { return memory::inline_verdict(t, request); });
    if (verdict != recorded) return {verdict, Done{}};

    // The handler runs outside the mutex; what may have changed meanwhile is asked again.
    Transaction transaction;
    Outcome outcome = body(&transaction);
    if (!std::holds_alternative<Done>(outcome)) return {not_done, std::move(outcome)};
    const auto record = shared_->transact([&](Tables& t, StoreTime now) {
        const auto last = memory::inline_verdict(t, request);
        if (last != recorded) return last;
        memory::append(t, now, transaction.appends);
        memory::record_inline(t, request);
        return recorded;
    });
    if (record == recorded && !transaction.appends.empty()) wake();
    return {record, std::move(outcome)};
}

}  // namespace

Problems check(const Options& options) {
    if (options.partitions >= 1 && options.partitions <= slot_count) return {};
    return {"memory store: partitions is " + std::to_string(options.partitions) +
            "; choose 1 to 1,024"};
}

std::unique_ptr<MemoryStore> open(Clock& clock, const Options& options) {
    if (Problems problems = check(options); !problems.empty())
        throw ConfigError{std::move(problems)};
    auto shared = std::make_shared<Shared>(clock);
    shared->tables.options = options;
    return std::make_unique<Connection>(std::move(shared));
}

std::unique_ptr<MemoryStore> open(const Options& options) {
    return open(system_clock(), options);
}

}  // namespace waybill::memory
