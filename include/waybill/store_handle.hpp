#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

namespace waybill {

/// An opened store with the roles its adapter plays: whatever `open()` of an adapter returned. It
/// is one connection, and serves one Waybill: a second one on the same data gets another from
/// `connect()`, or what the first appends does not wake it.
class StoreHandle {
public:
    StoreHandle() = default;

    template <std::derived_from<Store> Adapter>
    StoreHandle(std::shared_ptr<Adapter> store)
        : store_(std::move(store)),
          catalogue_(dynamic_cast<Catalogue*>(store_.get())),
          upkeep_(dynamic_cast<Upkeep*>(store_.get())),
          inline_store_(dynamic_cast<InlineStore*>(store_.get())) {}

    template <std::derived_from<Store> Adapter>
    StoreHandle(std::unique_ptr<Adapter> store)
        : StoreHandle(std::shared_ptr<Adapter>(std::move(store))) {}

    explicit operator bool() const { return store_ != nullptr; }
    Store& store() const { return *store_; }
    /// Null: the adapter does not play this role.
    Catalogue* catalogue() const { return catalogue_; }
    Upkeep* upkeep() const { return upkeep_; }
    InlineStore* inline_store() const { return inline_store_; }

private:
    std::shared_ptr<Store> store_{};
    Catalogue* catalogue_ = nullptr;
    Upkeep* upkeep_ = nullptr;
    InlineStore* inline_store_ = nullptr;
};

}  // namespace waybill
