#include "waybill/testkit/faulty_store.hpp"

#include <algorithm>
#include <utility>

namespace waybill::testkit {
namespace {

using Call = FaultyStore::Call;

bool only_asks(Call call) {
    return call == Call::read || call == Call::beat;
}

}  // namespace

FaultyStore::FaultyStore(StoreHandle inner, ManualClock* clock)
    : inner_(std::move(inner)),
      clock_(clock),
      loses_wakes_(std::make_shared<std::atomic<bool>>(false)) {}

void FaultyStore::fail_next(Call call, Fault fault, std::uint32_t times) {
    const std::lock_guard lock{mutex_};
    wishes_.insert(wishes_.end(), times, Wish{.call = call, .fault = fault});
}

void FaultyStore::fail_next(Call call, StoreError error) {
    const std::lock_guard lock{mutex_};
    wishes_.push_back({.call = call, .error = std::move(error)});
}

void FaultyStore::delay_next(Call call, Duration by) {
    const std::lock_guard lock{mutex_};
    wishes_.push_back({.call = call, .delay = by});
}

void FaultyStore::set_down(bool down) {
    const std::lock_guard lock{mutex_};
    down_ = down;
}

void FaultyStore::lose_wakes(bool lose) {
    *loses_wakes_ = lose;
}

bool FaultyStore::is_calm() const {
    const std::lock_guard lock{mutex_};
    return wishes_.empty();
}

std::uint64_t FaultyStore::calls(Call call) const {
    const std::lock_guard lock{mutex_};
    return calls_[static_cast<std::size_t>(call)];
}

std::optional<FaultyStore::Wish> FaultyStore::next_wish(Call call) {
    const std::lock_guard lock{mutex_};
    ++calls_[static_cast<std::size_t>(call)];
    if (down_) {
        return Wish{.error = StoreError{Reaction::reconnect, "injected: the store is down"}};
    }
    const auto found = std::ranges::find(wishes_, call, &Wish::call);
    if (found == wishes_.end()) return std::nullopt;
    Wish wish = std::move(*found);
    wishes_.erase(found);
    return wish;
}

void FaultyStore::wait(Duration by) {
    if (clock_ != nullptr) return clock_->advance(by);
    std::unique_lock lock{mutex_};
    never_.wait_for(lock, by, [] { return false; });
}

template <class Inner>
std::invoke_result_t<Inner> FaultyStore::run(Call call, Inner inner) {
    const std::optional<Wish> wish = next_wish(call);
    if (!wish) return inner();
    if (wish->error) throw StoreError{*wish->error};
    if (wish->delay > Duration::zero()) {
        wait(wish->delay);
        return inner();
    }
    if (wish->fault == Fault::before) {
        throw StoreError{Reaction::reconnect, "injected: the connection broke before the call"};
    }
    inner();
    throw StoreError{only_asks(call) ? Reaction::reconnect : Reaction::find_out,
                     "injected: the answer to the call was lost"};
}

Catalogue& FaultyStore::catalogue_role() const {
    if (Catalogue* role = inner_.catalogue()) return *role;
    throw StoreError{Reaction::give_up, "the store behind this one has no catalogue"};
}

Upkeep& FaultyStore::upkeep_role() const {
    if (Upkeep* role = inner_.upkeep()) return *role;
    throw StoreError{Reaction::give_up, "the store behind this one has no upkeep"};
}

Capabilities FaultyStore::capabilities() const {
    return inner_.store().capabilities();
}

std::vector<AppendResult> FaultyStore::append(std::span<const Append> batch) {
    return run(Call::append, [&] { return inner_.store().append(batch); });
}

void FaultyStore::declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) {
    run(Call::declare, [&] { inner_.store().declare(boxes, targets); });
}

BeatReply FaultyStore::beat(const InstanceState& state) {
    return run(Call::beat, [&] { return inner_.store().beat(state); });
}

std::vector<Taken> FaultyStore::take(const Uuid& self, std::span<const TakeRequest> wanted) {
    return run(Call::take, [&] { return inner_.store().take(self, wanted); });
}

