#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rows.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/instances.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// Every call of the store as a plain function on a connection. "Transaction" in a comment: call it
/// inside one. The others are one statement, or open what they need themselves.
namespace waybill::postgres {

// append.cpp
/// In one commit; in the transaction that is open, if there is one.
std::vector<AppendResult> append(Session session, std::span<const Append> batch);

// declare.cpp
/// Transaction.
void declare(Session session, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets, std::uint32_t default_partitions);
std::vector<Target> targets(Database& db);
/// Transaction.
bool forget_target(Database& db, const std::string& box, const std::string& key);

// own.cpp
/// `listener`: as waybill.instance has it.
BeatReply beat(Database& db, const InstanceState& state, std::optional<std::int32_t> listener = {});
std::vector<InstanceSeen> instances(Database& db);
/// Transaction.
std::vector<Taken> take(Database& db, const Uuid& self, std::span<const TakeRequest> wanted);
void give(Database& db, std::span<const GiveRequest> partitions);

// read.cpp
/// Outside any transaction: a position that is taken inside one would lose what it writes.
ReadPage read(Session session, const ReadRequest& request);

// settle.cpp
SettleReply settle(Session session, const SettleBatch& batch);

// inline.cpp
InlineResult run_inline(Database& db, const InlineRequest& request,
                        const std::function<Outcome(void* native)>& body);

// operate.cpp
/// Transaction.
std::vector<OperationResult> requeue(Database& db, std::span<const DeliveryRef> deliveries);
/// Transaction.
/// False: there is no such letter.
bool requeue_dead(Database& db, const DeliveryRef& delivery);
std::vector<OperationResult> discard(Database& db, std::span<const DeliveryRef> deliveries);
/// Transaction.
std::uint64_t command(Database& db, const Command& wish);
std::optional<CommandResult> command_result(Database& db, std::uint64_t id);

// browse.cpp
Page<MessageSummary> browse(Session session, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max);
Page<DeadLetterDetail> dead_letters(Session session, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max);
std::optional<MessageDetail> get(Session session, const Uuid& id);
std::uint64_t count(Database& db, const Filter& filter);
std::vector<BoxState> boxes(Database& db);
std::uint64_t waiting_for(Database& db, const Target& target);

// upkeep.cpp
/// `drop_max`: so long others may have to wait when the table of a day is dropped or made.
Swept sweep(Session session, std::span<const BoxDeclaration> boxes, std::uint32_t rows_max,
            Duration drop_max);
StoreHealth health(Database& db);

// replay.cpp
std::vector<OperationResult> replay(Database& db, std::span<const DeliveryRef> deliveries);

// notes.cpp
std::optional<std::string> note(Database& db, const std::string& name);
std::vector<Note> notes(Database& db, const std::string& prefix);
void keep_note(Database& db, const std::string& name, const std::string& text, StoreTime until);
void drop_note(Database& db, const std::string& name);
/// On a connection of its own. Null: somebody else kept it for as long as a lock is waited for.
std::unique_ptr<Notebook::Hold> hold(const Address& address, const std::string& name);

}  // namespace waybill::postgres
