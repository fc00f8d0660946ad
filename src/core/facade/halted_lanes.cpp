#include "waybill/halted_lanes.hpp"

#include <algorithm>

namespace waybill {
namespace {

/// It died by itself and nobody has skipped it: its lane waits for a person.
bool holds(const Entry& entry, const DeadLetter& letter) {
    return letter.sequence == entry.sequence && letter.because.empty() &&
           std::ranges::none_of(entry.progress, [&](const Progress& progress) {
               return progress.target == letter.target && progress.skipped;
           });
}

std::vector<DeadLetter> holding(const Entry& entry, const std::vector<DeadLetter>& letters) {
    std::vector<DeadLetter> all;
    std::ranges::copy_if(letters, std::back_inserter(all),
                         [&](const DeadLetter& letter) { return holds(entry, letter); });
    std::ranges::stable_sort(all, {}, &DeadLetter::at);
    return all;
}

std::vector<HaltedLane> lanes_of(const MessageDetail& detail) {
    std::vector<HaltedLane> lanes;
    const Message& message = *detail.summary.message;
    for (const Entry& entry : detail.open) {
        if (!entry.halted) continue;
        const std::vector<DeadLetter> letters = holding(entry, detail.dead);
        if (letters.empty()) continue;
        HaltedLane& lane = lanes.emplace_back(HaltedLane{.box = message.box,
                                                         .lane = message.lane,
                                                         .message = message.id,
                                                         .sequence = entry.sequence,
                                                         .type = message.type,
                                                         .reason = letters.front().reason,
                                                         .since = letters.front().at});
        for (const DeadLetter& letter : letters) lane.targets.push_back(letter.target);
    }
    return lanes;
}

}  // namespace

Page<HaltedLane> HaltedLanes::list(const Filter& filter, const std::string& cursor,
                                   std::uint32_t letters_max) const {
    Filter wanted = filter;
    wanted.state = Filter::State::dead;
    Page<HaltedLane> page;
    // The letter a lane stands at is always there: no sweep and no discard takes it.
    const Page<DeadLetterDetail> letters = catalogue_->dead_letters(wanted, cursor, letters_max);
    page.next = letters.next;
    // Several letters may hold one lane. It is listed with the first of them, or, when only some of
    // the letters were asked for, once on a page.
    const bool all = filter.target.empty() && filter.reason.empty() &&
                     filter.since == StoreTime{} && filter.until == store_never;
    for (const DeadLetterDetail& item : letters.items) {
        if (!item.message || item.message->lane.empty() || !item.letter.because.empty()) continue;
        for (HaltedLane& lane : of(item.letter.message)) {
            if (lane.sequence != item.letter.sequence) continue;
            const bool is_listed =
                all ? item.letter.target != lane.targets.front()
                    : std::ranges::find(page.items, lane.sequence, &HaltedLane::sequence) !=
                          page.items.end();
            if (!is_listed) page.items.push_back(std::move(lane));
        }
    }
    return page;
}

std::vector<HaltedLane> HaltedLanes::of(const Uuid& message) const {
    const auto detail = catalogue_->get(message);
    return detail ? lanes_of(*detail) : std::vector<HaltedLane>{};
}

std::vector<std::uint64_t> HaltedLanes::skip(const Uuid& message) const {
    std::vector<std::uint64_t> numbers;
    for (const HaltedLane& lane : of(message)) {
        const auto number = catalogue_->command(
            {.kind = Command::Kind::skip, .message = message, .sequence = lane.sequence});
        if (number != 0) numbers.push_back(number);
    }
    return numbers;
}

std::vector<std::uint64_t> HaltedLanes::resume(const Uuid& message) const {
    std::vector<std::uint64_t> numbers;
    for (const HaltedLane& lane : of(message)) {
        for (const std::string& target : lane.targets) {
            const auto number = catalogue_->command({.kind = Command::Kind::resume,
                                                     .message = message,
                                                     .sequence = lane.sequence,
                                                     .target = target});
            if (number != 0) numbers.push_back(number);
        }
    }
    return numbers;
}

}  // namespace waybill
