#include "rows.hpp"

#include <algorithm>
#include <charconv>

#include "core/sha256.hpp"
#include "waybill/store.hpp"

namespace waybill::postgres {
namespace {

constexpr std::size_t kProgressColumns = 6;

std::int64_t number_in(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::vector<Progress> progress_of(const std::vector<std::string>& texts) {
    if (texts.size() % kProgressColumns != 0) {
        throw StoreError{Reaction::give_up,
                         "postgres store: a row of waybill.open has a damaged progress"};
    }
    std::vector<Progress> all;
    for (std::size_t i = 0; i < texts.size(); i += kProgressColumns) {
        all.push_back({.target = texts[i],
                       .state = static_cast<Progress::State>(number_in(texts[i + 1])),
                       .failures = static_cast<std::uint32_t>(number_in(texts[i + 2])),
                       .due = StoreTime{Duration{number_in(texts[i + 3])}},
                       .last_error = texts[i + 4],
                       .skipped = number_in(texts[i + 5]) != 0});
    }
    return all;
}

Attributes attributes_of(const std::vector<std::string>& texts) {
    Attributes all;
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
        all.insert_or_assign(texts[i], texts[i + 1]);
    }
    return all;
}

}  // namespace

OpenRow open_row(const Rows& rows, int first) {
    OpenRow row;
    Entry& entry = row.entry;
    entry.partition = rows.number<PartitionId>(first);
    entry.sequence = rows.integer(first + 1);
    row.id = rows.uuid(first + 2);
    entry.due = rows.time(first + 3);
    row.message = rows.is_null(first + 4) ? entry.sequence : rows.integer(first + 4);
    entry.requeues = rows.number<std::uint32_t>(first + 5);
    entry.halted = rows.flag(first + 6);
    entry.parked = rows.flag(first + 7);
    entry.strikes = rows.number<std::uint32_t>(first + 8);
    entry.solo_epoch = rows.number<std::uint64_t>(first + 9);
    if (!rows.is_null(first + 10)) entry.progress = progress_of(rows.texts(first + 10));
    if (!rows.is_null(first + 11)) entry.only = rows.texts(first + 11);
    return row;
}

std::optional<std::string> progress_literal(const std::vector<Progress>& progress) {
    if (progress.empty()) return std::nullopt;
    std::vector<std::string> texts;
    for (const Progress& one : progress) {
        texts.push_back(one.target);
        texts.push_back(std::to_string(static_cast<int>(one.state)));
        texts.push_back(std::to_string(one.failures));
        texts.push_back(std::to_string(one.due.time_since_epoch().count()));
        texts.push_back(one.last_error);
        texts.emplace_back(one.skipped ? "1" : "0");
    }
    return array_literal(texts);
}

MessageRow message_row(Session session, const Rows& rows, int first) {
    MessageRow row;
    if (rows.is_null(first)) return row;
    auto message = std::make_shared<Message>();
    row.sequence = rows.integer(first);
    message->id = rows.uuid(first + 1);
    row.partition = rows.number<PartitionId>(first + 2);
    message->box = session.boxes.box_of(session.db, row.partition).name;
    row.appended_at = rows.time(first + 3);
    message->not_before = rows.time(first + 4);
    message->type = rows.text(first + 5);
    message->source = rows.text(first + 6);
    message->content_type = rows.text(first + 7);
    message->tenant = rows.text(first + 8);
    message->user = rows.text(first + 9);
    message->correlation_id = rows.text(first + 10);
    message->lane = rows.text(first + 11);
    message->dedup_key = rows.text(first + 12);
    message->collapse_key = rows.text(first + 13);
    if (!rows.is_null(first + 14)) message->attributes = attributes_of(rows.texts(first + 14));
    message->occurred_at = rows.time(first + 15);
    message->body = rows.bytes(first + 16);
    row.message = std::move(message);
    return row;
}

std::int64_t lane_number(std::string_view lane) {
    std::uint64_t number = 0;
    const auto hash = sha256(lane);
    for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | hash[i];
    return static_cast<std::int64_t>(number);
}

std::optional<std::string> attributes_literal(const Attributes& attributes) {
    if (attributes.empty()) return std::nullopt;
    std::vector<std::string> texts;
    for (const auto& [name, value] : attributes) {
        texts.push_back(name);
        texts.push_back(value);
    }
    return array_literal(texts);
}

std::vector<MessageRow> load_messages(Session session, std::span<const MessageRef> wanted,
                                      std::uint64_t bytes_max) {
    Uuids ids;
    Longs sequences;
    for (const MessageRef& one : wanted) {
        ids.add(one.id);
        sequences.add(one.sequence);
    }
    std::vector<MessageRow> all;
    if (wanted.empty()) return all;
    const auto [first, last] = std::ranges::minmax_element(wanted, {}, &MessageRef::id);
    Rows rows =
        session.db.read(sql::messages_at, ids, std::int32_t{sizeof(Entry)},
                        static_cast<std::int64_t>(bytes_max), sequences, first->id, last->id);
    while (rows.next()) all.push_back(message_row(session, rows));
    return all;
}

}  // namespace waybill::postgres
