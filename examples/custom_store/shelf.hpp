#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <waybill/store.hpp>

/// A store in two hundred lines, for one process: every row of open work on one shelf, in the order
/// of its sequence. It plays the role Store and no other, which is enough to append, handle, retry,
/// deduplicate and keep lanes in order; dead letters are only counted.
///
/// A real one keeps its rows in a database and does each call in one transaction; what the calls mean
/// is the same.
// [shelf]
class Shelf final : public waybill::Store {
public:
    waybill::Capabilities capabilities() const override;
    std::vector<waybill::AppendResult> append(std::span<const waybill::Append> batch) override;
    void declare(std::span<const waybill::BoxDeclaration> boxes,
                 std::span<const waybill::Target> targets) override;
    waybill::BeatReply beat(const waybill::InstanceState& state) override;
    std::vector<waybill::Taken> take(const waybill::Uuid& self,
                                     std::span<const waybill::TakeRequest> wanted) override;
    void give(std::span<const waybill::GiveRequest> partitions) override;
    waybill::ReadPage read(const waybill::ReadRequest& request) override;
    waybill::SettleReply settle(const waybill::SettleBatch& batch) override;
    void on_wake(std::function<void()> wake) override;
    // [/shelf]

    /// For the example to look at.
    std::size_t open_rows();
    std::size_t dead_letters();

private:
    struct Partition {
        std::string box{};
        waybill::Token token{};
    };
    struct Remembered {
        waybill::Uuid id{};
        std::string body_hash{};
        waybill::StoreTime until{};
    };
    struct Instance {
        waybill::InstanceState state{};
        waybill::StoreTime alive_until{};
    };

    waybill::AppendResult append_one(const waybill::Append& item, waybill::StoreTime now);
    waybill::PartitionState::Owner owner_state(const waybill::Uuid& owner, waybill::StoreTime now);
    bool holds(const waybill::Fence& fence) const;
    void apply(const waybill::Settlement& item);

    std::mutex mutex_;  ///< guards everything below: one call is one transaction
    waybill::Sequence last_sequence_ = 0;
    std::map<waybill::Sequence, waybill::Entry> rows_{};
    std::map<std::pair<std::string, std::string>, Remembered> dedup_{};
    /// Partition n is at n - 1; a box has one.
    std::vector<Partition> partitions_{};
    std::map<waybill::Uuid, Instance> instances_{};
    std::vector<waybill::Target> registry_{};
    std::uint64_t registry_version_ = 0;
    std::set<std::pair<waybill::Uuid, std::string>> dead_{};
    std::function<void()> wake_{};
};
