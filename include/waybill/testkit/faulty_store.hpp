#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "waybill/store_handle.hpp"
#include "waybill/testkit/manual_clock.hpp"

namespace waybill::testkit {

/// A store between yours and the application, whose calls fail, dawdle or fall silent on request.
///
/// Thread safety: any thread.
/// Lifetime:      shares the inner store; a clock given to it outlives it.
/// Errors:        what was asked for. A role the inner store does not play: StoreError(give_up).
class FaultyStore final : public Store, public Catalogue, public Upkeep, public InlineStore {
public:
    enum class Call : std::uint8_t {
        append,
        declare,
        beat,
        take,
        give,
        read,
        settle,
        run_inline,
        catalogue,  ///< any call of this role
        upkeep,     ///< any call of this role
    };
    enum class Fault : std::uint8_t {
        before,  ///< the connection broke and nothing was applied: StoreError(reconnect)
        after,   ///< it was applied and the answer lost: StoreError(find_out), for reads reconnect
    };

    /// With a clock, a delay moves it; without one, a delay takes its time.
    explicit FaultyStore(StoreHandle inner, ManualClock* clock = nullptr);

    /// The next `times` calls of this kind fail so; later wishes queue behind earlier ones.
    void fail_next(Call call, Fault fault, std::uint32_t times = 1);
    /// The next one fails with exactly this, and nothing is applied: a full disk, a deadlock …
    void fail_next(Call call, StoreError error);
    /// The next one takes so long before it does anything.
    void delay_next(Call call, Duration by);
    /// Until it is up again every call fails: StoreError(reconnect), nothing applied.
    void set_down(bool down);
    /// Wake-ups are hints: everything must work without them.
    void lose_wakes(bool lose);

    /// All faults and delays that were asked for have happened.
    bool is_calm() const;
    /// How many calls of this kind came in, failed ones included.
    std::uint64_t calls(Call call) const;

    Capabilities capabilities() const override;
    std::vector<AppendResult> append(std::span<const Append> batch) override;
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override;
    BeatReply beat(const InstanceState& state) override;
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override;
    void give(std::span<const GiveRequest> partitions) override;
    ReadPage read(const ReadRequest& request) override;
    SettleReply settle(const SettleBatch& batch) override;
    void on_wake(std::function<void()> wake) override;

    Page<MessageSummary> browse(const Filter& filter, const std::string& cursor,
                                std::uint32_t rows_max) override;
    Page<DeadLetterDetail> dead_letters(const Filter& filter, const std::string& cursor,
                                        std::uint32_t rows_max) override;
    std::optional<MessageDetail> get(const Uuid& id) override;
    std::uint64_t count(const Filter& filter) override;
    std::vector<OperationResult> requeue(std::span<const DeliveryRef> deliveries) override;
    std::vector<OperationResult> replay(std::span<const DeliveryRef> deliveries) override;
    std::vector<OperationResult> discard(std::span<const DeliveryRef> deliveries) override;
    std::uint64_t command(const Command& command) override;
    std::optional<CommandResult> command_result(std::uint64_t id) override;
    std::vector<BoxState> boxes() override;
    bool pause_box(const std::string& box, bool paused) override;
    std::uint64_t waiting_for(const Target& target) override;
    std::vector<Target> targets() override;
    bool forget_target(const std::string& box, const std::string& key) override;

    void migrate() override;
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override;
    StoreHealth health() override;
    Problems check_settings() override;

    InlineResult run_inline(const InlineRequest& request,
                            const std::function<Outcome(void* native)>& body) override;

private:
    struct Wish {
        Call call{};
        Fault fault = Fault::before;
        Duration delay{};
        std::optional<StoreError> error{};
    };
    static constexpr std::size_t kCalls = static_cast<std::size_t>(Call::upkeep) + 1;

    template <class Inner>
    std::invoke_result_t<Inner> run(Call call, Inner inner);
    /// What was asked for this call, counted.
    std::optional<Wish> next_wish(Call call);
    void wait(Duration by);
    Catalogue& catalogue_role() const;
    Upkeep& upkeep_role() const;

    const StoreHandle inner_;
    ManualClock* const clock_;
    /// Shared with the inner store's callback, which may outlive this one.
    std::shared_ptr<std::atomic<bool>> loses_wakes_;

    mutable std::mutex mutex_;  ///< guards everything below
    std::deque<Wish> wishes_{};
    std::array<std::uint64_t, kCalls> calls_{};
    bool down_ = false;
    std::condition_variable never_;
};

}  // namespace waybill::testkit
