#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tables.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// Every call of the store as a plain function on the tables: one call is one transaction, because
/// the connection holds the mutex around it.
namespace waybill::memory {

// append.cpp
std::vector<AppendResult> append(Tables& tables, StoreTime now, std::span<const Append> batch);
/// Gives a message new work under a new sequence.
void insert_work(Tables& tables, MessageRow& message, Entry entry);

// own.cpp
void declare(Tables& tables, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets);
BeatReply beat(Tables& tables, StoreTime now, const InstanceState& state);
std::vector<Taken> take(Tables& tables, StoreTime now, const Uuid& self,
                        std::span<const TakeRequest> wanted);
void give(Tables& tables, std::span<const GiveRequest> partitions);

// read.cpp
ReadPage read(Tables& tables, StoreTime now, const ReadRequest& request);

// settle.cpp
/// `garbage` takes what became unreachable, to be freed outside the mutex.
SettleReply settle(Tables& tables, StoreTime now, const SettleBatch& batch,
                   std::vector<MessagePtr>& garbage);
/// `recorded` while the delivery is still to be done; otherwise `already` or `lost`.
InlineResult::Record inline_verdict(Tables& tables, const InlineRequest& request);
void record_inline(Tables& tables, const InlineRequest& request);

// operate.cpp
std::vector<OperationResult> requeue(Tables& tables, std::span<const DeliveryRef> deliveries);
std::vector<OperationResult> replay(Tables& tables, std::span<const DeliveryRef> deliveries);
std::vector<OperationResult> discard(Tables& tables, std::span<const DeliveryRef> deliveries);
std::uint64_t command(Tables& tables, const Command& wish);
void answer(Tables& tables, const CommandResult& result);
bool forget_target(Tables& tables, const std::string& box, const std::string& key);

// browse.cpp
Page<MessageSummary> browse(Tables& tables, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max);
Page<DeadLetterDetail> dead_letters(const Tables& tables, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max);
std::optional<MessageDetail> get(Tables& tables, const Uuid& id);
std::uint64_t count(Tables& tables, const Filter& filter);
std::vector<BoxState> boxes(Tables& tables);
std::vector<Target> targets(Tables& tables);
std::uint64_t waiting_for(Tables& tables, const Target& target);

// upkeep.cpp
Swept sweep(Tables& tables, StoreTime now, std::span<const BoxDeclaration> boxes,
            std::uint32_t rows_max);
StoreHealth health(Tables& tables, StoreTime now);

// notes.cpp
std::optional<std::string> note(const Tables& tables, StoreTime now, const std::string& name);
std::vector<Note> notes(const Tables& tables, StoreTime now, const std::string& prefix);
void keep_note(Tables& tables, const std::string& name, const std::string& text, StoreTime until);

}  // namespace waybill::memory
