#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

namespace waybill::test {

/// A store's own numbers, called by the order in which they were first seen: two stores that number
/// their rows differently still tell the same story.
template <class Value>
class Names {
public:
    explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}
    std::string of(const Value& value) {
        return prefix_ + std::to_string(known_.try_emplace(value, known_.size() + 1).first->second);
    }

private:
    std::string prefix_;
    std::map<Value, std::size_t> known_{};
};

/// What a store answered, as text that can be compared with what another one answered. Numbers and
/// positions that belong to a store are replaced by names; lists without a promised order are sorted.
class Transcript {
public:
    std::string tell(const AppendResult& result);
    std::string tell(const BeatReply& reply);
    std::string tell(std::vector<Taken> taken);
    std::string tell(const ReadPage& page, bool is_increment);
    std::string tell(const SettleReply& reply);
    std::string tell(const Entry& entry);
    std::string tell(const DeadLetter& letter);
    std::string tell(const MessageSummary& summary);
    std::string tell(const MessageDetail& detail);
    std::string tell(const StoreHealth& health);
    static std::string tell(const Swept& swept);
    static std::string tell(const Target& target);
    static std::string tell(const Attempt& attempt);
    static std::string tell(const Message& message);
    std::string tell(const Command& command);

    std::string row(Sequence sequence) { return sequence == 0 ? "-" : rows_.of(sequence); }
    std::string partition(PartitionId id) { return id == 0 ? "-" : partitions_.of(id); }
    std::string command(std::uint64_t id) { return id == 0 ? "-" : commands_.of(id); }
    std::string epoch(PartitionId id, std::uint64_t value) {
        return value == 0 ? "-" : epochs_.of({id, value});
    }
    /// Since the start of the test's clock, in seconds.
    static std::string time(StoreTime time);

private:
    Names<Sequence> rows_{"row"};
    Names<PartitionId> partitions_{"part"};
    Names<std::uint64_t> commands_{"cmd"};
    Names<std::pair<PartitionId, std::uint64_t>> epochs_{"epoch"};
    Names<std::uint64_t> registry_{"registry"};
};

}  // namespace waybill::test
