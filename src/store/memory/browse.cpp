#include <algorithm>
#include <limits>

#include "calls.hpp"
#include "core/asking.hpp"
#include "waybill/target.hpp"

namespace waybill::memory {
namespace {

bool fits(const std::string& pattern, const std::string& text) {
    return pattern.empty() || matches(pattern, text);
}

bool fits(const Filter& filter, const Message& message, StoreTime at) {
    return (filter.box.empty() || filter.box == message.box) && fits(filter.type, message.type) &&
           fits(filter.source, message.source) && fits(filter.tenant, message.tenant) &&
           filter.since <= at && at < filter.until;
}

bool fits(const Filter& filter, const DeadRow& row) {
    return fits(filter, *row.message, row.letter.at) &&
           (filter.target.empty() || filter.target == row.letter.target) &&
           row.letter.reason.find(filter.reason) != std::string::npos;
}

std::vector<const Row*> open_rows(Tables& tables, const MessageRow& message) {
    std::vector<const Row*> rows;
    OpenWork& work = tables.partition(message.partition)->work;
    if (const Row* row = work.find(message.sequence)) rows.push_back(row);
    for (const Sequence sequence : message.requeued) rows.push_back(work.find(sequence));
    return rows;
}

std::vector<DeadLetter> letters(const Tables& tables, const Uuid& id) {
    std::vector<DeadLetter> found;
    auto at = tables.dead_by_delivery.lower_bound({id, ""});
    for (; at != tables.dead_by_delivery.end() && at->first.first == id; ++at) {
        found.push_back(tables.dead.at(at->second).letter);
    }
    return found;
}

Filter::State state(Tables& tables, const MessageRow& message) {
    if (message.open_rows > 0) {
        const auto rows = open_rows(tables, message);
        const bool parked = std::ranges::all_of(rows, [](const Row* r) { return r->entry.parked; });
        return parked ? Filter::State::parked : Filter::State::open;
    }
    return message.dead_letters > 0 ? Filter::State::dead : Filter::State::done;
}

/// Something is recorded of it for this target.
bool concerns(Tables& tables, const MessageRow& message, const std::string& target) {
    const auto named = [&](const auto& item) { return item.target == target; };
    return std::ranges::any_of(letters(tables, message.message->id), named) ||
           std::ranges::any_of(message.attempts, named) ||
           std::ranges::any_of(open_rows(tables, message), [&](const Row* row) {
               return std::ranges::any_of(row->entry.progress, named) ||
                      std::ranges::find(row->entry.only, target) != row->entry.only.end();
           });
}

bool fits(Tables& tables, const Filter& filter, const MessageRow& message) {
    if (!fits(filter, *message.message, message.appended_at)) return false;
    if (filter.state != Filter::State::any && filter.state != state(tables, message)) return false;
    if (!filter.target.empty() && !concerns(tables, message, filter.target)) return false;
    return filter.reason.empty() ||
           std::ranges::any_of(letters(tables, message.message->id), [&](const DeadLetter& letter) {
               return letter.reason.find(filter.reason) != std::string::npos;
           });
}

MessageSummary summary(Tables& tables, const MessageRow& message) {
    return {message.message, state(tables, message), message.appended_at, message.requeues};
}

}  // namespace

Page<MessageSummary> browse(Tables& tables, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max) {
    Page<MessageSummary> page;
    Sequence last = 0;
    const auto goes_on = [&](const MessageRow& message) {
        if (!fits(tables, filter, message)) return true;
        if (page.items.size() >= std::max(rows_max, 1U)) {
            page.next = std::to_string(last);
            return false;
        }
        page.items.push_back(summary(tables, message));
        last = message.sequence;
        return true;
    };
    const auto& messages = tables.messages;
    if (filter.oldest_first) {
        auto at = messages.upper_bound(detail::place_of_cursor(cursor, 0));
        while (at != messages.end() && goes_on(at->second)) ++at;
    } else {
        const auto before = detail::place_of_cursor(cursor, std::numeric_limits<Sequence>::max());
        auto at = std::make_reverse_iterator(messages.lower_bound(before));
        while (at != messages.rend() && goes_on(at->second)) ++at;
    }
    return page;
}

Page<DeadLetterDetail> dead_letters(const Tables& tables, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max) {
    Page<DeadLetterDetail> page;
    const auto after = static_cast<std::uint64_t>(detail::place_of_cursor(cursor, 0));
    for (auto at = tables.dead.upper_bound(after); at != tables.dead.end(); ++at) {
        if (!fits(filter, at->second)) continue;
        if (page.items.size() >= std::max(rows_max, 1U)) {
            page.next = page.items.back().cursor;
            break;
        }
        page.items.push_back({at->second.letter, at->second.message, std::to_string(at->first)});
    }
    return page;
}

std::optional<MessageDetail> get(Tables& tables, const Uuid& id) {
    const MessageRow* message = tables.message(id);
    if (message == nullptr) return std::nullopt;
    MessageDetail detail{.summary = summary(tables, *message)};
    for (const Row* row : open_rows(tables, *message)) detail.open.push_back(row->entry);
    detail.dead = letters(tables, id);
    detail.attempts = message->attempts;
    return detail;
}

std::uint64_t count(Tables& tables, const Filter& filter) {
    if (filter.state == Filter::State::dead) {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            tables.dead, [&](const auto& item) { return fits(filter, item.second); }));
    }
    return static_cast<std::uint64_t>(std::ranges::count_if(
        tables.messages, [&](const auto& item) { return fits(tables, filter, item.second); }));
}

std::vector<BoxState> boxes(Tables& tables) {
    std::vector<BoxState> all;
    for (const auto& [name, box] : tables.boxes) {
        BoxState& state = all.emplace_back(BoxState{.name = name, .paused = box.paused});
        for (const PartitionId id : box.partitions) {
            state.open += tables.partition(id)->work.ready().size();
            state.parked += tables.partition(id)->work.parked().size();
        }
    }
    return all;
}

std::vector<Target> targets(Tables& tables) {
    std::vector<Target> all;
    for (const auto& [key, target] : tables.targets) all.push_back(target);
    return all;
}

std::uint64_t waiting_for(Tables& tables, const Target& target) {
    std::uint64_t waiting = 0;
    const std::vector<Target> registry = targets(tables);
    const auto box = tables.boxes.find(target.box);
    if (box == tables.boxes.end()) return 0;
    for (const PartitionId id : box->second.partitions) {
        for (const auto& [sequence, row] : tables.partition(id)->work.ready()) {
            if (detail::waits_for(target, row.entry, *row.message->message, registry)) ++waiting;
        }
    }
    return waiting;
}

}  // namespace waybill::memory
