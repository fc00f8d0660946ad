#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "waybill/store.hpp"

namespace waybill::test {

/// A store whose calls fail on demand: before the inner call, so that nothing was applied
/// (reconnect), or after it, so that the answer to the commit is lost (find_out).
///
/// Thread safety: that of the inner store; faults are set while no call is running.
/// Lifetime:      the inner store outlives it.
class FaultyStore final : public Store {
public:
    enum class Call { append, declare, beat, take, give, read, settle };
    enum class Fault {
        before,  ///< StoreError(reconnect), nothing applied
        after,   ///< StoreError(find_out), applied
    };

    explicit FaultyStore(Store& inner) : inner_(inner) {}

    /// The next call of this kind fails so; later faults queue behind earlier ones.
    void fail_next(Call call, Fault fault) { faults_.emplace_back(call, fault); }
    /// All faults that were set have happened.
    bool is_calm() const { return faults_.empty(); }

    Capabilities capabilities() const override { return inner_.capabilities(); }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        return run(Call::append, [&] { return inner_.append(batch); });
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        run(Call::declare, [&] { inner_.declare(boxes, targets); });
    }
    BeatReply beat(const InstanceState& state) override {
        return run(Call::beat, [&] { return inner_.beat(state); });
    }
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return run(Call::take, [&] { return inner_.take(self, wanted); });
    }
    void give(std::span<const GiveRequest> partitions) override {
        run(Call::give, [&] { inner_.give(partitions); });
    }
    ReadPage read(const ReadRequest& request) override {
        return run(Call::read, [&] { return inner_.read(request); });
    }
    SettleReply settle(const SettleBatch& batch) override {
        return run(Call::settle, [&] { return inner_.settle(batch); });
    }
    void on_wake(std::function<void()> wake) override { inner_.on_wake(std::move(wake)); }

private:
    template <class Inner>
    std::invoke_result_t<Inner> run(Call call, Inner inner) {
        auto fault = faults_.begin();
        while (fault != faults_.end() && fault->first != call) ++fault;
        if (fault == faults_.end()) return inner();

        const Fault kind = fault->second;
        faults_.erase(fault);
        if (kind == Fault::before) {
            throw StoreError{Reaction::reconnect, "injected: the connection broke before the call"};
        }
        inner();
        throw StoreError{Reaction::find_out, "injected: the answer to the commit was lost"};
    }

    Store& inner_;
    std::vector<std::pair<Call, Fault>> faults_{};
};

}  // namespace waybill::test
