#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "waybill/store.hpp"

/// The committed state of the simulated store: plain tables, copied as a whole for a standby.
namespace waybill::sim {

/// A transaction's number, as PostgreSQL's xid8.
using Xid = std::uint64_t;

/// Which transactions were finished at one moment.
struct Snapshot {
    Xid xmax = 1;
    /// Those below xmax that were still running.
    std::vector<Xid> xip{};

    bool sees(Xid xid) const;
    Xid xmin() const { return xip.empty() ? xmax : xip.front(); }
};

/// Where a reader is: not visible in s1, visible in s2, after this sequence (ownership.md A1).
struct ReadPlace {
    Snapshot s1{};
    std::optional<Snapshot> s2{};
    Sequence after = 0;
};
Position encode(const ReadPlace& place);
ReadPlace decode(const Position& position);

/// A row of open work with what the checker wants to know of its making.
struct OpenRow {
    Entry entry{};
    Xid stamp = 0;
    /// When its sequence was drawn, and when it became visible.
    Duration begun{};
    Duration committed{};
};

struct PartitionRow {
    PartitionId id = 0;
    std::string box{};
    std::uint32_t first_slot = 0;
    std::uint32_t last_slot = 0;
    Token token{};
    Uuid heir{};
    std::uint32_t unclean_ends = 0;
    StoreTime last_unclean{};
};

struct InstanceRow {
    InstanceState state{};
    StoreTime until{};
};

struct DedupRow {
    Uuid first{};
    std::string body_hash{};
    StoreTime until{};
};

/// (message, target).
using DeadKey = std::pair<Uuid, std::string>;

/// (message, target, generation): what inline effects are counted by.
struct EffectKey {
    Uuid message{};
    std::string target{};
    std::uint32_t requeues = 0;

    auto operator<=>(const EffectKey&) const = default;
};

struct CommandRow {
    Command command{};
    std::optional<CommandResult> result{};
};

struct Database {
    Xid next_xid = 1;
    Sequence next_sequence = 1;
    PartitionId next_partition = 1;
    std::uint64_t next_command = 1;
    std::uint64_t registry_version = 0;
    std::map<Uuid, MessagePtr> messages{};
    /// Messages whose last open row is gone.
    std::set<Uuid> finished{};
    std::map<PartitionId, std::map<Sequence, OpenRow>> open{};
    std::map<std::pair<Xid, Sequence>, PartitionId> by_stamp{};
    std::map<DeadKey, DeadLetter> dead{};
    std::map<std::string, DedupRow> dedup{};
    /// How often the effect of an inline delivery was committed.
    std::map<EffectKey, std::uint32_t> effects{};
    /// What inline transactions recorded as done.
    std::set<EffectKey> inline_done{};
    std::map<std::string, std::vector<PartitionId>> boxes{};
    std::map<PartitionId, PartitionRow> partitions{};
    std::map<Uuid, InstanceRow> instances{};
    std::vector<Target> registry{};
    std::map<std::uint64_t, CommandRow> commands{};
    std::set<std::string> paused{};

    OpenRow* find_open(PartitionId partition, Sequence sequence);
    const OpenRow* find_open(PartitionId partition, Sequence sequence) const;
    void insert_open(const OpenRow& row);
    void erase_open(PartitionId partition, Sequence sequence);
    bool has_open(const Uuid& message) const;
    PartitionId partition_of(const Message& message) const;
};

Progress* find_progress(std::vector<Progress>& progress, const std::string& target);
const Progress* find_progress(const std::vector<Progress>& progress, const std::string& target);

}  // namespace waybill::sim
