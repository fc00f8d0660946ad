#include <algorithm>
#include <map>

#include "calls.hpp"
#include "core/replaying.hpp"
#include "letters.hpp"

/// Deliveries that have ended become new work. All of a call in a few statements: meanwhile the owners of
/// their partitions cannot settle.
namespace waybill::postgres {
namespace {

struct Filed {
    std::int32_t box = 0;
    StoreTime at{};
};

struct Known {
    Sequence sequence = 0;
    detail::ReplayFacts facts{};
    std::optional<Filed> filed{};
};

using Messages = std::map<Uuid, Known>;
using FiledMessages = std::map<Uuid, Filed>;

class Replaying {
public:
    Replaying(Database& db, std::span<const DeliveryRef> deliveries) : db_(db) {
        Uuids ids;
        for (const DeliveryRef& delivery : deliveries) ids.add(delivery.message);
        FiledMessages filed;
        find_finished(ids, filed);
        // In this order: partitions as settlements do, then what is finished and its messages as
        // sweeps do.
        db.write(sql::hold_partitions, ids);
        // Who ended meanwhile, or once more, is looked for again.
        filed = hold_finished(filed);
        find_finished(ids, filed);
        filed = hold_finished(filed);
        hold_messages(ids);
        for (auto& [id, known] : messages_) {
            if (const auto found = filed.find(id); found != filed.end())
                known.filed = found->second;
        }
        registry_ = targets(db);
    }

    OperationResult replay(const DeliveryRef& delivery) {
        const auto found = messages_.find(delivery.message);
        if (found == messages_.end()) return detail::no_such_message(delivery.message);
        Known& known = found->second;
        const auto verdict = detail::judge_replay(delivery.target, known.facts, registry_);
        if (!verdict.refusal.empty()) return {.text = verdict.refusal};
        if (!verdict.dead_as.empty()) {
            requeue_dead(db_, {delivery.message, verdict.dead_as});
            reload(known);
        } else {
            known.facts.requeues = detail::next_generation(known.facts);
            // A second one of this call finds it open.
            known.facts.open.push_back(
                {.only = {verdict.target}, .requeues = known.facts.requeues});
            add(delivery.message, known, verdict.target);
        }
        return {true, "replayed"};
    }

    void write() {
        if (row_ids_.size() == 0) return;
        db_.write(sql::delete_held_of, row_ids_);
        db_.write(sql::delete_finished, filed_ids_, filed_boxes_, filed_at_);
        Longs sequences;
        Ints generations;
        for (const auto& [id, known] : messages_) {
            sequences.add(known.sequence);
            generations.add(known.facts.requeues);
        }
        db_.write(sql::record_generation, sequences, generations);
        db_.write(sql::insert_replayed, row_ids_, row_requeues_, row_targets_);
    }

private:
    static void take(Rows rows, FiledMessages& filed) {
        while (rows.next()) filed[rows.uuid(0)] = {rows.number<std::int32_t>(1), rows.time(2)};
    }

    /// Adds those that are not known yet.
    void find_finished(const Uuids& ids, FiledMessages& filed) {
        const auto missing = [&] {
            Uuids all;
            Rows rows = db_.read(sql::ended_of, ids);
            while (rows.next()) {
                if (!filed.contains(rows.uuid(0))) all.add(rows.uuid(0));
            }
            return all;
        };
        if (const Uuids some = missing(); some.size() > 0) {
            take(db_.read(sql::find_finished, some), filed);
        }
        if (const Uuids late = missing(); late.size() > 0) {
            take(db_.read(sql::find_finished_late, late), filed);
        }
    }

    FiledMessages hold_finished(const FiledMessages& found) {
        Uuids ids;
        Ints boxes;
        Longs times;
        for (const auto& [id, filed] : found) {
            ids.add(id);
            boxes.add(filed.box);
            times.add(filed.at);
        }
        FiledMessages held;
        take(db_.write(sql::hold_finished, ids, boxes, times), held);
        return held;
    }

    void hold_messages(const Uuids& ids) {
        Longs sequences;
        {
            Rows rows = db_.write(sql::hold_to_replay, ids);
            while (rows.next()) {
                Known known{.sequence = rows.integer(1)};
                known.facts.requeues = rows.number<std::uint32_t>(2);
                known.facts.message = {.id = rows.uuid(0),
                                       .box = rows.string(6),
                                       .type = rows.string(3),
                                       .source = rows.string(4),
                                       .tenant = rows.string(5)};
                sequences.add(known.sequence);
                messages_.emplace(rows.uuid(0), std::move(known));
            }
        }
        {
            Rows rows = db_.read(sql::letters_of_messages, sequences);
            while (rows.next()) {
                messages_.at(rows.uuid(0)).facts.letters.push_back(read_letter(rows));
            }
        }
        Rows rows = db_.read(sql::open_rows_of_messages, ids, sequences);
        while (rows.next()) {
            OpenRow row = open_row(rows);
            messages_.at(row.id).facts.open.push_back(std::move(row.entry));
        }
    }

    /// What a requeue has changed: letters went, a row came.
    void reload(Known& known) {
        Uuids ids;
        Longs sequences;
        ids.add(known.facts.message.id);
        sequences.add(known.sequence);
        // Rows of this call that are not written yet.
        std::erase_if(known.facts.open, [](const Entry& row) { return row.sequence != 0; });
        Rows rows = db_.read(sql::open_rows_of_messages, ids, sequences);
        while (rows.next()) known.facts.open.push_back(open_row(rows).entry);
        known.facts.letters = letters_of(db_, known.sequence);
        known.facts.requeues = detail::next_generation(known.facts) - 1;
    }

    void add(const Uuid& id, Known& known, const std::string& target) {
        if (known.filed) {
            filed_ids_.add(id);
            filed_boxes_.add(known.filed->box);
            filed_at_.add(known.filed->at);
            known.filed.reset();
        }
        row_ids_.add(id);
        row_requeues_.add(known.facts.requeues);
        row_targets_.add(target);
    }

    Database& db_;
    std::vector<Target> registry_{};
    Messages messages_{};
    Uuids filed_ids_{}, row_ids_{};
    Ints filed_boxes_{}, row_requeues_{};
    Longs filed_at_{};
    Texts row_targets_{};
};

}  // namespace

std::vector<OperationResult> replay(Database& db, std::span<const DeliveryRef> deliveries) {
    Replaying replaying{db, deliveries};
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) results.push_back(replaying.replay(delivery));
    replaying.write();
    return results;
}

}  // namespace waybill::postgres
