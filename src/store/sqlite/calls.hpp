#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boxes.hpp"
#include "instances.hpp"
#include "recent.hpp"
#include "rows.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// Every call of the store as a plain function on a connection. Those that write are called inside
/// a write transaction; what they throw rolls them back.
namespace waybill::sqlite {

// append.cpp
std::vector<AppendResult> append(Session& session, StoreTime now, std::span<const Append> batch);
/// Gives a message new work under a new sequence.
void insert_work(Session& session, const Place& message, const Uuid& id, const std::string& lane,
                 const Entry& work);

// own.cpp
void declare(Session& session, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets, std::uint32_t default_partitions);
BeatReply beat(Session& session, StoreTime now, const InstanceState& state,
               const Instances& instances);
std::vector<Taken> take(Session& session, StoreTime now, const Uuid& self,
                        std::span<const TakeRequest> wanted, const Instances& instances);
void give(Session& session, std::span<const GiveRequest> partitions);
std::vector<Target> targets(Database& db);
bool forget_target(Session& session, const std::string& box, const std::string& key);
bool holds(Session& session, const Fence& fence);

// read.cpp
ReadPage read(Session& session, StoreTime now, const ReadRequest& request, RecentMessages& recent);

// settle.cpp
SettleReply settle(Session& session, StoreTime now, const SettleBatch& batch);
/// `recorded` while the delivery is still to be done; otherwise `already` or `lost`.
InlineResult::Record inline_verdict(Session& session, const InlineRequest& request);
void record_inline(Session& session, const InlineRequest& request);

// filing.cpp
/// The last open row of the message is gone.
void close_message(Session& session, StoreTime now, const Place& message, bool has_letters,
                   bool drop);
/// Something of the message is open again.
void reopen_message(Database& db, Sequence message);
/// The same of one that has neither open rows nor dead letters.
void reopen_finished(Session& session, const Place& message, StoreTime appended_at);
/// A dead letter goes.
bool erase_letter(Database& db, Sequence message, const std::string& target);

// operate.cpp
std::vector<OperationResult> requeue(Session& session, std::span<const DeliveryRef> deliveries);
std::vector<OperationResult> replay(Session& session, std::span<const DeliveryRef> deliveries);
std::vector<OperationResult> discard(Session& session, std::span<const DeliveryRef> deliveries);
std::uint64_t command(Session& session, const Command& wish);
void answer(Database& db, const CommandResult& result);
std::optional<CommandResult> command_result(Database& db, std::uint64_t id);

// browse.cpp
std::vector<DeadLetter> letters_of(Database& db, Sequence message);
Page<MessageSummary> browse(Session& session, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max);
Page<DeadLetterDetail> dead_letters(Session& session, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max);
std::optional<MessageDetail> get(Session& session, const Uuid& id);
std::uint64_t count(Session& session, const Filter& filter);
std::vector<BoxState> boxes(Database& db);
std::uint64_t waiting_for(Database& db, const Target& target);

// notes.cpp
std::optional<std::string> note(Database& db, StoreTime now, const std::string& name);
std::vector<Note> notes(Database& db, StoreTime now, const std::string& prefix);
void keep_note(Database& db, StoreTime now, const std::string& name, const std::string& text,
               StoreTime until);

// upkeep.cpp
Swept sweep(Session& session, StoreTime now, std::span<const BoxDeclaration> boxes,
            std::uint32_t rows_max);
StoreHealth health(Database& db, StoreTime now);

}  // namespace waybill::sqlite