void FaultyStore::give(std::span<const GiveRequest> partitions) {
    run(Call::give, [&] { inner_.store().give(partitions); });
}

ReadPage FaultyStore::read(const ReadRequest& request) {
    return run(Call::read, [&] { return inner_.store().read(request); });
}

SettleReply FaultyStore::settle(const SettleBatch& batch) {
    return run(Call::settle, [&] { return inner_.store().settle(batch); });
}

void FaultyStore::on_wake(std::function<void()> wake) {
    inner_.store().on_wake([loses = loses_wakes_, wake = std::move(wake)] {
        if (!*loses) wake();
    });
}

Page<MessageSummary> FaultyStore::browse(const Filter& filter, const std::string& cursor,
                                         std::uint32_t rows_max) {
    return run(Call::catalogue, [&] { return catalogue_role().browse(filter, cursor, rows_max); });
}

Page<DeadLetterDetail> FaultyStore::dead_letters(const Filter& filter, const std::string& cursor,
                                                 std::uint32_t rows_max) {
    return run(Call::catalogue,
               [&] { return catalogue_role().dead_letters(filter, cursor, rows_max); });
}

std::optional<MessageDetail> FaultyStore::get(const Uuid& id) {
    return run(Call::catalogue, [&] { return catalogue_role().get(id); });
}

std::uint64_t FaultyStore::count(const Filter& filter) {
    return run(Call::catalogue, [&] { return catalogue_role().count(filter); });
}

std::vector<OperationResult> FaultyStore::requeue(std::span<const DeliveryRef> deliveries) {
    return run(Call::catalogue, [&] { return catalogue_role().requeue(deliveries); });
}

std::vector<OperationResult> FaultyStore::replay(std::span<const DeliveryRef> deliveries) {
    return run(Call::catalogue, [&] { return catalogue_role().replay(deliveries); });
}

std::vector<OperationResult> FaultyStore::discard(std::span<const DeliveryRef> deliveries) {
    return run(Call::catalogue, [&] { return catalogue_role().discard(deliveries); });
}

std::uint64_t FaultyStore::command(const Command& command) {
    return run(Call::catalogue, [&] { return catalogue_role().command(command); });
}

std::optional<CommandResult> FaultyStore::command_result(std::uint64_t id) {
    return run(Call::catalogue, [&] { return catalogue_role().command_result(id); });
}

std::vector<BoxState> FaultyStore::boxes() {
    return run(Call::catalogue, [&] { return catalogue_role().boxes(); });
}

bool FaultyStore::pause_box(const std::string& box, bool paused) {
    return run(Call::catalogue, [&] { return catalogue_role().pause_box(box, paused); });
}

std::uint64_t FaultyStore::waiting_for(const Target& target) {
    return run(Call::catalogue, [&] { return catalogue_role().waiting_for(target); });
}

std::vector<Target> FaultyStore::targets() {
    return run(Call::catalogue, [&] { return catalogue_role().targets(); });
}

bool FaultyStore::forget_target(const std::string& box, const std::string& key) {
    return run(Call::catalogue, [&] { return catalogue_role().forget_target(box, key); });
}

void FaultyStore::migrate() {
    run(Call::upkeep, [&] { upkeep_role().migrate(); });
}

Swept FaultyStore::sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) {
    return run(Call::upkeep, [&] { return upkeep_role().sweep(boxes, rows_max); });
}

StoreHealth FaultyStore::health() {
    return run(Call::upkeep, [&] { return upkeep_role().health(); });
}

Problems FaultyStore::check_settings() {
    return run(Call::upkeep, [&] { return upkeep_role().check_settings(); });
}

InlineResult FaultyStore::run_inline(const InlineRequest& request,
                                     const std::function<Outcome(void* native)>& body) {
    return run(Call::run_inline, [&] {
        if (InlineStore* role = inner_.inline_store()) return role->run_inline(request, body);
        throw StoreError{Reaction::give_up, "the store behind this one runs nothing inline"};
    });
}

}  // namespace waybill::testkit
