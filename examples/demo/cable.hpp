#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "waybill/memory.hpp"

namespace demo {

/// An instance's line to the store, which can be cut: to everyone else that looks as if the instance
/// had died. It is also an example of a store wrapped around a store.
class Cable final : public waybill::Store {
public:
    explicit Cable(std::unique_ptr<waybill::memory::MemoryStore> inner)
        : inner_(std::move(inner)) {}

    void cut() { cut_ = true; }

    waybill::Capabilities capabilities() const override { return inner_->capabilities(); }
    std::vector<waybill::AppendResult> append(std::span<const waybill::Append> batch) override {
        return through().append(batch);
    }
    void declare(std::span<const waybill::BoxDeclaration> boxes,
                 std::span<const waybill::Target> targets) override {
        through().declare(boxes, targets);
    }
    waybill::BeatReply beat(const waybill::InstanceState& state) override {
        return through().beat(state);
    }
    std::vector<waybill::Taken> take(const waybill::Uuid& self,
                                     std::span<const waybill::TakeRequest> wanted) override {
        return through().take(self, wanted);
    }
    void give(std::span<const waybill::GiveRequest> partitions) override {
        through().give(partitions);
    }
    waybill::ReadPage read(const waybill::ReadRequest& request) override {
        return through().read(request);
    }
    waybill::SettleReply settle(const waybill::SettleBatch& batch) override {
        return through().settle(batch);
    }
    void on_wake(std::function<void()> wake) override { inner_->on_wake(std::move(wake)); }

private:
    waybill::Store& through() {
        if (cut_) throw waybill::StoreError{waybill::Reaction::reconnect, "the cable is cut"};
        return *inner_;
    }

    std::unique_ptr<waybill::memory::MemoryStore> inner_;
    std::atomic<bool> cut_{false};
};

}  // namespace demo
