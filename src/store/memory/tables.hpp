#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/sequence_queue.hpp"
#include "waybill/box.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/memory.hpp"

/// The tables of the reference store and their indexes. Nothing here locks or looks at a clock: the
/// connection (store.cpp) does both and hands `now` in.
namespace waybill::memory {

inline constexpr const char* generation = "memory";

/// A message, kept from append until retention takes it.
struct MessageRow {
    MessagePtr message{};
    /// Of its first row.
    Sequence sequence = 0;
    PartitionId partition = 0;
    StoreTime appended_at{};
    /// When its last open row went.
    StoreTime finished_at{};
    std::uint32_t open_rows = 0;
    std::uint32_t dead_letters = 0;
    /// The highest generation anything of it was given.
    std::uint32_t requeues = 0;
    /// The sequences its requeues gave it.
    std::vector<Sequence> requeued{};
    std::vector<Attempt> attempts{};
};

struct Row;

/// The ready rows of each lane.
using LaneIndex = std::unordered_map<std::string, SequenceQueue<Row>>;

/// A row of open work; its message row lives at least as long.
struct Row {
    Entry entry{};
    MessageRow* message = nullptr;
    /// Null: it is in none.
    LaneIndex::value_type* lane = nullptr;
};

/// The open work of one partition with its indexes by due time and lane. Parked rows are kept apart,
/// so that no reader of ready work walks over them.
class OpenWork {
public:
    using Rows = std::map<Sequence, Row>;
    /// Only rows that were given a due time are in it.
    using DueIndex = std::map<std::pair<StoreTime, Sequence>, const Row*>;

    const Rows& ready() const { return ready_; }
    const Rows& parked() const { return parked_; }
    const DueIndex& due() const { return due_; }
    /// The lane's first rows from there on.
    std::vector<const Row*> lane_from(const std::string& name, Sequence from,
                                      std::size_t rows_max) const;

    /// Null: no such row. Change what the indexes look at (due, parked) through `change` only.
    Row* find(Sequence sequence);
    /// Its sequence is larger than all before.
    void insert(Row row);
    Row remove(Sequence sequence);
    template <class Edit>
    void change(Row& row, Edit edit) {
        leave_due(row);
        const bool was_parked = row.entry.parked;
        edit(row.entry);
        if (row.entry.parked != was_parked) move(row);
        enter_due(row);
    }

private:
    void enter_due(const Row& row);
    void leave_due(const Row& row);
    void enter_lane(Row& row);
    void leave_lane(Row& row);
    /// To or from the parked ones, as it says itself.
    void move(Row& row);

    Rows ready_{};
    Rows parked_{};
    DueIndex due_{};
    LaneIndex lanes_{};
};

struct Box {
    std::string name{};
    std::vector<PartitionId> partitions{};
    bool paused = false;
    /// Messages without open row or dead letter, by age.
    std::set<std::pair<StoreTime, Sequence>> finished{};
    /// Dead letters by age.
    std::set<std::pair<StoreTime, std::uint64_t>> dead{};
    /// The messages of the attempt log's lines, by their age.
    std::multiset<std::pair<StoreTime, Sequence>> attempts{};
};

/// Who owns a partition, and what is open in it.
struct Partition {
    PartitionId id = 0;
    std::string box{};
    std::uint32_t first_slot = 0;
    std::uint32_t last_slot = 0;
    Token token{};
    Uuid heir{};
    std::uint32_t unclean_ends = 0;
    std::optional<StoreTime> unclean_at{};
    OpenWork work{};
    /// Not yet answered.
    std::map<std::uint64_t, Command> commands{};
};

/// One liveness row.
struct Instance {
    InstanceState state{};
    StoreTime until{};
};

struct DedupRow {
    Uuid id{};
    std::string body_hash{};
    StoreTime until{};
    std::uint64_t duplicates = 0;
};

struct DeadRow {
    DeadLetter letter{};
    MessagePtr message{};
};

using DeliveryKey = std::pair<Uuid, std::string>;

/// Answers kept for whoever asked; older ones are forgotten.
inline constexpr std::size_t command_results_max = 10'000;

struct Tables {
    using Messages = std::map<Sequence, MessageRow>;

    Options options{};
    /// The newest one issued; never goes back, whatever is deleted.
    Sequence last_sequence = 0;
    std::map<std::string, Box, std::less<>> boxes{};
    /// Partition n is at n - 1.
    std::vector<Partition> partitions{};
    std::unordered_map<Uuid, Instance> instances{};

    Messages messages{};
    std::unordered_map<Uuid, Messages::iterator> messages_by_id{};
    /// By `dedup_name(scope, key)`.
    std::unordered_map<std::string, DedupRow> dedup{};
    /// Those that end, by when.
    std::set<std::pair<StoreTime, const std::string*>> dedup_ends{};

    std::uint64_t last_dead = 0;
    std::map<std::uint64_t, DeadRow> dead{};
    std::map<DeliveryKey, std::uint64_t> dead_by_delivery{};

    std::uint64_t last_command = 0;
    std::map<std::uint64_t, CommandResult> command_results{};

    struct NoteRow {
        std::string text{};
        StoreTime until = store_never;
    };
    std::map<std::string, NoteRow> notes{};

    std::map<std::pair<std::string, std::string>, Target> targets{};
    std::uint64_t registry_version = 0;

    Partition* partition(PartitionId id);
    /// Null: no such message.
    MessageRow* message(const Uuid& id);
    MessageRow& insert_message(const MessagePtr& message, PartitionId partition, StoreTime now);
    void erase_message(MessageRow& row);
    /// Files the message under `finished` when nothing of it is open or dead any more.
    void file_if_finished(MessageRow& row);
    /// Before it has open work again.
    void unfile(const MessageRow& row);

    /// Writing a line twice is writing it once.
    void put_attempt(MessageRow& row, const Attempt& attempt);
    void erase_oldest_attempt(Box& box);

    /// The message row stays as long as it has one.
    void put_dead(const DeadLetter& letter, const MessagePtr& message);
    void erase_dead(std::uint64_t number);
};

}  // namespace waybill::memory
