#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "waybill/store.hpp"

namespace waybill::test {

/// Passes every call on; a test overrides the one it wants to bend.
class StoreDecorator : public Store {
public:
    explicit StoreDecorator(Store& inner) : inner_(inner) {}

    Capabilities capabilities() const override { return inner_.capabilities(); }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        return inner_.append(batch);
    }
    void declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) override {
        inner_.declare(boxes, targets);
    }
    BeatReply beat(const InstanceState& state) override { return inner_.beat(state); }
    std::vector<Taken> take(const Uuid& self, std::span<const TakeRequest> wanted) override {
        return inner_.take(self, wanted);
    }
    void give(std::span<const GiveRequest> partitions) override { inner_.give(partitions); }
    ReadPage read(const ReadRequest& request) override { return inner_.read(request); }
    SettleReply settle(const SettleBatch& batch) override { return inner_.settle(batch); }
    void on_wake(std::function<void()> wake) override { inner_.on_wake(std::move(wake)); }

private:
    Store& inner_;
};

}  // namespace waybill::test
