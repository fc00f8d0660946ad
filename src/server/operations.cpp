#include "server/operations.hpp"

#include <chrono>

#include "core/text.hpp"
#include "server/answer.hpp"
#include "server/log.hpp"
#include "waybill/json.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::server {

WAYBILL_JSON(LetterRef, message, target, requeues)
WAYBILL_JSON(BulkProgress, total, counted, last, carried_out, refused, refusal, cursor, batch,
             after_batch, paced_at)

namespace {

/// An order's id is good for so long.
constexpr Duration kKept = std::chrono::hours{24 * 30};
constexpr std::size_t kIdMax = 200;

/// As it is written down.
struct Record {
    std::string fingerprint{};
    std::string actor{};
    std::string at{};
    /// 0: it has not ended.
    std::uint32_t status = 0;
    std::string answer{};
    BulkProgress bulk{};
};
WAYBILL_JSON(Record, fingerprint, actor, at, status, answer, bulk)

using RecordCodec = json::JsonCodec<Record>;

std::string note_name(const std::string& id) {
    return "operation/" + id;
}

/// Whoever carries the order out looks for it: a note of its own, because the order's is rewritten with
/// every batch.
std::string cancel_name(const std::string& id) {
    return "operation-cancel/" + id;
}

HttpResponse replay(const Record& record) {
    return {.status = record.status,
            .headers = {{"Content-Type", "application/json"}, {"Idempotency-Replayed", "true"}},
            .body = record.answer};
}

}  // namespace

HttpResponse Operations::carry_out(const OperationName& name, const Order& order) {
    Operation operation;
    if (name.id.empty()) return order(operation);
    if (name.id.size() > kIdMax || !is_plain_text(name.id)) {
        return error_response(400, "bad-operation-id",
                              "Idempotency-Key: must be 1 … 200 bytes of plain text");
    }
    const std::lock_guard lock{mutex_};
    // The same for other processes that share the store.
    const auto held = notebook_.hold(note_name(name.id));
    if (!held) {
        return error_response(409, "operation-running",
                              "another process carries this operation out; ask again in a moment");
    }
    Record record{.fingerprint = name.fingerprint,
                  .actor = name.actor,
                  .at = time_text(system_clock().wall())};
    if (const auto found = notebook_.note(note_name(name.id))) {
        record = RecordCodec::decode(*found);
        if (record.fingerprint != name.fingerprint) {
            return error_response(409, "operation-conflict",
                                  "this operation id was used for another order, by " +
                                      record.actor + " at " + record.at + "; use a new one");
        }
        if (record.status != 0) return replay(record);
        operation.begun_before = true;
        operation.bulk = record.bulk;
    }
    const auto write_down = [&](const Operation& now) {
        record.bulk = now.bulk;
        notebook_.keep_note(note_name(name.id), RecordCodec::encode(record),
                            system_clock().wall() + kKept);
    };
    operation.write_down = write_down;
    operation.is_cancelled = [&] { return notebook_.note(cancel_name(name.id)).has_value(); };
    operation.save();
    HttpResponse response = order(operation);
    if (response.status == 400) {
        notebook_.drop_note(note_name(name.id));  // nothing was understood, so nothing was ordered
    } else if (response.status < 500) {
        if (!operation.unfinished) {
            record.status = response.status;
            record.answer = operation.kept_answer.empty() ? response.body : operation.kept_answer;
        }
        try {
            operation.save();
            if (operation.cancelled) notebook_.drop_note(cancel_name(name.id));
        } catch (const StoreError&) {
            // The answer has the only copy of a secret: the order stays one of which nobody knows the end.
            if (operation.kept_answer.empty()) throw;
        }
    }
    return response;
}

std::optional<HttpResponse> Operations::cancel(const std::string& id, const std::string& actor) {
    const auto found = notebook_.note(note_name(id));
    if (!found) return std::nullopt;
    const Record record = RecordCodec::decode(*found);
    if (record.status != 0) {
        return error_response(409, "nothing-to-do", "this operation has ended");
    }
    if (!record.bulk.counted) {
        return error_response(409, "not-possible", "only an order over many can be cancelled");
    }
    notebook_.keep_note(cancel_name(id), actor, system_clock().wall() + kKept);
    return json_response(202, json::Object{{"id", id}, {"cancelled", true}});
}

std::optional<HttpResponse> Operations::find(const std::string& id) {
    const auto found = notebook_.note(note_name(id));
    if (!found) return std::nullopt;
    const Record record = RecordCodec::decode(*found);
    const bool is_cancelled = notebook_.note(cancel_name(id)).has_value();
    json::Object object{{"id", id},
                        {"actor", record.actor},
                        {"at", record.at},
                        {"state", record.status != 0 ? "done"
                                  : is_cancelled     ? "cancelling"
                                                     : "begun"}};
    if (record.bulk.counted) {
        object.emplace_back("total", record.bulk.total);
        object.emplace_back("carried_out", record.bulk.carried_out);
        object.emplace_back("refused", record.bulk.refused);
    }
    if (record.status != 0) {
        object.emplace_back("status", record.status);
        object.emplace_back("answer", json::parse(record.answer));
    }
    return json_response(200, object);
}

}  // namespace waybill::server
