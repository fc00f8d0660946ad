#pragma once

#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/stepper.hpp"
#include "waybill/store_handle.hpp"

namespace waybill::test {

/// A store whose every call may fail, by seed: before it did anything, or after its commit, whose
/// answer is then lost.
///
/// Thread safety: that of the inner store.
class FlakyStore final : public Store, public Upkeep {
public:
    FlakyStore(StoreHandle inner, std::uint64_t seed) : inner_(std::move(inner)), dice_(seed) {}

    /// Shares of calls that fail so, in percent.
    void trouble(std::uint32_t before, std::uint32_t after) {
        const std::lock_guard lock{mutex_};
        before_ = before;
        after_ = after;
    }
    /// The next settles fail before they did anything, this many.
    void fail_settles(int count) {
        const std::lock_guard lock{mutex_};
        settles_to_fail_ = count;
    }
    int settles_to_fail() {
        const std::lock_guard lock{mutex_};
        return settles_to_fail_;
    }

    Capabilities capabilities() const override { return inner_.store().capabilities(); }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        return run([&] { return inner_.store().append(batch); });
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        run([&] { inner_.store().declare(boxes, targets); });
    }
    BeatReply beat(const InstanceState& state) override {
        return run([&] { return inner_.store().beat(state); });
    }
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return run([&] { return inner_.store().take(self, wanted); });
    }
    void give(std::span<const GiveRequest> partitions) override {
        run([&] { inner_.store().give(partitions); });
    }
    ReadPage read(const ReadRequest& request) override {
        return run([&] { return inner_.store().read(request); });
    }
    SettleReply settle(const SettleBatch& batch) override {
        {
            const std::lock_guard lock{mutex_};
            if (settles_to_fail_ > 0) {
                --settles_to_fail_;
                throw StoreError{Reaction::back_off, "injected: the disk is full"};
            }
        }
        return run([&] { return inner_.store().settle(batch); });
    }
    void on_wake(std::function<void()> wake) override { inner_.store().on_wake(std::move(wake)); }

    void migrate() override { inner_.upkeep()->migrate(); }
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override {
        return inner_.upkeep()->sweep(boxes, rows_max);
    }
    StoreHealth health() override { return inner_.upkeep()->health(); }
    Problems check_settings() override { return inner_.upkeep()->check_settings(); }

private:
    enum class Fate { well, before, after };

    Fate draw(Reaction& reaction) {
        const std::lock_guard lock{mutex_};
        const auto number = static_cast<std::uint32_t>(dice_.next() % 100);
        constexpr Reaction kinds[] = {Reaction::retry, Reaction::reconnect, Reaction::back_off};
        reaction = kinds[dice_.next() % 3];
        return number < before_            ? Fate::before
               : number < before_ + after_ ? Fate::after
                                           : Fate::well;
    }

    template <class Call>
    auto run(Call call) -> decltype(call()) {
        Reaction reaction{};
        const Fate fate = draw(reaction);
        if (fate == Fate::well) return call();
        if (fate == Fate::before) throw StoreError{reaction, "injected: before the call"};
        call();
        throw StoreError{Reaction::find_out, "injected: the answer to the commit was lost"};
    }

    StoreHandle inner_;
    std::mutex mutex_;  ///< guards the dice and the shares
    SeededRandom dice_;
    std::uint32_t before_ = 0;
    std::uint32_t after_ = 0;
    int settles_to_fail_ = 0;
};

}  // namespace waybill::test
